"""Sorts seeds into groups of equal left context and seed.

A group is what look-up works on: its members match a text equally far to the left. `members.py` then sorts them by
the text that follows, so that the one that matches furthest to the right is found by bisection.
"""

from typing import Any, NamedTuple

import numpy as np

from index.chains import ALONE, SMALL
from index.jit import Array, kernel, load64, plain_kernel, zero_bytes
from index.layout import DOCUMENT_MARK, Layout
from index.nodes import SAME_HASH
from index.seeds import MULTIPLIER, Seeds, seed_hash
from index.threads import side_by_side

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
    """What seeds of nearly equal hash are grouped by: their text (`words` words each), positions, left contexts."""

    text: Array
    positions: Array
    lefts: Array
    words: Any


@plain_kernel
def _compare_groups(s: _Seeds, a: Any, b: Any) -> Any:
    """Order two seeds by bytes and left context; 0 where both belong to one group."""
    order = _compare_seeds(s.text, s.positions[a], s.positions[b], s.words)
    if order == 0:
        order = _compare_left(s.text, s.positions[a], s.positions[b], min(s.lefts[a], s.lefts[b]))
    if order == 0 and s.lefts[a] != s.lefts[b]:
        return -1 if s.lefts[a] < s.lefts[b] else 1
    return order


@plain_kernel
def _sort_groups(s: _Seeds, rows: Array, first: Array, low: Any, high: Any, stack: Array) -> None:
    """Sort rows of nearly equal hash by group, and mark the first row of each group in `first`.

    There are few groups and many rows in each, so equal ones are set aside at once.
    """
    depth = 0
    while True:
        while high - low > SMALL:
            below, above = _partition(s, rows, low, high)
            first[below] = SAME_HASH
            # The larger side waits, so that few do.
            if below - low > high - above:
                stack[depth, 0], stack[depth, 1] = low, below
                low = above
            else:
                stack[depth, 0], stack[depth, 1] = above, high
                high = below
            depth += 1
        _insert(s, rows, first, low, high)
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
def _insert(s: _Seeds, rows: Array, first: Array, low: Any, high: Any) -> None:
    """Sort few rows by group, and mark the first of each group."""
    for r in range(low, high):
        row = rows[r]
        at, order = r, 1
        while at > low:
            order = _compare_groups(s, row, rows[at - 1])
            if order >= 0:
                break
            rows[at], first[at] = rows[at - 1], first[at - 1]
            at -= 1
        rows[at] = row
        # What is put in front of a group's rows begins another; among them only the first has a mark, which stays.
        first[at] = SAME_HASH if order != 0 else 0


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


@plain_kernel
def _share_of(h: Any, shares: Any) -> Any:
    """Which of some equal shares of all hashes holds one."""
    return np.int64(((h >> np.uint64(32)) * np.uint64(shares)) >> np.uint64(32))


@kernel
def _count_shares(text: Array, positions: Array, words: Any, out: Array) -> None:
    """Count the seeds whose hash lies in each of `out.size` equal shares of all hashes."""
    for j in range(positions.size):
        out[_share_of(seed_hash(text, positions[j], words), out.size)] += 1


@kernel
def _pack(
    text: Array, positions: Array, words: Any, before: Any, bits: Any, places: Array, packed: Array
) -> None:
    """Put the high bits of each seed's hash and its number into one word, from its share's next place on."""
    for j in range(positions.size):
        h = seed_hash(text, positions[j], words)
        share = _share_of(h, places.size)
        packed[places[share]] = (h >> bits << bits) | np.uint64(before + j)
        places[share] += 1


@plain_kernel
def _note_places(rows: Array, first: Array, low: Any, high: Any, before: Any, places: Array) -> Any:
    """Note where the seeds of some groups are; `before` rows are other threads'. Return the largest group's size."""
    largest = 0
    begin = low
    for end in range(low + 1, high + 1):
        if end == high or first[end]:
            for r in range(begin, end):
                places[rows[r], 0] = before + begin
                places[rows[r], 1] = before + r if end - begin > 1 else ALONE
            largest = max(largest, end - begin)
            begin = end
    return largest


