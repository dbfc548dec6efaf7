"""Tables in plain text: which header stands over a value.

A header is a line of short cells without digits; rows are the lines below it with as many cells. What is no table for
sure is none here, and is then read as prose.
"""

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass

_FEWEST_CELLS = {"\t": 2, ";": 2, "|": 2, ",": 3}
_LONGEST_HEADER, _LONGEST_CELL = 1_000, 40
_NOT_A_HEADER = re.compile(r"[0-9:?!@=(){}<>]|[.] ")
# A delimiter inside quotation marks parts nothing.
_PARTS = {mark: re.compile(rf'"[^"]*"|{re.escape(mark)}') for mark in _FEWEST_CELLS}

Span = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """A cell of a row, and the header over it: characters of the text."""

    span: Span
    header: Span


@dataclass(frozen=True)
class _Header:
    mark: str
    cells: tuple[Span, ...]


class Tables:
    """The rows of all tables in one text; one pass over it."""

    def __init__(self, text: str) -> None:
        """Find them."""
        self._rows = list(_rows(text))
        self._starts = [row[0].span[0] for row in self._rows]

    def cell(self, position: int) -> Cell | None:
        """The cell that holds a character; None outside of rows."""
        number = bisect.bisect_right(self._starts, position) - 1
        cells = self._rows[number] if number >= 0 else ()
        return next((cell for cell in cells if cell.span[0] <= position <= cell.span[1]), None)

    def cells(self) -> Iterator[Cell]:
        """All cells, row by row."""
        return (cell for row in self._rows for cell in row)


def _rows(text: str) -> Iterator[tuple[Cell, ...]]:
    header: _Header | None = None
    start = 0
    for line in text.split("\n"):
        cells = _split(line, start, header.mark) if header else ()
        if header and len(cells) == len(header.cells):
            yield tuple(map(Cell, cells, header.cells))
        else:
            header = _header(line, start)
        start += len(line) + 1


def _header(line: str, start: int) -> _Header | None:
    if len(line) > _LONGEST_HEADER or _NOT_A_HEADER.search(line):
        return None
    for mark, fewest in _FEWEST_CELLS.items():
        cells = _split(line, start, mark) if mark in line else ()
        if len(cells) >= fewest and all(end - begin <= _LONGEST_CELL for begin, end in cells):
            return _Header(mark, cells)
    return None


def _split(line: str, start: int, mark: str) -> tuple[Span, ...]:
    cuts = [cut.start() for cut in _PARTS[mark].finditer(line) if cut.group() == mark]
    begins, ends = [0, *(cut + 1 for cut in cuts)], [*cuts, len(line)]
    return tuple((start + begin, start + end) for begin, end in zip(begins, ends, strict=True))
