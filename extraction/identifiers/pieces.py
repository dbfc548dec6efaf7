"""Cuts a text of any length into pieces that the pipeline can hold, and finds in them what may hold a name."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from extraction.identifiers.words import FORM_LABELS, NOT_A_NAME, OPENERS

PIECE = 8_000
# What stands before a piece serves as context, what follows lets an identifier end that begins in it.
LEAD, TAIL = 300, 600
_SEARCH = 1_000

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n|\Z")
# A word with a capital letter or without case, that no digit goes on from: `EX1` and `AB-17` are no names.
_CAPITALISED = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W\d_]*(?![^\W_]|-[0-9])")
_NO_NAMES = frozenset((*FORM_LABELS, *NOT_A_NAME, *OPENERS))


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


def name_runs(text: str, found: Iterable[Span]) -> list[Span]:
    """Find the sentences that may hold a name; the model need not read the others.

    Args:
        text: any.
        found: what is known to be an identifier, by characters.

    Returns:
        Runs of such sentences, ascending.
    """
    known = bytearray(len(text))
    for start, end in found:
        known[start:end] = b"\1" * (end - start)
    runs: list[Span] = []
    low = 0
    for stop in _SENTENCE_END.finditer(text):
        high = stop.end()
        if _may_hold_name(text, low, high, known):
            joined = runs.pop()[0] if runs and runs[-1][1] == low else low
            runs.append((joined, high))
        low = high
    return runs


def _may_hold_name(text: str, low: int, high: int, known: bytearray) -> bool:
    return any(
        not (known[word.start()] or word.group()[0].islower() or word.group().lower() in _NO_NAMES)
        for word in _CAPITALISED.finditer(text, low, high)
    )
