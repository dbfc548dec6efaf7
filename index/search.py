"""Kernels that look texts up in one segment. Knows nothing of files, ids or the merging of segments.

Texts lie in one buffer between query marks (see `query.py`). The argument everything rests on: an occurrence
of at least `min_bytes` bytes holds a first seed, less than `gap` bytes into it. A group whose left context
matches to its end has an earlier seed inside every match, so it can be passed over; any other group matches
exactly as far to the left as each of its members, and its members are sorted by what follows, so the furthest one
is found by bisection. What lies inside a periodic run has no seeds and is left to `runs.py`.

Inside a range that is found nothing more needs to be looked up, provided that no match goes on beyond its end; one
look-up of the `min_bytes` bytes around that end says so.
"""

from typing import Any, NamedTuple

import numpy as np

from index.groups import (
    Tables,
    first_posting,
    furthest_right,
    groups_at,
    left_of,
    look_ahead,
    narrow,
    node_of,
    rows_between,
    same_seed,
    survivors,
)
from index.jit import Array, common_right, kernel, plain_kernel
from index.seeds import period_of

BLOCK = 1024


class Found(NamedTuple):
    """How many ranges are written, and the bounds of the one that ends furthest."""

    count: Any
    begin: Any
    end: Any


@kernel
def find_ranges(
    t: Tables, query: Array, first: Any, last: Any, min_bytes: Any, begins: Array, ends: Array
) -> Any:
    """Write ranges of the query that stand in the segment; all maximal ones are among them but those in runs.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    places, lows, highs = (
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK, dtype=np.int64),
    )
    hashes = np.empty(BLOCK, dtype=np.uint64)
    end = last - 8 * t.layout[1] + 1
    found = Found(np.int64(0), np.int64(0), np.int64(0))
    block = done = np.int64(first)
    asked = np.int64(0)
    while block < end:
        count = survivors(t, query, block, min(block + BLOCK, end), places, hashes)
        look_ahead(t, hashes, count, lows, highs)
        for s in range(count):
            if places[s] < done or lows[s] == highs[s]:
                continue
            if found.end != asked and _may_pass_over(t, query, places[s], found):
                asked = found.end
                if not _stands(t, query, found.end + 1 - t.layout[0]):
                    done = found.end + 2 - t.layout[0]
                    continue
            found = _find_at(t, query, places[s], lows[s], highs[s], min_bytes, begins, ends, found)
        block = max(block + BLOCK, done)
    return found.count


@plain_kernel
def _may_pass_over(t: Tables, query: Array, i: Any, found: Found) -> Any:
    """Say whether a place lies so that it adds nothing to the furthest range unless a match goes on beyond that."""
    least, words, longest_period = t.layout
    crossing = found.end + 1 - least
    # What begins before the range has its first seed less than a gap behind it,
    if i >= crossing or i <= found.begin + least - 8 * words - 1:
        return False
    # but for runs: one that covers the range's start may end anywhere, and one at its end holds no seed.
    return not (
        period_of(query, found.begin, 8 * words, longest_period)
        or period_of(query, crossing, least, longest_period)
    )


@plain_kernel
def _stands(t: Tables, query: Array, first: Any) -> Any:
    """Say whether the `min_bytes` bytes from `first` on, no run, stand in the segment."""
    least, words, _ = t.layout
    last = first + least
    for i in range(first, last - 8 * words + 1):
        at = i + 8 * words
        low, high = groups_at(t, query, i, i - first)
        node = node_of(t, low, high)
        if node >= 0:
            rows = (t.node_bounds[node], t.node_bounds[node + 1])
            if furthest_right(t, t.node_postings, rows[0], rows[1], query, at)[0] >= last - at:
                return True
            continue
        for g in range(low, high):
            rows = (np.int64(t.groups[g]), np.int64(t.groups[g + 1]))
            if furthest_right(t, t.postings, rows[0], rows[1], query, at)[0] >= last - at:
                return True
    return False


@plain_kernel
def _find_at(
    t: Tables,
    query: Array,
    i: Any,
    low: Any,
    high: Any,
    min_bytes: Any,
    begins: Array,
    ends: Array,
    found: Found,
) -> Any:
    """Write the ranges whose first seed may stand at a place; return what is found now."""
    gap = t.layout[0] - 8 * t.layout[1] + 1
    low, high = same_seed(t, low, high, query, i)
    node = node_of(t, low, high)
    while node >= 0:
        rows = (t.node_bounds[node], t.node_bounds[node + 1])
        found, left = _consider(t, t.node_postings, rows, query, i, min_bytes, begins, ends, found)
        low, high = _further_left(t, low, high, query, i, left)
        node = node_of(t, low, high) if left < gap else np.int64(-1)
    for g in range(low, high):
        t.work[0] += 1
        left = left_of(t, first_posting(t, g), query, i)
        rows = (np.int64(t.groups[g]), np.int64(t.groups[g + 1]))
        if left >= 0 and not _lies_in(t, rows, query, i, left, found):
            found, _ = _consider(t, t.postings, rows, query, i, min_bytes, begins, ends, found)
    return found


@plain_kernel
def _lies_in(t: Tables, rows: Any, query: Array, i: Any, left: Any, found: Found) -> Any:
    """Say whether a group's only member cannot match beyond the furthest range, which begins no later."""
    at = i + 8 * t.layout[1]
    if rows[1] - rows[0] > 1 or found.begin > i - left or found.end < at:
        return False
    where = np.int64(t.postings[rows[0]]) + found.end - i
    # A longer match agrees where the furthest range ends; beyond the text there is nothing to agree with.
    return where >= t.text.size or t.text[where] != query[found.end]


