"""Every place of every window of a run as flat columns: which window, in which request, at which token.

Windows are distinct by their keyed hash and numbered in the order of it, so that the numbers, and all that is
made from them, are the same whatever order the parts came in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extraction.windows import HASH_BYTES, KINDS, STRETCH_SCHEMA, WINDOW_SCHEMA

Ints = NDArray[np.int64]
_Number = TypeVar("_Number", np.int8, np.int64)


@dataclass(frozen=True)
class Places:
    """Windows where they stand, sorted by family, number and start, and what is known of each distinct one.

    Attributes:
        families: family names; `family` points into them.
        family: int16[places].
        number: int64[places], the request's number in its family.
        start: int32[places], first token in the generation.
        window: int32[places], the distinct window.
        hashes: uint8[windows, 16], increasing.
        kinds: int8[windows], places in `KINDS`.
        documents: int64[windows].
    """

    families: tuple[str, ...]
    family: NDArray[np.int16]
    number: Ints
    start: NDArray[np.int32]
    window: NDArray[np.int32]
    hashes: NDArray[np.uint8]
    kinds: NDArray[np.int8]
    documents: Ints

    @classmethod
    def of(cls, partitions: Iterable[pa.Table], families: Sequence[str]) -> "Places":
        """Read windows, one partition at a time.

        Args:
            partitions: tables of `WINDOW_SCHEMA`, their rows in any order; all rows of a window stand in one table,
                and the tables' hashes ascend.
            families: names of the families.

        Raises:
            ValueError: a window has two kinds or two document counts (the parts were made with different
                indexes or rules), or a place stands there twice (a part was read twice).
        """
        parts = [_Partition.of(table, families) for table in partitions]
        hashes = np.concatenate([np.zeros((0, HASH_BYTES), np.uint8), *(part.hashes for part in parts)])
        _refuse_disorder([part.hashes for part in parts if len(part.hashes)])
        sizes = np.cumsum([0, *(len(part.hashes) for part in parts)])
        own = (part.window + np.int32(size) for part, size in zip(parts, sizes, strict=False))
        window = np.concatenate([np.zeros(0, np.int32), *own])
        kinds = np.concatenate([np.zeros(0, np.int8), *(part.kinds for part in parts)])
        documents = np.concatenate([np.zeros(0, np.int64), *(part.documents for part in parts)])
        family = np.concatenate([np.zeros(0, np.int16), *(part.family for part in parts)])
        number = np.concatenate([np.zeros(0, np.int64), *(part.number for part in parts)])
        start = np.concatenate([np.zeros(0, np.int32), *(part.start for part in parts)])
        parts.clear()
        order = np.lexsort((start, request_keys(family, number)))
        places = cls(
            tuple(families),
            family[order],
            number[order],
            start[order],
            window[order],
            hashes,
            kinds,
            documents,
        )
        places._refuse_repeats()
        return places

    def _refuse_repeats(self) -> None:
        same = (np.diff(self.family) == 0) & (np.diff(self.number) == 0) & (np.diff(self.start) == 0)
        if same.any():
            raise ValueError("a window stands twice at one place: a part was read twice")

    def rows_of(self, stretches: pa.Table) -> tuple[Ints, Ints]:
        """Find the places of each stretch's windows.

        Args:
            stretches: a table of `STRETCH_SCHEMA`.

        Returns:
            int64[stretches] first rows and int64[stretches] numbers of rows.

        Raises:
            ValueError: a stretch's windows are not all there.
        """
        if stretches.schema.names != STRETCH_SCHEMA.names:
            raise ValueError("not a table of stretches")
        family, number = codes(stretches["family"], self.families), numbers(stretches["number"])
        start, sizes = numbers(stretches["start"]), numbers(stretches["windows"])
        own, wanted = request_keys(self.family, self.number), request_keys(family, number)
        requests = np.unique(own)
        places = np.searchsorted(requests, own) << 32 | self.start.astype(np.int64)
        rows = np.zeros(len(wanted), dtype=np.int64)
        for step in (np.int64(0), sizes - 1):
            sought = np.searchsorted(requests, wanted) << 32 | (start + step)
            rows = np.searchsorted(places, sought).astype(np.int64)
            found = rows < len(own)
            found[found] = (own[rows[found]] == wanted[found]) & (places[rows[found]] == sought[found])
            if not found.all():
                raise ValueError("a stretch lacks windows: windows and stretches come from different parts")
        return rows - sizes + 1, sizes


@dataclass(frozen=True)
class _Partition:
    """The columns of one partition's places, in any order; `window` counts from its own first hash."""

    family: NDArray[np.int16]
    number: Ints
    start: NDArray[np.int32]
    window: NDArray[np.int32]
    hashes: NDArray[np.uint8]
    kinds: NDArray[np.int8]
    documents: Ints

    @classmethod
    def of(cls, windows: pa.Table, families: Sequence[str]) -> "_Partition":
        if windows.schema.names != WINDOW_SCHEMA.names:
            raise ValueError("not a table of windows")
        hashes, window = distinct_rows(hash_bytes(windows["hash"]))
        return cls(
            codes(windows["family"], families),
            numbers(windows["number"]),
            windows["start"].to_numpy().astype(np.int32),
            window,
            hashes,
            _one_value(codes(windows["kind"], KINDS).astype(np.int8), window, len(hashes)),
            _one_value(numbers(windows["document_count"]), window, len(hashes)),
        )


