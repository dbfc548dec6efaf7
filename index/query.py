"""Lays texts out in buffers that the kernels can read without bounds checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from index.layout import DOCUMENT_MARK, LAST_MARK, PAD, QUERY_MARK

BUFFER_BYTES = 16 << 20


@dataclass(frozen=True)
class QueryBuffer:
    """Some texts, one after the other, with `PAD` query marks around each.

    Attributes:
        data: uint8, the buffer. A byte that is the document mark is replaced: it stands in no corpus.
        numbers: the texts' numbers in the caller's order.
        firsts: int64, where each text begins in `data`.
        lasts: int64, one past its last byte.
    """

    data: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    lasts: npt.NDArray[np.int64]


def query_buffers(texts: Sequence[bytes], shortest: int) -> Iterator[QueryBuffer]:
    """Pack texts into buffers of some 16 MB, leaving out those of fewer than `shortest` bytes."""
    numbers: list[int] = []
    size = 0
    for number, text in enumerate(texts):
        if len(text) < shortest:
            continue
        if numbers and size + len(text) > BUFFER_BYTES:
            yield _pack(texts, numbers)
            numbers, size = [], 0
        numbers.append(number)
        size += len(text) + PAD
    if numbers:
        yield _pack(texts, numbers)


def _pack(texts: Sequence[bytes], numbers: list[int]) -> QueryBuffer:
    marks = bytes([QUERY_MARK]) * PAD
    data = bytearray(marks)
    for number in numbers:
        data += texts[number]
        data += marks
    # A run of query marks ends at another byte that stands in no corpus, and loads of whole words may go past it.
    data += bytes([LAST_MARK]) + bytes(PAD)
    buffer = np.frombuffer(data, dtype=np.uint8)
    buffer[buffer == DOCUMENT_MARK] = QUERY_MARK
    lengths = np.array([len(texts[number]) for number in numbers], dtype=np.int64)
    lasts = np.cumsum(lengths + PAD)
    return QueryBuffer(buffer, np.array(numbers, dtype=np.int64), lasts - lengths, lasts)
