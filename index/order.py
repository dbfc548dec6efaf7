"""Sorts seeds into groups of equal left context and seed, and each group by the text that follows.

A group is what look-up works on: its members match a text equally far to the left, and the member that matches
furthest to the right is found by bisection.

`chains.py` compares members by hashes. That their order is right is then proved without: neighbours in a group are
followed by seeds that are in order in theirs, or differ before those.
"""

from typing import Any, NamedTuple

import numpy as np

from index.chains import LEVELS, NEAR, SMALL, Chain, chain_of, compare_right, sort_members
from index.jit import Array, kernel, load64, plain_kernel
from index.layout import DOCUMENT_MARK, Layout
from index.nodes import build_nodes
from index.seeds import Seeds

AHEAD = 2048


@plain_kernel
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


@plain_kernel
def _compare_seeds(text: Array, i: Any, j: Any, words: Any) -> Any:
    """Order two seeds by their bytes (as words: any fixed order will do)."""
    for w in range(words):
        a = load64(text, i + 8 * w)
        b = load64(text, j + 8 * w)
        if a != b:
            return -1 if a < b else 1
    return 0


@plain_kernel
def _compare_groups(
    text: Array, hashes: Array, positions: Array, lefts: Array, a: Any, b: Any, words: Any
) -> Any:
    """Order two seeds by hash, bytes and left context; 0 where both belong to one group."""
    if hashes[a] != hashes[b]:
        return -1 if hashes[a] < hashes[b] else 1
    order = _compare_seeds(text, positions[a], positions[b], words)
    if order == 0:
        order = _compare_left(text, positions[a], positions[b], min(lefts[a], lefts[b]))
    if order == 0 and lefts[a] != lefts[b]:
        return -1 if lefts[a] < lefts[b] else 1
    return order


@plain_kernel
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


@plain_kernel
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


@plain_kernel
def _group_before(
    text: Array, hashes: Array, positions: Array, lefts: Array, a: Any, b: Any, words: Any
) -> Any:
    order = _compare_groups(text, hashes, positions, lefts, a, b, words)
    return order < 0 or (order == 0 and a < b)


@plain_kernel
def _fetch(
    text: Array, hashes: Array, positions: Array, lefts: Array, packed: Array, bits: Any, rows: Array, low: Any,
    high: Any,
) -> Any:  # fmt: skip
    """Read what comparing rows will read, so that the cache misses of many rows overlap; the sum is of no use."""
    touched = np.uint64(0)
    for r in range(low, high):
        prefix = packed[r] >> bits
        if packed[max(r - 1, 0)] >> bits == prefix or packed[min(r + 1, packed.size - 1)] >> bits == prefix:
            j = rows[r]
            at = positions[j]
            touched += hashes[j] + np.uint64(lefts[j]) + np.uint64(text[at - 1]) + np.uint64(text[at + 24])
    return touched


@kernel
def _group(
    text: Array, hashes: Array, positions: Array, lefts: Array, packed: Array, bits: Any, words: Any, rows: Array,
    first: Array,
) -> Any:  # fmt: skip
    """Turn sorted packed words into rows sorted by group; mark each group's first.

    Returns:
        The largest group's size, and a sum that keeps the reading ahead from being optimised away.
    """
    mask = (np.uint64(1) << bits) - np.uint64(1)
    n = packed.size
    for r in range(n):
        rows[r] = np.uint32(packed[r] & mask)
    largest = low = fetched = 0
    touched = np.uint64(0)
    while low < n:
        if low >= fetched:
            fetched = min(low + AHEAD, n)
            touched += _fetch(text, hashes, positions, lefts, packed, bits, rows, low, fetched)
        high = low + 1
        prefix = packed[low] >> bits
        while high < n and packed[high] >> bits == prefix:
            high += 1
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
    return largest, touched


