"""The context-word rule: which word near a number says what the number is."""

import bisect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from extraction.identifiers.folding import lower
from extraction.identifiers.tables import Tables

BEFORE, AFTER = 60, 30
_GLUE = str.maketrans({"-": " ", "_": " ", "\n": " ", "\r": " ", "\t": " ", "#": " "})
_PARAGRAPH = re.compile(r"\n[ \t\r]{0,8}\n")
_SENTENCE = re.compile(r"[\n;]|[.!?] ")
# `12345678, sort code 12-34-56`: a label with a number of its own behind it says nothing of the one in front.
_OWN_NUMBER = re.compile(
    r"[\s:#.=\"'_-]{0,4}(?:(?:is|was|no|num|number|nr)(?![^\W_])[\s:#.=\"'_-]{0,4}){0,2}[+(]?[0-9]"
)


@dataclass(frozen=True)
class Words:
    """The words that matter to one recogniser, as indexes into a `Vocabulary`."""

    context: frozenset[int]
    blockers: frozenset[int]


class Vocabulary:
    """All context words and blockers of a pipeline in one automaton: a text is read once for all."""

    def __init__(self, words: Iterable[str]) -> None:
        """Build the automaton.

        Args:
            words: in any case; duplicates are one.
        """
        import ahocorasick_rs

        self.words = sorted({_spread(word) for word in words})
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._automaton = ahocorasick_rs.AhoCorasick(self.words) if self.words else None

    def words_of(self, context: Sequence[str], blockers: Sequence[str]) -> Words:
        """Number the words of one recogniser."""
        inside = frozenset(self._numbers[_spread(word)] for word in context)
        return Words(inside, frozenset(self._numbers[_spread(word)] for word in blockers) - inside)

    def read(self, folded: str) -> "ContextIndex":
        """Find every word in a folded text, whole words only."""
        text = _spread(folded)
        found = self._automaton.find_matches_as_indexes(text, overlapping=True) if self._automaton else []
        hits = [(end, start, number) for number, start, end in found if _whole(text, start, end)]
        return ContextIndex(folded, sorted(hits), self.words)


def _spread(text: str) -> str:
    return lower(text).translate(_GLUE)


def _whole(text: str, start: int, end: int) -> bool:
    before = start == 0 or not text[start - 1].isalnum()
    return before and (end == len(text) or not text[end].isalpha())


class ContextIndex:
    """Where the context words of one text stand."""

    def __init__(self, text: str, hits: list[tuple[int, int, int]], words: Sequence[str]) -> None:
        """Keep the hits.

        Args:
            text: the folded text.
            hits: (end, start, word number), sorted.
            words: the words by number.
        """
        self._text = text
        self._hits = hits
        self._words = words
        self._tables = Tables(text)

    def nearest(self, words: Words, start: int, end: int) -> tuple[str, int]:
        """Find the context word that speaks for the value at `start:end`.

        The nearest label in front decides: a blocker there voids what stands further off. In a table that is a
        label in the same cell, or else the header. Where none stands in front, a word that follows in the same
        sentence (or cell) counts, unless it labels a number of its own.

        Returns:
            The word and its distance in characters; an empty word where there is none.
        """
        label = self._in_front(words, start)
        if label is None:
            return self._behind(words, end)
        number, distance = label
        return (self._words[number], distance) if number in words.context else ("", BEFORE)

    def blocked(self, words: Words, start: int, end: int) -> bool:
        """Whether a blocker is the nearest label in front, or the next word behind."""
        label = self._in_front(words, start)
        if label is not None:
            return label[0] in words.blockers
        return any(
            number in words.blockers and not self._text[end:first].strip(" ,")
            for _, first, number in self._between(end, end + AFTER)
        )

    def _between(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """Hits that lie within `low:high`, by their ends."""
        left = bisect.bisect_left(self._hits, (low,))
        right = bisect.bisect_left(self._hits, (high + 1,))
        return [hit for hit in self._hits[left:right] if hit[1] >= low]

    def _in_front(self, words: Words, start: int) -> tuple[int, int] | None:
        low = max(0, start - BEFORE)
        for match in _PARAGRAPH.finditer(self._text, low, start):
            low = match.end()
        cell = self._tables.cell(start)
        label = self._last_label(words, max(low, cell.span[0]) if cell else low, start)
        if label is not None:
            return label[2], start - label[0]
        header = self._last_label(words, *cell.header) if cell else None
        return (header[2], 0) if header else None

    def _last_label(self, words: Words, low: int, high: int) -> tuple[int, int, int] | None:
        labels = [
            hit for hit in self._between(low, high) if hit[2] in words.context or hit[2] in words.blockers
        ]
        # Of words that end at the same place, the longest is the label: `sort code`, not `code`.
        return max(labels, key=lambda hit: (hit[0], -hit[1]), default=None)

    def _behind(self, words: Words, end: int) -> tuple[str, int]:
        stop = _SENTENCE.search(self._text, end, end + AFTER)
        high = stop.start() if stop else min(len(self._text), end + AFTER)
        if cell := self._tables.cell(end):
            high = min(high, cell.span[1])
        for last, first, number in self._between(end, high):
            if number in words.blockers:
                break
            if number in words.context and not _OWN_NUMBER.match(self._text, last):
                return self._words[number], first - end
        return "", BEFORE