def _refuse_disorder(hashes: Sequence[NDArray[np.uint8]]) -> None:
    for before, after in pairwise(hashes):
        if bytes(before[-1]) >= bytes(after[0]):
            raise ValueError("the partitions of the windows do not ascend")


def numbers(column: pa.ChunkedArray) -> Ints:
    """A column of whole numbers as int64."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


def codes(column: pa.ChunkedArray, names: Sequence[str]) -> NDArray[np.int16]:
    """A column of names as places in `names`; raises ValueError for a name that is not there."""
    found = pc.index_in(column, pa.array(list(names), pa.string()))
    if found.null_count:
        raise ValueError("a family or kind that the run does not have")
    return np.asarray(found.to_numpy(), dtype=np.int16)


def request_keys(family: NDArray[np.int16], number: Ints) -> Ints:
    """One number for each request, in the order of (family, number)."""
    if len(number) and not 0 <= number.min() <= number.max() < 1 << 47:
        raise ValueError("a request's number is out of range")
    return np.asarray(family.astype(np.int64) << 47 | number, dtype=np.int64)


def hash_bytes(column: pa.ChunkedArray) -> NDArray[np.uint8]:
    """A column of hashes as uint8[rows, 16]."""
    chunks = [np.frombuffer(chunk.buffers()[1], dtype=np.uint8) for chunk in column.chunks if len(chunk)]
    parts = [
        raw[chunk.offset * HASH_BYTES : (chunk.offset + len(chunk)) * HASH_BYTES]
        for raw, chunk in zip(chunks, (c for c in column.chunks if len(c)), strict=True)
    ]
    return np.concatenate([np.zeros(0, np.uint8), *parts]).reshape(-1, HASH_BYTES)


def distinct_rows(raw: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The distinct rows in increasing order, and which of them each row is."""
    halves = np.ascontiguousarray(raw).view(">u8").astype(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    ordered = halves[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    window = np.empty(len(order), dtype=np.int32)
    window[order] = np.cumsum(new) - 1
    return raw[order[new]], window


def hash_column(rows: NDArray[np.uint8]) -> pa.FixedSizeBinaryArray:
    """Hashes uint8[rows, 16] as a column."""
    data = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(HASH_BYTES), len(rows), [None, data])


def among(rows: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which of some hashes, uint8[rows, 16], stand among others; bool[rows]."""
    distinct, number = distinct_rows(np.concatenate([rows, others]))
    marked = np.zeros(len(distinct), dtype=bool)
    marked[number[len(rows) :]] = True
    return np.asarray(marked[number[: len(rows)]])


def _one_value(values: NDArray[_Number], window: NDArray[np.int32], windows: int) -> NDArray[_Number]:
    """The value that all places of each window agree on."""
    known = np.zeros(windows, dtype=values.dtype)
    known[window] = values
    if (known[window] != values).any():
        raise ValueError(
            "a window has two kinds or document counts: parts were made with different indexes or rules"
        )
    return known
