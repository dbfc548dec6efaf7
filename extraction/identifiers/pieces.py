"""Cuts a text of any length into pieces that the pipeline can hold, with their neighbours around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PIECE = 8_000
# What stands before a piece serves as context, what follows lets an identifier end that begins in it.
LEAD, TAIL = 300, 600
_SEARCH = 1_000

_NAME_LIKE = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W\d_]")


@dataclass(frozen=True)
class Piece:
    """Part of a text. Findings that start in `own_start:own_end` (offsets into `text`) belong to it.

    Attributes:
        text: the piece with its surroundings.
        offset: where `text` begins in the whole text.
        own_start: first own character.
        own_end: one past the last own character.
    """

    text: str
    offset: int
    own_start: int
    own_end: int

    def can_hold_name(self) -> bool:
        """Whether any word begins like a name; what does not need not pass through the model."""
        return _NAME_LIKE.search(self.text) is not None


def pieces_of(text: str) -> Iterator[Piece]:
    """Cut `text`: every character belongs to exactly one piece. An empty text has none."""
    start = 0
    while start < len(text):
        end = _cut(text, start)
        first, last = max(0, start - LEAD), min(len(text), end + TAIL)
        yield Piece(text[first:last], first, start - first, end - first)
        start = end


def _cut(text: str, start: int) -> int:
    end = start + PIECE
    if end + TAIL >= len(text):
        return len(text)
    for mark in ("\n", " "):
        found = text.rfind(mark, end - _SEARCH, end)
        if found > start:
            return found + 1
    return end
