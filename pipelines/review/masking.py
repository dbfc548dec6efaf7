"""Masks identifiers in text: every one that the run's tagger found anywhere, and whatever has the form of one.

A mask errs on the side of hiding. A name that the tagger did not see stays visible; the page says so.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.report.words import identifier

NUMBER, ADDRESS = "NUMBER", "ADDRESS"
_LABELS = {NUMBER: "number", ADDRESS: "address"}
_NUMBER = re.compile(r"\d(?:[ \-./]?\d){3,}")
_WORD = re.compile(r"\S+")
_SHORTEST = 2  # of an identifier that is masked wherever it stands
_SYMBOL = re.compile(r"\w+|[^\w\s]")  # a word, or a sign by itself
_EDGE = 3  # characters of a cut identifier that give it away
_EDGE_SYMBOLS = 12  # words and signs that one has at most
_REACH = 160  # characters that are looked at from each end


@dataclass(frozen=True)
class Piece:
    """A piece of a text: shown as it is, or hidden behind the name of a type.

    Attributes:
        text: the characters, or what stands for them.
        hidden: whether they are hidden.
        marked: whether they are part of the extracted span.
    """

    text: str
    hidden: bool = False
    marked: bool = False


class Masker:
    """Hides the identifiers of one run."""

    def __init__(self, identifiers: Mapping[str, str], whole: bool = False) -> None:
        """Prepare.

        Args:
            identifiers: type by the characters of the identifier as they stood in a text.
            whole: hide all of every text.
        """
        from ahocorasick_rs import AhoCorasick, MatchKind

        self._whole = whole
        self._texts = sorted(text for text in identifiers if len(text) >= _SHORTEST)
        self._types = [identifiers[text] for text in self._texts]
        self._reversed = sorted((text[::-1], identifiers[text]) for text in self._texts)
        self._find = AhoCorasick(self._texts, matchkind=MatchKind.LeftmostLongest) if self._texts else None

    def pieces(self, text: str, low: int = 0, high: int | None = None) -> list[Piece]:
        """Cut a part of a text into shown and hidden pieces.

        All of the text decides what is hidden: an identifier that the part's ends cut is still one.

        Args:
            text: all of it.
            low: the first character of the part.
            high: the one behind its last; None: the end of the text.
        """
        high = len(text) if high is None else high
        if self._whole:
            return [Piece(f"{high - low:,} characters", hidden=True)] if low < high else []
        pieces, at = [], low
        for start, end, kind in self._spans(text):
            if end <= low or start >= high:
                continue
            if start > at:
                pieces.append(Piece(text[at:start]))
            if start >= low:  # else the part before shows it
                pieces.append(Piece(_label(kind), hidden=True))
            at = end
        return [*pieces, Piece(text[at:high])] if at < high else pieces

    def masked(self, text: str) -> str:
        """The text with each identifier replaced by the name of its type in brackets."""
        return "".join(f"[{piece.text}]" if piece.hidden else piece.text for piece in self.pieces(text))

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """What is hidden, in order; of overlapping spans the first, stretched over the others."""
        found = sorted([*self._known(text), *self._formed(text), *self._at_edges(text)])
        held: tuple[int, int, str] | None = None
        for start, end, kind in found:
            if held and start < held[1]:
                held = (held[0], max(held[1], end), held[2])
                continue
            if held:
                yield held
            held = (start, end, kind)
        if held:
            yield held

    def _known(self, text: str) -> Iterator[tuple[int, int, str]]:
        for number, start, end in self._find.find_matches_as_indexes(text) if self._find else ():
            yield start, end, self._types[number]

    def _formed(self, text: str) -> Iterator[tuple[int, int, str]]:
        yield from ((m.start(), m.end(), NUMBER) for m in _NUMBER.finditer(text))
        if "@" in text:
            yield from ((m.start(), m.end(), ADDRESS) for m in _WORD.finditer(text) if "@" in m[0])

    def _at_edges(self, text: str) -> Iterator[tuple[int, int, str]]:
        """An identifier that the text's end cuts is still one: `Ada Whitc` of `Ada Whitcombe`."""
        for length in _tails(text):
            at = bisect_left(self._texts, text[-length:])
            if at < len(self._texts) and self._texts[at].startswith(text[-length:]):
                yield len(text) - length, len(text), self._types[at]
        backwards = text[:_REACH][::-1]
        for length in _tails(backwards):
            at = bisect_left(self._reversed, (backwards[-length:], ""))
            if at < len(self._reversed) and self._reversed[at][0].startswith(backwards[-length:]):
                yield 0, length, self._reversed[at][1]


def _tails(text: str) -> list[int]:
    """Lengths of a text's last few words and signs with what follows them, those too short to tell left out."""
    last = text[-_REACH:]
    starts = [m.start() for m in _SYMBOL.finditer(last)][-_EDGE_SYMBOLS:]
    return [len(last) - start for start in starts if len(last) - start >= _EDGE]


def _label(kind: str) -> str:
    return _LABELS.get(kind) or identifier(kind)