@plain_kernel
def _further_left(t: Tables, low: Any, high: Any, query: Array, i: Any, left: Any) -> Any:
    """Narrow groups down to those that may match further to the left than the furthest match to the right does."""
    if left < 0:
        # That match began before this seed: nothing here goes beyond it on either side.
        return low, low
    gap = t.layout[0] - 8 * t.layout[1] + 1
    return narrow(t, low, high, query, i, min(left + 1, gap))


@plain_kernel
def _consider(
    t: Tables,
    postings: Array,
    rows: Any,
    query: Array,
    i: Any,
    min_bytes: Any,
    begins: Array,
    ends: Array,
    found: Found,
) -> Any:
    """Write the range of the row that matches furthest to the right; return what is found and how far left it is."""
    at = i + 8 * t.layout[1]
    right, where = furthest_right(t, postings, rows[0], rows[1], query, at)
    left = left_of(t, where, query, i)
    if left < 0 or left + at - i + right < min_bytes:
        return found, left
    if found.count < begins.size:
        begins[found.count] = i - left
        ends[found.count] = at + right
    if at + right > found.end:
        return Found(found.count + 1, i - left, at + right), left
    return Found(found.count + 1, found.begin, found.end), left


@plain_kernel
def find_alignments(
    t: Tables, query: Array, first: Any, last: Any, min_bytes: Any, where: Array, begins: Array, ends: Array
) -> Any:
    """Write every occurrence of every piece of the query of at least `min_bytes`, each at its full length.

    Those that lie in runs are left out. An alignment may be written twice. `where` is the text position that faces
    `begins`.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    n = 0
    gap = t.layout[0] - 8 * t.layout[1] + 1
    for i in range(first, last - 8 * t.layout[1] + 1):
        low, high = groups_at(t, query, i, np.int64(0))
        node = node_of(t, low, high)
        if node >= 0:
            rows = (t.node_bounds[node], t.node_bounds[node + 1])
            n = _align(t, t.node_postings, rows, gap - 1, query, i, last, min_bytes, where, begins, ends, n)
            # What reaches further left than the gap stands behind a run: few groups, and the same ones again.
            low, high = narrow(t, low, high, query, i, gap)
        for g in range(low, high):
            t.work[0] += 1
            left = left_of(t, first_posting(t, g), query, i)
            if left >= 0:
                rows = (np.int64(t.groups[g]), np.int64(t.groups[g + 1]))
                n = _align(t, t.postings, rows, left, query, i, last, min_bytes, where, begins, ends, n)
    return n


@plain_kernel
def _align(
    t: Tables, postings: Array, rows: Any, left: Any, query: Array, i: Any, last: Any, min_bytes: Any, where: Array,
    begins: Array, ends: Array, n: Any,
) -> Any:  # fmt: skip
    """Write the alignments of rows that match at most `left` bytes before the seed, and are long enough."""
    at = i + 8 * t.layout[1]
    needed = max(min_bytes - left - 8 * t.layout[1], 0)
    if at + needed > last:
        return n
    low, high = rows_between(t, postings, rows[0], rows[1], query, at, needed)
    for r in range(low, high):
        q = np.int64(postings[r])
        t.work[0] += 1
        left = left_of(t, q, query, i)
        right = common_right(t.text, q + 8 * t.layout[1], query, at)
        t.work[1] += right
        if left < 0 or left + at - i + right < min_bytes:
            continue
        if n < begins.size:
            where[n] = q - left
            begins[n] = i - left
            ends[n] = at + right
        n += 1
    return n