@plain_kernel
def _fetch_following(
    text: Array, positions: Array, rows: Array, first: Array, low: Any, high: Any, start: Any
) -> Any:
    """Read what comparing members will read first, as `_fetch` does."""
    touched = np.uint64(0)
    for r in range(low, high):
        if not first[r] or (r + 1 < rows.size and not first[r + 1]):
            at = positions[rows[r]] + start
            touched += np.uint64(text[at]) + np.uint64(text[min(at + 64, text.size - 1)])
    return touched


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
) -> Any:
    low = fetched = 0
    touched = np.uint64(0)
    while low < rows.size:
        if low >= fetched:
            fetched = min(low + AHEAD, rows.size)
            touched += _fetch_following(text, positions, rows, first, low, fetched, start)
        high = low + 1
        while high < rows.size and not first[high]:
            high += 1
        if high - low > 1:
            sort_members(text, positions, sums, powers, rows, spare, low, high, start)
        low = high
    return touched


@kernel
def _unproved(
    text: Array,
    positions: Array,
    opens: Array,
    rows: Array,
    first: Array,
    ranks: Array,
    groups: Array,
    start: Any,
) -> Any:
    """Count the neighbours whose order does not follow from their bytes or from the order of the seeds after them."""
    group = -1
    for r in range(rows.size):
        group += first[r]
        ranks[rows[r]] = r
        groups[rows[r]] = group
    n = 0
    touched = np.uint64(0)
    for r in range(1, rows.size):
        if r % AHEAD == 1:
            touched += _fetch_following(text, positions, rows, first, r, min(r + AHEAD, rows.size), start)
        if first[r]:
            continue
        order = compare_right(text, positions[rows[r - 1]] + start, positions[rows[r]] + start, NEAR)
        if order != 2:
            n += order > 0
            continue
        a, b = rows[r - 1] + 1, rows[r] + 1
        together = not opens[a] and not opens[b] and groups[a] == groups[b]
        # A group's left context reaches back to the seed before, so equal distance means equal text between.
        if together and positions[a] - positions[a - 1] == positions[b] - positions[b - 1]:
            n += ranks[a] > ranks[b]
        else:
            n += compare_right(text, positions[a - 1], positions[b - 1], text.size) > 0
    return n, touched


class Order(NamedTuple):
    """Sorted seeds.

    Attributes:
        rows: uint32[n], indices into the seeds, by hash, seed bytes, left context and following text.
        first: bool[n], whether each row is the first of its group.
        nodes: int64[m, 2], first and one past the last group of each node (see `nodes.py`).
        node_bounds: int64[m + 1], where each node's rows begin.
        node_rows: uint32[], each node's rows by following text, whatever their left context.
    """

    rows: Array
    first: Array
    nodes: Array
    node_bounds: Array
    node_rows: Array


def order_seeds(text: Array, starts: Array, seeds: Seeds, hashes: Array, layout: Layout) -> Order:
    """Sort seeds by hash, bytes, left context and following text.

    Args:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        seeds: what was chosen.
        hashes: uint64[n], the seeds' hashes.
        layout: seed length and gap.

    Raises:
        RuntimeError: the order could not be proved (two different texts with one hash: choose another MULTIPLIER).
    """
    positions, words = seeds.positions, layout.words
    # High bits of the hash and the number of the seed share one word: plain words are what numpy sorts best.
    bits = np.uint64(max(1, int(positions.size).bit_length()))
    packed = hashes >> bits << bits
    packed |= np.arange(positions.size, dtype=np.uint64)
    packed.sort()
    rows = np.empty(positions.size, dtype=np.uint32)
    first = np.zeros(positions.size, dtype=np.bool_)
    largest, _ = _group(text, hashes, positions, seeds.lefts, packed, bits, words, rows, first)
    del packed
    chain = Chain(np.empty(positions.size + 1, dtype=np.uint64), np.empty(LEVELS, dtype=np.uint64))
    opens = np.empty(positions.size + 1, dtype=np.bool_)
    chain_of(text, positions, starts, opens, *chain)
    spare = np.empty(largest, dtype=np.uint32)
    _sort_all_members(text, positions, *chain, first, rows, spare, layout.seed_bytes)
    ranks, groups = np.empty(rows.size, dtype=np.uint32), np.empty(rows.size, dtype=np.uint32)
    wrong, _ = _unproved(text, positions, opens, rows, first, ranks, groups, layout.seed_bytes)
    if wrong:
        raise RuntimeError("the order of equal seeds could not be proved")
    nodes = build_nodes(text, positions, chain, rows, first, groups, layout)
    return Order(rows, first, *nodes)
