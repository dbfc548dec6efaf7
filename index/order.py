"""Sorts seeds into groups of equal left context and seed, and each group by the text that follows.

A group is what look-up works on: its members match a text equally far to the left, and the member that matches
furthest to the right is found by bisection.

`chains.py` compares members by hashes. That their order is right is then proved without: neighbours in a group are
followed by seeds that are in order in theirs, or differ before those.
"""

from typing import Any, NamedTuple

import numpy as np

from index.chains import LEVELS, SMALL, Chain, chain_of, out_of_order, sort_members
from index.jit import Array, kernel, load64, plain_kernel, zero_bytes
from index.layout import DOCUMENT_MARK, Layout
from index.nodes import SAME_HASH, build_nodes
from index.seeds import MULTIPLIER, Seeds

AHEAD = 2048
NEW_HASH = SAME_HASH + 1


@plain_kernel
def _compare_left(text: Array, i: Any, j: Any, length: Any) -> Any:
    """Order two positions by the `length` bytes before them, backwards, within their documents."""
    n = np.int64(0)
    while n < length and i - n >= 8 and j - n >= 8:
        a = load64(text, i - n - 8)
        b = load64(text, j - n - 8)
        # The byte nearest to the seed is a word's highest: words compare as the bytes do backwards.
        beyond = np.uint64(8 * max(np.int64(0), 8 - (length - n)))
        a, b = a >> beyond << beyond, b >> beyond << beyond
        marks = zero_bytes(~a | (a ^ b))
        if a != b or marks != np.uint64(0):
            # Where both have a mark before they differ, their documents end alike.
            return 0 if marks > a ^ b else (-1 if a < b else 1)
        n += 8
    return _compare_left_bytes(text, i - n, j - n, length - n)


@plain_kernel
def _compare_left_bytes(text: Array, i: Any, j: Any, length: Any) -> Any:
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


class _Seeds(NamedTuple):
    """What seeds are grouped by: their text (`words` words each), hashes, positions and left contexts."""

    text: Array
    hashes: Array
    positions: Array
    lefts: Array
    words: Any


@plain_kernel
def _compare_groups(s: _Seeds, a: Any, b: Any) -> Any:
    """Order two seeds by hash, bytes and left context; 0 where both belong to one group."""
    order = _compare_seeds(s.text, s.positions[a], s.positions[b], s.words)
    if order != 0 and s.hashes[a] != s.hashes[b]:
        return -1 if s.hashes[a] < s.hashes[b] else 1
    if order == 0:
        order = _compare_left(s.text, s.positions[a], s.positions[b], min(s.lefts[a], s.lefts[b]))
    if order == 0 and s.lefts[a] != s.lefts[b]:
        return -1 if s.lefts[a] < s.lefts[b] else 1
    return order


@plain_kernel
def _sort_groups(s: _Seeds, rows: Array, low: Any, high: Any, stack: Array) -> None:
    """Sort rows of nearly equal hash by group: few groups, many rows in each, so equal ones are set aside at once."""
    depth = 0
    while True:
        while high - low > SMALL:
            below, above = _partition(s, rows, low, high)
            # The larger side waits, so that few do.
            if below - low > high - above:
                stack[depth, 0], stack[depth, 1] = low, below
                low = above
            else:
                stack[depth, 0], stack[depth, 1] = above, high
                high = below
            depth += 1
        _insert(s, rows, low, high)
        if depth == 0:
            return
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]


@plain_kernel
def _partition(s: _Seeds, rows: Array, low: Any, high: Any) -> Any:
    """Bring rows below, of and above the group of one of them together; return where the second and third begin."""
    size = high - low
    pivot = rows[low + np.int64((np.uint64(size) * MULTIPLIER) >> np.uint64(33)) % size]
    below, r, above = low, low, high
    while r < above:
        row = rows[r]
        order = _compare_groups(s, row, pivot)
        if order < 0:
            rows[r], rows[below] = rows[below], row
            below += 1
            r += 1
        elif order > 0:
            above -= 1
            rows[r], rows[above] = rows[above], row
        else:
            r += 1
    return below, above


@plain_kernel
def _insert(s: _Seeds, rows: Array, low: Any, high: Any) -> None:
    for r in range(low + 1, high):
        row = rows[r]
        at = r
        while at > low and _compare_groups(s, row, rows[at - 1]) < 0:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row


@plain_kernel
def _fetch(s: _Seeds, packed: Array, bits: Any, rows: Array, low: Any, high: Any) -> Any:
    """Read what comparing rows will read, so that the cache misses of many rows overlap; the sum is of no use."""
    touched = np.uint64(0)
    for r in range(low, high):
        prefix = packed[r] >> bits
        if packed[max(r - 1, 0)] >> bits == prefix or packed[min(r + 1, packed.size - 1)] >> bits == prefix:
            at = s.positions[rows[r]]
            touched += np.uint64(s.lefts[rows[r]]) + np.uint64(s.text[at - 1]) + np.uint64(s.text[at + 24])
    return touched


