"""Measures of many sliding windows of one text at once, each a function of the window's own bytes alone.

A window is judged by its whole characters: bytes of a character that its edge cuts are left out, and a
character is compared only with neighbours inside the window. So a window measured within a long text and the
same bytes measured alone give the same numbers, which the kind of a window needs. Knows no thresholds.
"""

import sys
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

LETTER, DIGIT, BLANK, OTHER = 0, 1, 2, 3
NUMBER = ord("0")
_LONGEST_WORD = 12  # 36 ** 12 < 2 ** 63
_CLASSES = {"L": LETTER, "M": LETTER, "N": OTHER, "Z": BLANK}


@lru_cache(maxsize=65536)
def _class_of(code: int) -> int:
    """Say what a character is; marks count as the letters that they stand on, variation selectors do not."""
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or code == 0x20E3:
        return OTHER
    category = unicodedata.category(chr(code))
    if category == "Nd":
        return DIGIT
    return BLANK if chr(code) in "\t\n\v\f\r" else _CLASSES.get(category[0], OTHER)


@lru_cache(maxsize=1)
def _ascii_classes() -> Ints:
    return np.array([_class_of(code) for code in range(128)], dtype=np.int64)


@lru_cache(maxsize=1)
def _lead_lengths() -> Ints:
    """Length of the UTF-8 character that each byte opens; 0 for bytes that open none."""
    lengths = np.zeros(256, dtype=np.int64)
    lengths[:0x80], lengths[0xC2:0xE0], lengths[0xE0:0xF0], lengths[0xF0:0xF5] = 1, 2, 3, 4
    return lengths