@kernel
def _group(s: _Seeds, packed: Array, bits: Any, rows: Array, first: Array, places: Array, before: Any) -> Any:
    """Turn sorted packed words into rows sorted by group; mark each group's first, and note where its seeds are.

    The mark says whether the hash begins like that of the row before. Other rows have 0.

    Returns:
        The largest group's size, and a sum that keeps the reading ahead from being optimised away.
    """
    stack = np.empty((64, 2), dtype=np.int64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    n = packed.size
    for r in range(n):
        rows[r] = np.uint32(packed[r] & mask)
    largest = 1
    low = fetched = 0
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
            _sort_groups(s, rows, first, low, high, stack)
            largest = max(largest, _note_places(rows, first, low, high, before, places))
        first[low] = NEW_HASH
        low = high
    return largest, touched


@kernel
def _close_up(packed: Array, bits: Any, first: Array) -> Any:
    """Move the hashes of the groups, low bits cleared, to the front; return how many there are."""
    group = 0
    for r in range(first.size):
        if first[r]:
            packed[group] = packed[r] >> bits << bits
            group += 1
    return group


class Groups(NamedTuple):
    """Seeds sorted by group.

    Attributes:
        rows: uint32[n], indices into the seeds, by hash, seed bytes and left context.
        first: uint8[n], 0 but for each group's first row.
        places: uint32[n, 2], the first row of each seed's group, or `ALONE` where no other hash begins like its own;
            and its own row, or `ALONE` in a group of one.
        largest: rows of the largest group.
        hashes: uint64[g], the high bits of each group's hash; the others are 0.
        hash_bits: how many high bits.
        scratch: uint64[n + 1], the memory behind `hashes`, to be used again: memory never used before is slow to get.
    """

    rows: Array
    first: Array
    places: Array
    largest: int
    hashes: Array
    hash_bits: int
    scratch: Array


def group_seeds(text: Array, seeds: Seeds, layout: Layout, threads: int) -> Groups:
    """Sort seeds by hash, bytes and left context.

    Args:
        text: uint8, documents between document marks.
        seeds: what was chosen.
        layout: seed length and gap.
        threads: how many share the work.
    """
    positions, size = seeds.positions, seeds.positions.size
    bits = np.uint64(max(1, size.bit_length()))
    scratch = np.empty(size + 1, dtype=np.uint64)
    shares = _packed_by_share(text, positions, layout, bits, scratch, threads)
    rows = np.empty(size, dtype=np.uint32)
    first = np.zeros(size, dtype=np.uint8)
    places = np.full((size, 2), ALONE)
    sorted_by = _Seeds(text, positions, seeds.lefts, layout.words)

    def group(begin: Any, end: Any) -> int:
        packed = scratch[begin:end]
        packed.sort()  # plain words are what numpy sorts best
        here = slice(begin, end)
        return int(_group(sorted_by, packed, bits, rows[here], first[here], places, begin)[0])

    largest = max(side_by_side(group, shares[:-1], shares[1:]))
    count = _close_up(scratch[:size], bits, first)
    return Groups(rows, first, places, largest, scratch[:count], 64 - int(bits), scratch)


def _packed_by_share(
    text: Array, positions: Array, layout: Layout, bits: Any, packed: Array, threads: int
) -> Array:
    """Pack the seeds, those of each share of the hashes together; int64[t + 1], where each share begins."""
    cuts = np.linspace(0, positions.size, threads + 1, dtype=np.int64)
    counts = np.zeros((threads, threads), dtype=np.int64)
    # Hashing again is cheaper than keeping the hashes.
    side_by_side(
        lambda a, b, out: _count_shares(text, positions[a:b], layout.words, out), cuts[:-1], cuts[1:], counts
    )
    places = np.concatenate([[0], np.cumsum(counts.T)])
    shares = places[::threads].copy()
    side_by_side(
        lambda a, b, out: _pack(text, positions[a:b], layout.words, a, bits, out, packed),
        cuts[:-1],
        cuts[1:],
        np.ascontiguousarray(places[:-1].reshape(threads, threads).T),
    )
    return shares
