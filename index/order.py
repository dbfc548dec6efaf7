"""Sorts seeds into groups of equal left context and seed, and each group by the text that follows.

A group is what look-up works on: its members match a text equally far to the left, and the member that matches
furthest to the right is found by bisection.

Copies of long documents make members that share megabytes. They are compared through the chain of the seeds that
follow them: equal hashes of links mean equal text. That an order is right is then proved without hashes: neighbours
in a group are followed by seeds that are in order in theirs, or differ before those.
"""

from typing import Any

import numpy as np

from index.jit import Array, kernel, load64, trailing_zeros, zero_bytes
from index.layout import DOCUMENT_MARK, Layout
from index.seeds import MULTIPLIER, Seeds
from index.store import hash_bytes

SMALL = 12
NEAR = 256
LEVELS = 40


@kernel
def _compare_right(text: Array, i: Any, j: Any, limit: Any) -> Any:
    """Order two positions by the text that follows, up to the end of their documents: -1, 0, 1; 2 beyond `limit`."""
    for n in range(0, limit, 8):
        a = load64(text, i + n)
        b = load64(text, j + n)
        difference = a ^ b
        marks = zero_bytes(~a)
        if difference != np.uint64(0):
            byte = trailing_zeros(difference) >> 3
            if (trailing_zeros(marks) >> 3) < byte:
                return 0
            return -1 if text[i + n + byte] < text[j + n + byte] else 1
        if marks != np.uint64(0):
            return 0
    return 2


@kernel
def _compare_left(text: Array, i: Any, j: Any, length: Any) -> Any:
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
def _compare_seeds(text: Array, i: Any, j: Any, words: Any) -> Any:
    """Order two seeds by their bytes (as words: any fixed order will do)."""
    for w in range(words):
        a = load64(text, i + 8 * w)
        b = load64(text, j + 8 * w)
        if a != b:
            return -1 if a < b else 1
    return 0


@kernel
def _compare_groups(
    text: Array, hashes: Array, positions: Array, lefts: Array, a: Any, b: Any, words: Any
) -> Any:
    """Order two seeds by hash, bytes and left context; 0 where both belong to one group."""
    if hashes[a] != hashes[b]:
        return -1 if hashes[a] < hashes[b] else 1
    order = _compare_seeds(text, positions[a], positions[b], words)
    if order == 0 and lefts[a] != lefts[b]:
        return -1 if lefts[a] < lefts[b] else 1
    if order == 0:
        order = _compare_left(text, positions[a], positions[b], lefts[a])
    return order


@kernel
def _chain(text: Array, positions: Array, starts: Array, opens: Array, sums: Array, powers: Array) -> None:
    """Mark each document's first seed; fill running hashes of the text between seeds, and the powers to cut them."""
    d = 0
    sums[0] = np.uint64(0)
    opens[:] = False
    for j in range(positions.size):
        while starts[d + 1] <= positions[j]:
            d += 1
        if j + 1 < positions.size and positions[j + 1] < starts[d + 1]:
            link = hash_bytes(text, positions[j], positions[j + 1], 0)
        else:
            # The last link of a document equals no other, so that no comparison runs on into the next document.
            link = np.uint64(j) * MULTIPLIER + np.uint64(1)
            opens[j + 1] = True
        sums[j + 1] = sums[j] * MULTIPLIER + (link ^ (link >> np.uint64(31)))
    powers[0] = MULTIPLIER
    for level in range(1, LEVELS):
        powers[level] = powers[level - 1] * powers[level - 1]


@kernel
def _equal_links(sums: Array, powers: Array, a: Any, b: Any, level: Any) -> Any:
    """Say whether the next `2**level` links of two seeds are equal."""
    step = np.int64(1) << level
    if a + step >= sums.size or b + step >= sums.size:
        return False
    left = sums[a + step] - sums[a] * powers[level]
    return left == sums[b + step] - sums[b] * powers[level]