@dataclass(frozen=True)
class Characters:
    """The whole characters of a byte string.

    Attributes:
        codes: code point of each character.
        starts: first byte of each character.
        ends: byte after each character.
    """

    codes: Ints
    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, data: bytes) -> "Characters":
        """Read the characters; bytes that belong to none (a cut character, invalid text) are skipped."""
        raw = np.frombuffer(data + b"\0\0\0", dtype=np.uint8).astype(np.int64)
        starts = np.flatnonzero(_lead_lengths()[raw[: len(data)]])
        lengths = _lead_lengths()[raw[starts]]
        codes = raw[starts] & np.array([0, 0x7F, 0x1F, 0x0F, 0x07], dtype=np.int64)[lengths]
        whole = np.ones(len(starts), dtype=bool)
        for step in (1, 2, 3):
            longer = lengths > step
            follow = raw[starts + np.where(longer, step, 0)]
            whole &= ~longer | ((follow & 0xC0) == 0x80)
            codes = np.where(longer, (codes << 6) | (follow & 0x3F), codes)
        whole &= codes <= sys.maxunicode  # F4 90 and beyond look like characters and are none
        return cls(codes[whole], starts[whole], (starts + lengths)[whole])

    @cached_property
    def classes(self) -> Ints:
        """LETTER, DIGIT, BLANK or OTHER for each character."""
        classes = _ascii_classes()[np.minimum(self.codes, 127)]
        high = np.flatnonzero(self.codes > 127)
        if len(high):
            values, inverse = np.unique(self.codes[high], return_inverse=True)
            known = np.array([_class_of(int(value)) for value in values], dtype=np.int64)
            classes[high] = known[inverse]
        return classes

    def windows(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Turn byte windows into half-open ranges of the characters that lie wholly inside."""
        first = np.searchsorted(self.starts, starts, side="left")
        return first, np.maximum(first, np.searchsorted(self.ends, ends, side="right"))


@dataclass(frozen=True)
class Condensed:
    """A sequence with runs of one symbol reduced to one, and which part of it lies in each window.

    Attributes:
        symbols: the symbols that differ from the one before them.
        letters: which of them are letters.
        first: for each window, its first symbol (the window's own first character is only context).
        last: for each window, the symbol after its last.
    """

    symbols: Ints
    letters: Flags
    first: Ints
    last: Ints

    @classmethod
    def of(cls, symbols: Ints, letters: Flags, first: Ints, last: Ints) -> "Condensed":
        """Condense `symbols`; windows are half-open ranges of it, `first` and `last` both non-decreasing."""
        kept = np.flatnonzero(symbols[1:] != symbols[:-1]) + 1
        a = np.searchsorted(kept, first + 1, side="left")
        b = np.maximum(a, np.searchsorted(kept, last, side="left"))
        return cls(symbols[kept], letters[kept], a, b)

    @property
    def lengths(self) -> Ints:
        """Number of symbols in each window."""
        return self.last - self.first

    def count(self, symbol: int) -> Ints:
        """Number of times that each window holds `symbol`."""
        total = np.concatenate([[0], np.cumsum(self.symbols == symbol)])
        return np.asarray(total[self.last] - total[self.first], dtype=np.int64)


def skeleton(characters: Characters, first: Ints, last: Ints) -> Condensed:
    """Condense the text with every number written as 0 and every blank as a space."""
    classes = characters.classes
    symbols = np.where(classes == DIGIT, NUMBER, np.where(classes == BLANK, ord(" "), characters.codes))
    return Condensed.of(symbols, classes == LETTER, first, last)


def verbatim(characters: Characters, first: Ints, last: Ints) -> Condensed:
    """Condense the text as it is: only runs of one character become one."""
    return Condensed.of(characters.codes, characters.classes == LETTER, first, last)


def _grams(symbols: Ints, size: int) -> Ints:
    """Number the `size`-grams (2 or 4) so that equal ones have equal numbers."""
    grams = np.unique(symbols, return_inverse=True)[1].astype(np.int64)
    for step in (1, 2)[: size // 2]:
        if len(grams) <= step:
            return np.zeros(0, dtype=np.int64)
        pairs = grams[:-step] * (int(grams.max()) + 1) + grams[step:]
        grams = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return grams


def distinct_grams(text: Condensed, size: int, with_letter: bool = False) -> Ints:
    """Count the distinct `size`-grams of each window.

    A gram is the first of its value in exactly those windows that hold it and open after the same gram's last
    earlier place: with sorted windows that is one interval of windows, so that all are counted in one pass.

    Args:
        text: the sequence and its windows, sorted.
        size: 2 or 4 symbols.
        with_letter: count only grams that hold a letter.

    Returns:
        int64[windows].
    """
    grams = _grams(text.symbols, size)
    positions = np.arange(len(grams), dtype=np.int64)
    order = np.argsort(grams, kind="stable")
    before = np.full(len(grams), -1, dtype=np.int64)
    same = grams[order[1:]] == grams[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    if with_letter:
        held = text.letters[: len(grams)].copy()
        for step in range(1, size):
            held |= text.letters[step : step + len(grams)]
        positions, before = positions[held], before[held]
    opened = np.searchsorted(text.first, before, side="right")
    low = np.maximum(opened, np.searchsorted(text.last, positions + size, side="left"))
    high = np.maximum(low, np.searchsorted(text.first, positions, side="right"))
    count = len(text.first) + 1
    steps = np.bincount(low, minlength=count) - np.bincount(high, minlength=count)
    return np.cumsum(steps)[:-1].astype(np.int64)


def entropy_at_most(codes: Ints, first: Ints, last: Ints, bits: float) -> Flags:
    """Say which windows' characters have a (unigram) entropy of at most `bits`; a window of none has.

    Where the entropy is at most h bits, one character makes up at least 2 ** -h of the window: that is looked
    at first, and only the few windows that pass are summed.
    """
    sizes = last - first
    least = sizes * 2.0**-bits
    symbols, ids, totals = np.unique(codes, return_inverse=True, return_counts=True)
    order = np.argsort(ids, kind="stable")
    places = np.split(order, np.cumsum(totals)[:-1]) if len(symbols) else []
    held = [place for place in places if len(place) >= least.min(initial=0)]
    possible = sizes == 0
    for place in held:
        possible |= np.searchsorted(place, last) - np.searchsorted(place, first) >= least
    windows = np.flatnonzero(possible)
    a, b = first[windows], last[windows]
    size = np.maximum(b - a, 1)
    total = np.zeros(len(windows))
    for place in places if len(windows) else []:
        share = (np.searchsorted(place, b) - np.searchsorted(place, a)) / size
        total -= share * np.log2(share, out=np.zeros_like(share), where=share > 0)
    low = np.zeros(len(sizes), dtype=bool)
    low[windows] = total <= bits
    return low


def _in_base(codes: Ints, starts: Ints, ends: Ints, base: int) -> Ints:
    """Read words as numbers, -1 where they are none.

    At the first two places a letter too high for the base is a prefix: `0x1f` and `u001f` are 31 in base 16.
    """
    lower = np.where((codes >= 65) & (codes <= 90), codes + 32, codes)
    high = np.where((lower >= 97) & (lower <= 122), lower - 87, 99)
    digit = np.where((lower >= 48) & (lower <= 57), lower - 48, high)
    value, good = np.zeros_like(starts), ends - starts <= _LONGEST_WORD
    for step in range(int(min((ends - starts).max(initial=0), _LONGEST_WORD))):
        inside = starts + step < ends
        here = digit[np.minimum(starts + step, len(codes) - 1)]
        prefix = (here >= base) & (here < 36) & (step < 2) & (starts + step + 1 < ends)
        value = np.where(inside, np.where(prefix, 0, value * base + np.minimum(here, base - 1)), value)
        good &= ~inside | (here < base) | prefix
    return np.where(good, value, -1)


def _roman(codes: Ints, starts: Ints, ends: Ints) -> Ints:
    """Read words as Roman numerals, -1 where they hold another character."""
    worth = np.zeros(128, dtype=np.int64)
    for letter, amount in zip("ivxlcdm", (1, 5, 10, 50, 100, 500, 1000), strict=True):
        worth[[ord(letter), ord(letter.upper())]] = amount
    values = np.append(np.where(codes < 128, worth[np.minimum(codes, 127)], 0), 0)
    following = np.append(values[1:], 0)
    following[ends - 1] = 0
    signed = np.concatenate([[0], np.cumsum(np.where(values < following, -values, values))])
    strange = np.concatenate([[0], np.cumsum(values == 0)])
    return np.where(strange[ends] == strange[starts], signed[ends] - signed[starts], -1)


def counting_shares(characters: Characters, first: Ints, last: Ints, least: int) -> NDArray[np.float64]:
    """Share of each window's triples of neighbouring words that go in equal steps: base 36, base 16 or Roman.

    Words are runs of letters and digits; those that touch the window's edge may be cut and are left out.

    Args:
        characters: the text.
        first: first character of each window.
        last: character after each window.
        least: windows with fewer triples than this get 0.

    Returns:
        float64[windows], between 0 and 1.
    """
    inside = np.concatenate([[False], characters.classes <= DIGIT, [False]])
    joined = np.concatenate([[False], characters.ends[:-1] == characters.starts[1:], [False]])
    # a word ends at a byte that belongs to no character, too
    opens = np.flatnonzero(inside[1:-1] & ~(inside[:-2] & joined[: len(inside) - 2]))
    closes = np.flatnonzero(inside[1:-1] & ~(inside[2:] & joined[1:])) + 1
    good = np.zeros(max(len(opens) - 2, 0), dtype=np.int64)
    codes = characters.codes
    for values in (
        _in_base(codes, opens, closes, 36),
        _in_base(codes, opens, closes, 16),
        _roman(codes, opens, closes),
    ):
        steps, known = np.diff(values), values >= 0
        good |= (steps[1:] == steps[:-1]) & (steps[1:] != 0) & known[:-2] & known[1:-1] & known[2:]
    total = np.concatenate([[0], np.cumsum(good)])
    a = np.searchsorted(opens, first, side="right")
    triples = np.searchsorted(closes, last, side="left") - a - 2
    enough = triples >= least
    found = total[np.where(enough, a + triples, 0)] - total[np.where(enough, a, 0)]
    return np.asarray(np.where(enough, found / np.maximum(triples, 1), 0.0), dtype=np.float64)
