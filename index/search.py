"""Kernels that look texts up in one segment. Knows nothing of files, ids or the merging of segments.

Texts lie in one buffer between query marks (see `query.py`). The argument everything rests on: an occurrence
of at least `min_bytes` bytes holds a first seed, less than `gap` bytes into it. A group whose left context
matches to its end has an earlier seed inside every match, so it can be passed over; any other group matches
exactly as far to the left as each of its members, and its members are sorted by what follows, so the furthest one
is found by bisection. What lies inside a periodic run has no seeds and is left to `runs.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import Array, common_left, common_right, kernel, same_words
from index.runs import RunTables, count_periodic, periodic_prefix
from index.seeds import seed_hash


class Tables(NamedTuple):
    """The arrays of a segment that kernels read.

    Attributes:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        copies: int64[d + 1], number of records before each document's.
        keys: uint16[g], bits of each group's hash that follow the bucket's, ascending inside a bucket.
        groups: [g + 1], where each group's postings begin, doubled; odd if its left context is longer than the gap.
        edges: int64[e, 2], position and left context of the first posting of each such group, ascending.
        postings: [n], seed positions, grouped, sorted by following text inside a group.
        buckets: [b + 1], where the groups of each hash prefix begin.
        bucket_shift: uint64, how far a hash is shifted to give its bucket.
        bitmap: uint64, one bit for each longer hash prefix that occurs.
        bitmap_shift: uint64.
        layout: shortest match, words in a seed, longest period of a run.
        runs: the periodic runs, which hold no seeds.
        work: int64[2], groups looked at and bytes compared so far: what a look-up costs.
    """

    text: Array
    starts: Array
    copies: Array
    keys: Array
    groups: Array
    edges: Array
    postings: Array
    buckets: Array
    bucket_shift: Any
    bitmap: Array
    bitmap_shift: Any
    layout: Any
    runs: RunTables
    work: Array


@kernel
def _may_occur(t: Tables, h: Any) -> Any:
    bit = h >> t.bitmap_shift
    return (t.bitmap[np.int64(bit >> np.uint64(6))] >> (bit & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@kernel
def _groups_of(t: Tables, h: Any) -> Any:
    """The first and one past the last group that may have a hash."""
    bucket = np.int64(h >> t.bucket_shift)
    key = np.uint16((h >> (t.bucket_shift - np.uint64(16))) & np.uint64(0xFFFF))
    low = np.int64(t.buckets[bucket])
    end = np.int64(t.buckets[bucket + 1])
    high = end
    while low < high:
        middle = (low + high) >> 1
        if t.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    high = low
    while high < end and t.keys[high] == key:
        high += 1
    return low, high


@kernel
def _rows_of(t: Tables, g: Any) -> Any:
    """The first and one past the last posting of a group."""
    return np.int64(t.groups[g]) >> 1, np.int64(t.groups[g + 1]) >> 1


@kernel
def _left_context(t: Tables, g: Any, q: Any) -> Any:
    """Length of a group's left context; `q` is its first posting."""
    least, words, _ = t.layout
    if np.int64(t.groups[g]) & 1 == 0:
        return least - 8 * words + 1
    low, high = np.int64(0), np.int64(t.edges.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if t.edges[middle, 0] < q:
            low = middle + 1
        else:
            high = middle
    return t.edges[low, 1]


@kernel
def _left_of_group(t: Tables, g: Any, query: Array, i: Any) -> Any:
    """How far a group matches to the left of a seed; -1 where the seed differs, or an earlier one is in the match."""
    q = np.int64(t.postings[np.int64(t.groups[g]) >> 1])
    t.work[0] += 1
    if not same_words(query, i, t.text, q, t.layout[1]):
        return np.int64(-1)
    context = _left_context(t, g, q)
    left = common_left(query, i, t.text, q, context)
    t.work[1] += left + 8 * t.layout[1]
    return left if left < context else np.int64(-1)


@kernel
def _furthest_right(t: Tables, g: Any, query: Array, at: Any) -> Any:
    """The longest match to the right of a seed that ends at `at`, over all members of a group."""
    low, high = _rows_of(t, g)
    low -= 1
    shared_low, shared_high, best = np.int64(0), np.int64(0), np.int64(0)
    while high - low > 1:
        middle = (low + high) >> 1
        row = np.int64(t.postings[middle]) + 8 * t.layout[1]
        # Neighbours on both sides share this much with the query, so everything between them does.
        known = min(shared_low, shared_high)
        length = known + common_right(t.text, row + known, query, at + known)
        t.work[1] += length - known
        best = max(best, length)
        if t.text[row + length] < query[at + length]:
            low, shared_low = middle, length
        else:
            high, shared_high = middle, length
    return best


@kernel
def _first_row(t: Tables, low: Any, high: Any, query: Array, at: Any, length: Any, after: Any) -> Any:
    """Find the first row whose text is not below `length` bytes of the query (`after`: is above them)."""
    low -= 1
    shared_low, shared_high = np.int64(0), np.int64(0)
    while high - low > 1:
        middle = (low + high) >> 1
        row = np.int64(t.postings[middle]) + 8 * t.layout[1]
        known = min(shared_low, shared_high)
        shared = known + common_right(t.text, row + known, query, at + known)
        t.work[1] += shared - known
        below = after if shared >= length else t.text[row + shared] < query[at + shared]
        shared = min(shared, length)
        if below:
            low, shared_low = middle, shared
        else:
            high, shared_high = middle, shared
    return high


@kernel
def find_ranges(
    t: Tables, query: Array, first: Any, last: Any, min_bytes: Any, begins: Array, ends: Array
) -> Any:
    """Write ranges of the query that stand in the segment; all maximal ones are among them.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    n = 0
    for i in range(first, last - 8 * t.layout[1] + 1):
        h = seed_hash(query, i, t.layout[1])
        if not _may_occur(t, h):
            continue
        low, high = _groups_of(t, h)
        for g in range(low, high):
            left = _left_of_group(t, g, query, i)
            if left < 0:
                continue
            end = i + 8 * t.layout[1] + _furthest_right(t, g, query, i + 8 * t.layout[1])
            if end - i + left < min_bytes:
                continue
            if n < begins.size:
                begins[n] = i - left
                ends[n] = end
            n += 1
    return n


@kernel
def find_alignments(
    t: Tables, query: Array, first: Any, last: Any, min_bytes: Any, where: Array, begins: Array, ends: Array
) -> Any:
    """Write every occurrence of every piece of the query of at least `min_bytes`, each at its full length.

    An alignment may be written twice. `where` is the text position that faces `begins`.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    n = 0
    for i in range(first, last - 8 * t.layout[1] + 1):
        h = seed_hash(query, i, t.layout[1])
        if not _may_occur(t, h):
            continue
        low, high = _groups_of(t, h)
        for g in range(low, high):
            left = _left_of_group(t, g, query, i)
            if left < 0:
                continue
            at = i + 8 * t.layout[1]
            needed = max(min_bytes - left - 8 * t.layout[1], 0)
            if at + needed > last:
                continue
            row, end = _rows_of(t, g)
            row = _first_row(t, row, end, query, at, needed, False)
            end = _first_row(t, row, end, query, at, needed, True)
            for r in range(row, end):
                q = np.int64(t.postings[r])
                if n < begins.size:
                    where[n] = q - left
                    begins[n] = i - left
                    right = common_right(t.text, q + 8 * t.layout[1], query, at)
                    t.work[1] += right
                    ends[n] = at + right
                n += 1
    return n


@kernel
def gather_occurrences(t: Tables, query: Array, first: Any, last: Any, out: Array) -> Any:
    """Write the position of every occurrence of `query[first:last]`, some twice; the text is no run throughout.

    Returns:
        How many there are; where that is more than fits, call again with a larger array.
    """
    least, words, longest_period = t.layout
    begin, end = first, min(first + least - 8 * words + 1, last - 8 * words + 1)
    period, length = periodic_prefix(query, first, longest_period, least)
    if period > 0:
        # All occurrences begin inside runs that end alike: their first seed is the one behind the run.
        begin = first + length - 8 * words + 1
        end = begin + 1
    n = 0
    for i in range(begin, end):
        h = seed_hash(query, i, words)
        if not _may_occur(t, h):
            continue
        low, high = _groups_of(t, h)
        for g in range(low, high):
            if _left_of_group(t, g, query, i) >= i - first:
                n = _gather_rows(t, g, query, i, first, last, out, n)
    return n


@kernel
def _gather_rows(t: Tables, g: Any, query: Array, i: Any, first: Any, last: Any, out: Array, n: Any) -> Any:
    at = i + 8 * t.layout[1]
    row, end = _rows_of(t, g)
    row = _first_row(t, row, end, query, at, last - at, False)
    end = _first_row(t, row, end, query, at, last - at, True)
    for r in range(row, end):
        if n < out.size:
            out[n] = np.int64(t.postings[r]) - (i - first)
        n += 1
    return n


@kernel
def document_of(starts: Array, position: Any, low: Any) -> Any:
    """The document that holds a position, not before document `low`."""
    high = starts.size - 1
    while low + 1 < high:
        middle = (low + high) >> 1
        if starts[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@kernel
def count_texts(
    t: Tables,
    query: Array,
    firsts: Array,
    lasts: Array,
    done: Any,
    room: Array,
    documents: Array,
    occurrences: Array,
) -> Any:
    """Add the counts of texts `done`.. to the totals, until all are counted or `room` is too small for one.

    Returns:
        The number of texts that are counted, and the room that the next one needs.
    """
    least, _, longest_period = t.layout
    for n in range(done, firsts.size):
        period, length = periodic_prefix(query, firsts[n], longest_period, least)
        if period > 0 and length >= lasts[n] - firsts[n]:
            length = lasts[n] - firsts[n]
            records, places, _ = count_periodic(t.runs, t.copies, query, firsts[n], length, period, room)
            documents[n] += records
            occurrences[n] += places
            continue
        found = gather_occurrences(t, query, firsts[n], lasts[n], room)
        if found > room.size:
            return n, found
        rows = np.sort(room[:found])
        document = np.int64(0)
        counted = np.int64(-1)
        for r in range(found):
            if r > 0 and rows[r] == rows[r - 1]:
                continue
            document = document_of(t.starts, rows[r], document)
            copies = t.copies[document + 1] - t.copies[document]
            occurrences[n] += copies
            if document != counted:
                documents[n] += copies
                counted = document
    return firsts.size, 0


@kernel
def find_documents(t: Tables, query: Array, first: Any, last: Any, out: Array) -> Any:
    """Write the documents that hold `query[first:last]`, some more than once.

    Returns:
        How many were to be written; where that is more than fits, call again with a larger array.
    """
    least, _, longest_period = t.layout
    period, length = periodic_prefix(query, first, longest_period, least)
    if period > 0 and length >= last - first:
        _, _, n = count_periodic(t.runs, t.copies, query, first, last - first, period, out)
        return n
    n = gather_occurrences(t, query, first, last, out)
    for r in range(min(n, out.size)):
        out[r] = document_of(t.starts, out[r], np.int64(0))
    return n


@kernel
def mark_periodic(query: Array, firsts: Array, lasts: Array, layout: Any, out: Array) -> None:
    """Say of each piece of the query whether it repeats a short word throughout."""
    least, _, longest_period = layout
    for n in range(firsts.size):
        period, length = periodic_prefix(query, firsts[n], longest_period, least)
        out[n] = period > 0 and length >= lasts[n] - firsts[n]