@kernel
def _shared_links(sums: Array, powers: Array, a: Any, b: Any) -> Any:
    """How many links follow two seeds alike."""
    shared = np.int64(0)
    level = 0
    while _equal_links(sums, powers, a + shared, b + shared, level):
        shared += np.int64(1) << level
        level += 1
    for lower in range(level, -1, -1):
        if _equal_links(sums, powers, a + shared, b + shared, lower):
            shared += np.int64(1) << lower
    return shared


@kernel
def _before(text: Array, positions: Array, sums: Array, powers: Array, a: Any, b: Any, start: Any) -> Any:
    """Say whether the member `a` of a group comes before the member `b`."""
    order = _compare_right(text, positions[a] + start, positions[b] + start, NEAR)
    if order == 2:
        shared = _shared_links(sums, powers, a, b)
        order = _compare_right(text, positions[a + shared], positions[b + shared], text.size)
    return order < 0 or (order == 0 and a < b)


@kernel
def _sort_groups(
    text: Array, hashes: Array, positions: Array, lefts: Array, rows: Array, low: Any, high: Any, words: Any
) -> None:
    """Sort a few rows of nearly equal hash by group: by insertion, or in a heap where they are many after all."""
    size = high - low
    if size <= SMALL:
        for r in range(low + 1, high):
            row = rows[r]
            s = r
            while s > low and _group_before(text, hashes, positions, lefts, row, rows[s - 1], words):
                rows[s] = rows[s - 1]
                s -= 1
            rows[s] = row
        return
    for start in range(size // 2 - 1, -1, -1):
        _sift(text, hashes, positions, lefts, rows, low, start, size, words)
    for end in range(size - 1, 0, -1):
        rows[low], rows[low + end] = rows[low + end], rows[low]
        _sift(text, hashes, positions, lefts, rows, low, 0, end, words)


@kernel
def _sift(
    text: Array,
    hashes: Array,
    positions: Array,
    lefts: Array,
    rows: Array,
    low: Any,
    root: Any,
    size: Any,
    words: Any,
) -> None:
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _group_before(
            text, hashes, positions, lefts, rows[low + child], rows[low + child + 1], words
        ):
            child += 1
        if not _group_before(text, hashes, positions, lefts, rows[low + root], rows[low + child], words):
            return
        rows[low + root], rows[low + child] = rows[low + child], rows[low + root]
        root = child


@kernel
def _group_before(
    text: Array, hashes: Array, positions: Array, lefts: Array, a: Any, b: Any, words: Any
) -> Any:
    order = _compare_groups(text, hashes, positions, lefts, a, b, words)
    return order < 0 or (order == 0 and a < b)


@kernel
def _sort_members(
    text: Array,
    positions: Array,
    sums: Array,
    powers: Array,
    rows: Array,
    spare: Array,
    low: Any,
    high: Any,
    start: Any,
) -> None:
    """Sort the members of one group by the text that follows: insertion in small pieces, then merging."""
    for piece in range(low, high, SMALL):
        for r in range(piece + 1, min(piece + SMALL, high)):
            row = rows[r]
            s = r
            while s > piece and _before(text, positions, sums, powers, row, rows[s - 1], start):
                rows[s] = rows[s - 1]
                s -= 1
            rows[s] = row
    width = SMALL
    while width < high - low:
        for piece in range(low, high - width, 2 * width):
            middle = piece + width
            end = min(middle + width, high)
            spare[: middle - piece] = rows[piece:middle]
            i, j, r = 0, middle, piece
            while i < middle - piece:
                if j < end and _before(text, positions, sums, powers, rows[j], spare[i], start):
                    rows[r] = rows[j]
                    j += 1
                else:
                    rows[r] = spare[i]
                    i += 1
                r += 1
        width *= 2


@kernel
def _group(
    text: Array, hashes: Array, positions: Array, lefts: Array, packed: Array, bits: Any, words: Any, rows: Array,
    first: Array,
) -> Any:  # fmt: skip
    """Turn sorted packed words into rows sorted by group; mark each group's first; return the largest group's size."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    n = packed.size
    largest = 0
    low = 0
    while low < n:
        high = low + 1
        prefix = packed[low] >> bits
        while high < n and packed[high] >> bits == prefix:
            high += 1
        for r in range(low, high):
            rows[r] = np.int64(packed[r] & mask)
        if high - low > 1:
            _sort_groups(text, hashes, positions, lefts, rows, low, high, words)
        begin = low
        first[low] = True
        for r in range(low + 1, high):
            if _compare_groups(text, hashes, positions, lefts, rows[r - 1], rows[r], words) != 0:
                first[r] = True
                largest = max(largest, r - begin)
                begin = r
        largest = max(largest, high - begin)
        low = high
    return largest


@kernel
def _sort_all_members(
    text: Array,
    positions: Array,
    sums: Array,
    powers: Array,
    first: Array,
    rows: Array,
    spare: Array,
    start: Any,
) -> None:
    low = 0
    while low < rows.size:
        high = low + 1
        while high < rows.size and not first[high]:
            high += 1
        if high - low > 1:
            _sort_members(text, positions, sums, powers, rows, spare, low, high, start)
        low = high


@kernel
def _unproved(
    text: Array, positions: Array, opens: Array, rows: Array, first: Array, ranks: Array, start: Any
) -> Any:
    """Count the neighbours whose order does not follow from their bytes or from the order of the seeds after them."""
    for r in range(rows.size):
        ranks[rows[r]] = r
    group = np.zeros(rows.size, dtype=np.uint32)
    for r in range(1, rows.size):
        group[r] = group[r - 1] + np.uint32(first[r])
    n = 0
    for r in range(1, rows.size):
        if first[r]:
            continue
        order = _compare_right(text, positions[rows[r - 1]] + start, positions[rows[r]] + start, NEAR)
        if order != 2:
            n += order > 0
            continue
        a, b = rows[r - 1] + 1, rows[r] + 1
        together = not opens[a] and not opens[b] and group[ranks[a]] == group[ranks[b]]
        # A group's left context reaches back to the seed before, so equal distance means equal text between.
        if together and positions[a] - positions[a - 1] == positions[b] - positions[b - 1]:
            n += ranks[a] > ranks[b]
        else:
            n += _compare_right(text, positions[a - 1], positions[b - 1], text.size) > 0
    return n


def order_seeds(
    text: Array, starts: Array, seeds: Seeds, hashes: Array, layout: Layout
) -> tuple[Array, Array]:
    """Sort seeds by hash, bytes, left context and following text.

    Args:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        seeds: what was chosen.
        hashes: uint64[n], the seeds' hashes.
        layout: seed length and gap.

    Returns:
        Rows (int64[n], indices into the seeds in sorted order); whether each row is the first of its group.

    Raises:
        RuntimeError: the order could not be proved (two different texts with one hash: choose another MULTIPLIER).
    """
    positions, words = seeds.positions, layout.words
    # High bits of the hash and the number of the seed share one word: plain words are what numpy sorts best.
    bits = np.uint64(max(1, int(positions.size).bit_length()))
    packed = hashes >> bits << bits
    packed |= np.arange(positions.size, dtype=np.uint64)
    packed.sort()
    rows = np.empty(positions.size, dtype=np.int64)
    first = np.zeros(positions.size, dtype=np.bool_)
    largest = _group(text, hashes, positions, seeds.lefts, packed, bits, words, rows, first)
    del packed
    sums, powers = np.empty(positions.size + 1, dtype=np.uint64), np.empty(LEVELS, dtype=np.uint64)
    opens = np.empty(positions.size + 1, dtype=np.bool_)
    _chain(text, positions, starts, opens, sums, powers)
    spare = np.empty(largest, dtype=np.int64)
    _sort_all_members(text, positions, sums, powers, first, rows, spare, layout.seed_bytes)
    del sums, spare
    if _unproved(
        text, positions, opens, rows, first, np.empty(rows.size, dtype=np.uint32), layout.seed_bytes
    ):
        raise RuntimeError("the order of equal seeds could not be proved")
    return rows, first
