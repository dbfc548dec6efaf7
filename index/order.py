"""Sorts seeds into groups of equal left context and seed, and each group by the text that follows.

A group is what look-up works on: its members match a text equally far to the left, and the member that
matches furthest to the right is found by binary search.
"""

from typing import Any

import numpy as np

from index.jit import Array, kernel, load64, trailing_zeros, zero_bytes
from index.layout import DOCUMENT_MARK, Layout

NO_MARK = np.uint64(0xFFFFFFFFFFFFFFFF)
SMALL = 12


@kernel
def compare_right(text: Array, i: Any, j: Any) -> Any:
    """Order two positions by the text that follows them, up to the end of their documents: -1, 0 or 1."""
    while True:
        a = load64(text, i)
        b = load64(text, j)
        difference = a ^ b
        marks = zero_bytes(~a)
        if difference != np.uint64(0):
            byte = trailing_zeros(difference) >> 3
            if (trailing_zeros(marks) >> 3) < byte:
                return 0
            return -1 if text[i + byte] < text[j + byte] else 1
        if marks != np.uint64(0):
            return 0
        i += 8
        j += 8


@kernel
def compare_left(text: Array, i: Any, j: Any, length: Any) -> Any:
    """Order two positions by the `length` bytes before them, backwards, within their documents."""
    for n in range(1, length + 1):
        a = text[i - n]
        b = text[j - n]
        if a != b:
            return -1 if a < b else 1
        if a == DOCUMENT_MARK:
            return 0
    return 0


@kernel
def compare_seeds(text: Array, i: Any, j: Any, words: Any) -> Any:
    """Order two seeds by their bytes (as words: any fixed order will do)."""
    for w in range(words):
        a = load64(text, i + 8 * w)
        b = load64(text, j + 8 * w)
        if a != b:
            return -1 if a < b else 1
    return 0


@kernel
def compare_groups(text: Array, hashes: Array, positions: Array, a: Any, b: Any, gap: Any, words: Any) -> Any:
    """Order two seeds by hash, bytes and left context; 0 where both belong to one group."""
    if hashes[a] != hashes[b]:
        return -1 if hashes[a] < hashes[b] else 1
    order = compare_seeds(text, positions[a], positions[b], words)
    if order == 0:
        order = compare_left(text, positions[a], positions[b], gap)
    return order


@kernel
def _before(text: Array, hashes: Array, positions: Array, a: Any, b: Any, gap: Any, words: Any) -> Any:
    order = compare_groups(text, hashes, positions, a, b, gap, words)
    if order == 0:
        order = compare_right(text, positions[a] + 8 * words, positions[b] + 8 * words)
    return order < 0 or (order == 0 and a < b)


@kernel
def _insertion_sort(
    text: Array, hashes: Array, positions: Array, rows: Array, low: Any, high: Any, gap: Any, words: Any
) -> None:
    for r in range(low + 1, high):
        row = rows[r]
        s = r
        while s > low and _before(text, hashes, positions, row, rows[s - 1], gap, words):
            rows[s] = rows[s - 1]
            s -= 1
        rows[s] = row


@kernel
def _merge_sort(
    text: Array,
    hashes: Array,
    positions: Array,
    rows: Array,
    spare: Array,
    low: Any,
    high: Any,
    gap: Any,
    words: Any,
) -> None:
    for start in range(low, high, SMALL):
        _insertion_sort(text, hashes, positions, rows, start, min(start + SMALL, high), gap, words)
    width = SMALL
    while width < high - low:
        for start in range(low, high - width, 2 * width):
            middle = start + width
            end = min(middle + width, high)
            spare[start:middle] = rows[start:middle]
            i, j, r = start, middle, start
            while i < middle:
                if j < end and _before(text, hashes, positions, rows[j], spare[i], gap, words):
                    rows[r] = rows[j]
                    j += 1
                else:
                    rows[r] = spare[i]
                    i += 1
                r += 1
        width *= 2


@kernel
def _refine(
    text: Array, hashes: Array, positions: Array, rows: Array, shift: Any, gap: Any, words: Any, first: Array
) -> None:
    """Sort each run of rows whose hashes agree in their high bits, and mark the first row of each group."""
    spare = np.empty_like(rows)
    n = rows.size
    low = 0
    while low < n:
        high = low + 1
        prefix = hashes[rows[low]] >> shift
        while high < n and hashes[rows[high]] >> shift == prefix:
            high += 1
        if high - low > 1:
            _merge_sort(text, hashes, positions, rows, spare, low, high, gap, words)
        first[low] = True
        for r in range(low + 1, high):
            first[r] = compare_groups(text, hashes, positions, rows[r - 1], rows[r], gap, words) != 0
        low = high


def order_seeds(text: Array, positions: Array, hashes: Array, layout: Layout) -> tuple[Array, Array]:
    """Sort seeds by hash, bytes, left context and following text.

    Args:
        text: uint8, documents between document marks.
        positions: int64[n], where the seeds stand, ascending.
        hashes: uint64[n], their hashes.
        layout: seed length and gap.

    Returns:
        Rows (int64[n], indices into `positions` in sorted order); whether each row is the first of its group.
    """
    # High bits of the hash and the number of the seed share one word: plain words are what numpy sorts best.
    bits = np.uint64(max(1, int(positions.size).bit_length()))
    packed = hashes >> bits << bits
    packed |= np.arange(positions.size, dtype=np.uint64)
    packed.sort()
    packed &= (np.uint64(1) << bits) - np.uint64(1)
    rows = packed.view(np.int64)
    first = np.zeros(rows.size, dtype=np.bool_)
    _refine(text, hashes, positions, rows, bits, layout.gap, layout.words, first)
    return rows, first
