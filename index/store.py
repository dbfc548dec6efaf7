"""Collects the text of a segment: each distinct document once, with the ids of the records that hold it."""

from typing import Any

import numpy as np

from index.jit import Array, kernel, load64, plain_kernel, same_words
from index.layout import DOCUMENT_MARK, PAD

SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))
FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


@plain_kernel
def _mix(h: Any, word: Any, factor: Any) -> Any:
    h = (h ^ word) * factor
    return h ^ (h >> np.uint64(29))


@plain_kernel
def hash_bytes(data: Array, start: Any, end: Any, lane: Any) -> Any:
    """Hash `data[start:end]`; two lanes make 128 bits."""
    factor = FACTORS[lane]
    h = _mix(SEEDS[lane], np.uint64(end - start), factor)
    at = start
    while at + 8 <= end:
        h = _mix(h, load64(data, at), factor)
        at += 8
    tail = np.uint64(0)
    while at < end:
        tail = (tail << np.uint64(8)) | np.uint64(data[at])
        at += 1
    h = _mix(h, tail, factor)
    return _mix(h, h >> np.uint64(32), factor)


@plain_kernel
def _same_bytes(a: Array, i: Any, b: Array, j: Any, length: Any) -> Any:
    words = length >> 3
    if not same_words(a, i, b, j, words):
        return False
    for n in range(8 * words, length):
        if a[i + n] != b[j + n]:
            return False
    return True


@kernel
def _rehash(hashes: Array, count: Any, table: Array) -> None:
    mask = table.size - 1
    for d in range(count):
        slot = np.int64(hashes[d, 0] >> np.uint64(20)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = d


@kernel
def _add(
    text: Array,
    starts: Array,
    hashes: Array,
    table: Array,
    count: Any,
    data: Array,
    offsets: Array,
    out: Array,
) -> Any:
    """Append the documents of a batch that are new; `starts[count]` is where the next one goes."""
    mask = table.size - 1
    for r in range(offsets.size - 1):
        begin, end = offsets[r], offsets[r + 1]
        h0 = hash_bytes(data, begin, end, 0)
        h1 = hash_bytes(data, begin, end, 1)
        slot = np.int64(h0 >> np.uint64(20)) & mask
        found = np.int64(-1)
        while table[slot] >= 0 and found < 0:
            d = table[slot]
            same = hashes[d, 0] == h0 and hashes[d, 1] == h1 and starts[d + 1] - 1 - starts[d] == end - begin
            if same and _same_bytes(text, starts[d], data, begin, end - begin):
                found = d
            slot = (slot + 1) & mask
        if found < 0:
            at = starts[count]
            text[at : at + end - begin] = data[begin:end]
            text[at + end - begin] = DOCUMENT_MARK
            hashes[count, 0], hashes[count, 1] = h0, h1
            table[slot] = count
            found = count
            count += 1
            starts[count] = at + end - begin + 1
        out[r] = found
    return count


@kernel
def _fingerprint(hashes: Array, documents: Array, ids: Array, offsets: Array, sums: Array) -> None:
    for r in range(documents.size):
        for lane in range(2):
            h = hash_bytes(ids, offsets[r], offsets[r + 1], lane)
            sums[lane] += _mix(_mix(h, hashes[documents[r], lane], FACTORS[lane]), h, FACTORS[lane])


class TextStore:
    """The documents of one segment while it is built. Grows batch by batch; holds identical texts once."""

    def __init__(self, expected: int) -> None:
        """Begin an empty store.

        Args:
            expected: bytes of text that will come, roughly: growing beyond costs a copy.
        """
        self.count = 0
        self.records = 0
        self.fingerprint = np.zeros(2, dtype=np.uint64)
        self._text = np.empty(max(expected, 1 << 16), dtype=np.uint8)
        self._text[0] = DOCUMENT_MARK
        self._starts = np.ones(1025, dtype=np.int64)
        self._hashes = np.empty((1024, 2), dtype=np.uint64)
        self._table = np.full(4096, -1, dtype=np.int64)
        self._of_record: list[Array] = []
        self._ids: list[Any] = []

    @property
    def used(self) -> int:
        """Bytes of text so far, marks included."""
        return int(self._starts[self.count])

    def add(self, texts: Any, ids: Any) -> None:
        """Add a batch of records.

        Args:
            texts: pyarrow large_string array without nulls, valid UTF-8.
            ids: pyarrow large_string array of the same length.
        """
        data, offsets = buffers_of(texts)
        self._reserve(int(offsets[-1] - offsets[0]) + len(texts), len(texts))
        documents = np.empty(len(texts), dtype=np.int64)
        self.count = _add(
            self._text, self._starts, self._hashes, self._table, self.count, data, offsets, documents
        )
        _fingerprint(self._hashes, documents, *buffers_of(ids), self.fingerprint)
        self.records += len(texts)
        self._of_record.append(documents)
        self._ids.append(ids)

    def _reserve(self, size: int, documents: int) -> None:
        if self.used + size + PAD > self._text.size:
            # A new array, for which numpy asks for huge pages; a resized one stays on small ones, slow to read.
            grown = np.empty(max(self.used + size + PAD, self._text.size * 2), dtype=np.uint8)
            grown[: self.used] = self._text[: self.used]
            self._text = grown
        if self.count + documents >= self._hashes.shape[0]:
            capacity = max(self.count + documents + 1, self._hashes.shape[0] * 2)
            self._starts.resize(capacity + 1, refcheck=False)
            self._hashes.resize((capacity, 2), refcheck=False)
        if 2 * (self.count + documents) > self._table.size:
            self._table = np.full(1 << (4 * (self.count + documents)).bit_length(), -1, dtype=np.int64)
            _rehash(self._hashes, self.count, self._table)

    def text(self) -> Array:
        """The text so far: uint8, a mark before and after each document, then `PAD` marks."""
        self._text.resize(self.used + PAD, refcheck=False)  # gives back what it had grown by
        self._text[self.used :] = DOCUMENT_MARK
        return self._text

    def starts(self) -> Array:
        """int64[d + 1]: where each document begins; it ends one byte before the next one's start."""
        return self._starts[: self.count + 1]

    def hashes(self) -> Array:
        """uint64[d, 2]: a 128-bit hash of each document."""
        return self._hashes[: self.count]

    def ids(self) -> tuple[Any, Array]:
        """All ids grouped by document (large_string array); int64[d + 1], where each document's ids begin."""
        import pyarrow as pa

        ids = pa.chunked_array(self._ids, type=pa.large_string()).combine_chunks()
        of_record = np.concatenate([np.zeros(0, dtype=np.int64), *self._of_record])
        if self.count < self.records:
            order = np.argsort(of_record, kind="stable")
            ids = ids.take(pa.array(order))
        firsts = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(np.bincount(of_record, minlength=self.count), out=firsts[1:])
        return ids, firsts


def buffers_of(strings: Any) -> tuple[Array, Array]:
    """The bytes (uint8) and offsets (int64[n + 1]) behind a pyarrow large_string array, without a copy."""
    _, offsets, data = strings.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return np.frombuffer(data if data is not None else b"", dtype=np.uint8), bounds