@kernel
def _pack(hashes: Array, bits: Any, packed: Array) -> None:
    """Put the high bits of each hash and the number of its seed into one word."""
    for j in range(hashes.size):
        packed[j] = (hashes[j] >> bits << bits) | np.uint64(j)


@kernel
def _group(s: _Seeds, packed: Array, bits: Any, rows: Array, first: Array, places: Array) -> Any:
    """Turn sorted packed words into rows sorted by group; mark each group's first, and note where each seed is.

    The mark says whether the hash begins like that of the row before. Other rows have 0.

    Returns:
        The number of groups, the largest one's size, and a sum that keeps the reading ahead from being optimised
        away.
    """
    stack = np.empty((64, 2), dtype=np.int64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    n = packed.size
    for r in range(n):
        rows[r] = np.uint32(packed[r] & mask)
    largest = low = fetched = 0
    group = np.int64(-1)
    touched = np.uint64(0)
    while low < n:
        if low >= fetched:
            fetched = min(low + AHEAD, n)
            touched += _fetch(s, packed, bits, rows, low, fetched)
        high = low + 1
        prefix = packed[low] >> bits
        while high < n and packed[high] >> bits == prefix:
            high += 1
        if high - low > 1:
            _sort_groups(s, rows, low, high, stack)
        begin = low
        first[low] = NEW_HASH
        for r in range(low, high):
            if r > low and _compare_groups(s, rows[r - 1], rows[r]) != 0:
                first[r] = SAME_HASH
                largest = max(largest, r - begin)
                begin = r
            group += first[r] > 0
            places[rows[r], 0], places[rows[r], 1] = group, r
        largest = max(largest, high - begin)
        low = high
    return group + 1, largest, touched


@kernel
def _fill_bounds(first: Array, bounds: Array) -> None:
    group = 0
    for r in range(first.size):
        if first[r]:
            bounds[group] = r
            group += 1
    bounds[group] = first.size


@kernel
def _sort_all_members(
    text: Array, positions: Array, chain: Chain, bounds: Array, rows: Array, spare: Array, start: Any
) -> None:
    """Sort each group when its last member in the text is met, from the end: what follows that one is settled then."""
    for j in range(positions.size - 1, -1, -1):
        group = chain.places[j, 0]
        low, high = bounds[group], bounds[group + 1]
        if high - low > 1 and not chain.settled[group]:
            sort_members(text, positions, chain, rows, spare, low, high, start)
            for r in range(low, high):
                chain.places[rows[r], 1] = r
            chain.settled[group] = True


@kernel
def _unproved(text: Array, positions: Array, chain: Chain, rows: Array, first: Array, start: Any) -> Any:
    """Count the neighbours in a group whose order cannot be proved."""
    n = 0
    for r in range(1, rows.size):
        if not first[r]:
            n += out_of_order(text, positions, chain, rows[r - 1], rows[r], start)
    return n


class Order(NamedTuple):
    """Sorted seeds.

    Attributes:
        rows: uint32[n], indices into the seeds, by hash, seed bytes, left context and following text.
        bounds: int64[g + 1], where each group's rows begin.
        nodes: int64[m, 2], first and one past the last group of each node (see `nodes.py`).
        node_bounds: int64[m + 1], where each node's rows begin.
        node_rows: uint32[], each node's rows by following text, whatever their left context.
    """

    rows: Array
    bounds: Array
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
    positions = seeds.positions
    # Plain words are what numpy sorts best. Nothing is made twice here: memory that was never used is slow to get.
    bits = np.uint64(max(1, int(positions.size).bit_length()))
    packed = np.empty(positions.size, dtype=np.uint64)
    _pack(hashes, bits, packed)
    packed.sort()
    rows = np.empty(positions.size, dtype=np.uint32)
    first = np.zeros(positions.size, dtype=np.uint8)
    places = np.empty((positions.size, 2), dtype=np.uint32)
    sorted_by = _Seeds(text, hashes, positions, seeds.lefts, layout.words)
    groups, largest, _ = _group(sorted_by, packed, bits, rows, first, places)
    del packed
    bounds = np.empty(groups + 1, dtype=np.int64)
    _fill_bounds(first, bounds)
    chain = _new_chain(places, groups)
    chain_of(text, positions, starts, chain.opens, chain.sums, chain.powers)
    spare = np.empty(largest, dtype=np.uint32)
    _sort_all_members(text, positions, chain, bounds, rows, spare, layout.seed_bytes)
    if _unproved(text, positions, chain, rows, first, layout.seed_bytes):
        raise RuntimeError("the order of equal seeds could not be proved")
    nodes = build_nodes(text, positions, chain, rows, first, bounds, layout)
    return Order(rows, bounds, *nodes)


def _new_chain(places: Array, groups: int) -> Chain:
    seeds = places.shape[0]
    return Chain(
        sums=np.empty(seeds + 1, dtype=np.uint64),
        powers=np.empty(LEVELS, dtype=np.uint64),
        opens=np.empty(seeds + 1, dtype=np.bool_),
        places=places,
        settled=np.zeros(groups, dtype=np.bool_),
    )
