"""Which windows are filler: repeated characters, rules, counting, lists of numbers. Looks at bytes alone.

Several measures, any of which makes a window low-entropy. Limits depend on how much text the window holds:
windows of 50 tokens are anything from 50 bytes to many hundreds, and at 50 bytes even random integers do not
compress. Where in doubt a window is kept: a wrong "filler" would hide an extracted text, a wrong "text" is
seen by a reviewer.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from extraction.settings import Settings
from extraction.sliding import (
    LETTER,
    NUMBER,
    Characters,
    Flags,
    Ints,
    counting_shares,
    distinct_grams,
    entropy_at_most,
    skeleton,
    verbatim,
)


class LowEntropyRule(Settings):
    """Thresholds of the low-entropy rule; a window is low-entropy as soon as one of the measures says so."""

    max_entropy_bits: float = Field(
        1.5, ge=0, le=8, description="bits of entropy per character at or below which a window is filler"
    )
    max_letter_share: float = Field(
        0.06, ge=0, le=1, description="share of letters at or below which a window is filler"
    )
    max_letter_pairs: int = Field(
        10, ge=0, description="distinct letter pairs up to which text between numbers is a label"
    )
    max_new_share: float = Field(
        0.33, ge=0, le=1, description="share of the window that is not a repetition of its own earlier text"
    )
    max_new_characters: int = Field(
        40, ge=0, description="characters of new text above which a window is not filler by repetition"
    )
    short_new_characters: int = Field(
        13, ge=0, description="characters of new text up to which a short window is filler"
    )
    min_counting_share: float = Field(
        0.6, gt=0, le=1, description="share of words in equal steps (a b c, 0x0e 0x0f) that is filler"
    )
    min_counting_triples: int = Field(
        2, ge=1, description="runs of three words below which nothing is called counting"
    )
    always_few_pairs: int = Field(
        3,
        ge=0,
        description="distinct letter pairs up to which a window is filler, whatever stands between them",
    )
    few_pairs: int = Field(
        7,
        ge=0,
        description="distinct letter pairs up to which a window that mostly repeats is filler (empty tags)",
    )
    few_pairs_new_share: float = Field(
        0.6, ge=0, le=1, description="share of new text up to which such a window mostly repeats"
    )
    max_pair_share: float = Field(
        0.4,
        ge=0,
        le=1,
        description="letter pairs for each character, which count as few in a window of few characters",
    )
    min_label_numbers: int = Field(3, ge=1, description="numbers that a label must come back between")
    label_new_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="share of new text up to which a label comes back; names are new each time",
    )
    short_new_share: float = Field(
        0.6, ge=0, le=1, description="share of new text up to which a short window is filler"
    )
    still_new_share: float = Field(
        0.38,
        ge=0,
        le=1,
        description="share of new text up to which a window is filler whose second half has none",
    )
    still_new_characters: int = Field(
        64, ge=0, description="characters of new text above which such a window is not"
    )

    def is_low(self, data: bytes) -> bool:
        """Say whether one window's bytes are filler."""
        return bool(self.low_windows(data, np.array([0]), np.array([len(data)]))[0])

    def low_windows(self, data: bytes, starts: NDArray[np.integer], ends: NDArray[np.integer]) -> Flags:
        """Decide many windows of one text, each as `is_low` decides its bytes alone.

        Args:
            data: the text; several texts may be joined, as no window is compared with what lies outside it.
            starts: first byte of each window, non-decreasing.
            ends: byte after each window, non-decreasing.

        Returns:
            bool[windows].

        Raises:
            ValueError: the windows are not sorted.
        """
        begin, end = np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)
        if np.any(np.diff(begin) < 0) or np.any(np.diff(end) < 0):
            raise ValueError("windows must be sorted by start and by end")
        characters = Characters.of(data)
        first, last = characters.windows(begin, end)
        low = self._few_words(characters, first, last) | self._repeats(characters, first, last)
        low |= entropy_at_most(characters.codes, first, last, self.max_entropy_bits)
        left = np.flatnonzero(~low)
        shares = counting_shares(characters, first[left], last[left], self.min_counting_triples)
        low[left] = shares >= self.min_counting_share
        return low

    def _few_words(self, characters: Characters, first: Ints, last: Ints) -> Flags:
        """Hardly any letters, or a short label that comes back between numbers."""
        text = skeleton(characters, first, last)
        pairs = distinct_grams(text, 2, with_letter=True)
        new, grams = distinct_grams(text, 4), text.lengths - 3
        total = np.concatenate([[0], np.cumsum(characters.classes == LETTER)])
        letters = total[last] - total[first]
        most = np.minimum(self.max_letter_pairs, self.max_pair_share * (last - first))
        few = (pairs <= self.always_few_pairs) | (letters <= self.max_letter_share * (last - first))
        few |= (pairs <= np.minimum(self.few_pairs, most)) & (new <= self.few_pairs_new_share * grams)
        few |= (
            (pairs <= most)
            & (text.count(NUMBER) >= self.min_label_numbers)
            & (new <= self.label_new_share * grams)
        )
        return np.asarray(few | (new <= np.minimum(self.short_new_characters, self.max_new_share * grams)))

    def _repeats(self, characters: Characters, first: Ints, last: Ints) -> Flags:
        """Little text that is new within the window: it compresses well for its length."""
        text = verbatim(characters, first, last)
        new, grams = distinct_grams(text, 4), text.lengths - 3
        half = replace(text, last=np.minimum(text.last, text.first + text.lengths // 2 + 3))
        still = (distinct_grams(half, 4) == new) & (
            new <= np.minimum(self.still_new_share * grams, self.still_new_characters)
        )
        short = np.minimum(self.short_new_characters, self.short_new_share * grams)
        limit = np.minimum(np.maximum(self.max_new_share * grams, short), self.max_new_characters)
        return np.asarray(((new <= limit) | still) & (grams > 0))
