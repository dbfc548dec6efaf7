"""Kernels that look texts up in one segment. Knows nothing of files, ids or the merging of segments.

Texts lie in one buffer between query marks (see `query.py`). The argument everything rests on: an occurrence
of at least `min_bytes` bytes holds a first seed, less than `gap` bytes into it. A group whose left context
matches to its end has an earlier seed inside every match, so it can be passed over; any other group matches
exactly as far to the left as each of its members, and its members are sorted by what follows, so the furthest one
is found by bisection. What lies inside a periodic run has no seeds and is left to `runs.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import Array, common_left, common_right, kernel, plain_kernel, same_words
from index.nodes import CROWD
from index.runs import RunTables, count_periodic, periodic_prefix
from index.seeds import seed_hash

BLOCK = 4096


class Tables(NamedTuple):
    """The arrays of a segment that kernels read.

    Attributes:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        copies: int64[d + 1], number of records before each document's.
        keys: uint16[g], bits of each group's hash that follow the bucket's, ascending inside a bucket.
        groups: [g + 1], where each group's postings begin.
        edges: int64[e, 2], position and left context of each seed behind a run, ascending.
        nodes: int64[m, 2], first and one past the last group of each node (see `nodes.py`), ascending, outer first.
        node_bounds: int64[m + 1], where each node's postings begin.
        node_postings: each node's postings, sorted by following text.
        postings: [n], seed positions, grouped, sorted by following text inside a group.
        buckets: [b + 1], where the groups of each hash prefix begin.
        bucket_shift: uint64, how far a hash is shifted to give its bucket.
        filter: uint64, words with two bits for each hash that occurs, by hash prefix.
        filter_shift: uint64, how far a hash is shifted to give its word.
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
    nodes: Array
    node_bounds: Array
    node_postings: Array
    postings: Array
    buckets: Array
    bucket_shift: Any
    filter: Array
    filter_shift: Any
    layout: Any
    runs: RunTables
    work: Array


class Found(NamedTuple):
    """How many ranges are written, and the bounds of the one that ends furthest."""

    count: Any
    begin: Any
    end: Any


@plain_kernel
def filter_mask(h: Any) -> Any:
    """The two bits of a word of the filter that a hash sets."""
    return (np.uint64(1) << (h & np.uint64(63))) | (np.uint64(1) << ((h >> np.uint64(6)) & np.uint64(63)))


@plain_kernel
def _may_occur(t: Tables, h: Any) -> Any:
    mask = filter_mask(h)
    return t.filter[np.int64(h >> t.filter_shift)] & mask == mask


@plain_kernel
def _survivors(t: Tables, query: Array, first: Any, last: Any, places: Array, hashes: Array) -> Any:
    """Write the places in `first..last` whose seeds may occur, with their hashes; return how many there are.

    Two passes without branches: nothing waits for a word of the filter that is not in the cache.
    """
    words = t.layout[1]
    for i in range(first, last):
        hashes[i - first] = seed_hash(query, i, words)
    n = 0
    for i in range(first, last):
        h = hashes[i - first]
        places[n] = i
        hashes[n] = h
        n += _may_occur(t, h)
    return n


@plain_kernel
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


@plain_kernel
def _left_context(t: Tables, q: Any) -> Any:
    """Length of a seed's left context."""
    least, words, _ = t.layout
    low, high = np.int64(0), np.int64(t.edges.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if t.edges[middle, 0] < q:
            low = middle + 1
        else:
            high = middle
    if low < t.edges.shape[0] and t.edges[low, 0] == q:
        return t.edges[low, 1]
    return least - 8 * words + 1


@plain_kernel
def _left_of(t: Tables, q: Any, query: Array, i: Any) -> Any:
    """How far a seed matches to the left; -1 where all of its context does, so that an earlier one is in the match."""
    least, words, _ = t.layout
    gap = least - 8 * words + 1
    left = common_left(query, i, t.text, q, gap)
    if left == gap:
        context = _left_context(t, q)
        left = common_left(query, i, t.text, q, context)
        if left == context:
            left = -1
    t.work[1] += max(left, gap)
    return left


@plain_kernel
def _same_seed(t: Tables, low: Any, high: Any, query: Array, i: Any) -> Any:
    """Narrow groups down to those whose seed is the query's."""
    words = t.layout[1]
    while low < high and not same_words(query, i, t.text, _first_posting(t, low), words):
        low += 1
    while low < high and not same_words(query, i, t.text, _first_posting(t, high - 1), words):
        high -= 1
    t.work[1] += 8 * words
    return low, high


@plain_kernel
def _first_posting(t: Tables, g: Any) -> Any:
    return np.int64(t.postings[np.int64(t.groups[g])])


@plain_kernel
def _narrow(t: Tables, low: Any, high: Any, query: Array, i: Any, length: Any) -> Any:
    """Narrow groups of one seed, sorted by what stands before it, down to those that match `length` bytes there."""
    return _bound(t, low, high, query, i, length, False), _bound(t, low, high, query, i, length, True)


@plain_kernel
def _bound(t: Tables, low: Any, high: Any, query: Array, i: Any, length: Any, after: Any) -> Any:
    while low < high:
        middle = (low + high) >> 1
        q = _first_posting(t, middle)
        left = common_left(query, i, t.text, q, length)
        t.work[0] += 1
        below = after if left == length else t.text[q - 1 - left] < query[i - 1 - left]
        if below:
            low = middle + 1
        else:
            high = middle
    return low


@plain_kernel
def _node_of(t: Tables, first: Any, last: Any) -> Any:
    """The node that consists of these groups; -1 where they are too few for one."""
    if last - first <= CROWD:
        return np.int64(-1)
    low, high = np.int64(0), np.int64(t.nodes.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if t.nodes[middle, 0] < first or (t.nodes[middle, 0] == first and t.nodes[middle, 1] > last):
            low = middle + 1
        else:
            high = middle
    if low < t.nodes.shape[0] and t.nodes[low, 0] == first and t.nodes[low, 1] == last:
        return low
    return np.int64(-1)


@plain_kernel
def _furthest_right(t: Tables, rows: Array, low: Any, high: Any, query: Array, at: Any) -> Any:
    """The longest match to the right of a seed that ends at `at`, over sorted rows, and where its seed stands."""
    past = 8 * t.layout[1]
    row = np.int64(rows[low])
    t.work[0] += 1
    shared_low = common_right(t.text, row + past, query, at)
    t.work[1] += shared_low
    best, where = shared_low, row
    if high - low == 1 or t.text[row + past + shared_low] > query[at + shared_low]:
        return best, where
    # Looked at from both ends first: neighbours share with the query what both ends of their stretch do.
    high -= 1
    row = np.int64(rows[high])
    shared_high = common_right(t.text, row + past, query, at)
    t.work[1] += shared_high
    if shared_high > best:
        best, where = shared_high, row
    if t.text[row + past + shared_high] < query[at + shared_high]:
        return best, where
    while high - low > 1:
        middle = (low + high) >> 1
        row = np.int64(rows[middle])
        known = min(shared_low, shared_high)
        length = known + common_right(t.text, row + past + known, query, at + known)
        t.work[0] += 1
        t.work[1] += length - known
        if length > best:
            best, where = length, row
        if t.text[row + past + length] < query[at + length]:
            low, shared_low = middle, length
        else:
            high, shared_high = middle, length
    return best, where


@plain_kernel
def _rows_between(t: Tables, rows: Array, low: Any, high: Any, query: Array, at: Any, length: Any) -> Any:
    """The first and one past the last of sorted rows that are followed by `length` bytes of the query."""
    first = _first_row(t, rows, low, high, query, at, length, False)
    return first, _first_row(t, rows, first, high, query, at, length, True)


@plain_kernel
def _is_below(t: Tables, row: Any, query: Array, at: Any, known: Any, length: Any, after: Any) -> Any:
    """Say whether a row's text is below `length` bytes of the query (`after`: or equal), and how much they share."""
    past = np.int64(row) + 8 * t.layout[1]
    shared = min(length, known + common_right(t.text, past + known, query, at + known))
    t.work[0] += 1
    t.work[1] += shared - known
    if shared == length:
        return after, shared
    return t.text[past + shared] < query[at + shared], shared


@plain_kernel
def _first_row(
    t: Tables, rows: Array, low: Any, high: Any, query: Array, at: Any, length: Any, after: Any
) -> Any:
    """Find the first of sorted rows that is not below `length` bytes of the query (`after`: nor equal)."""
    if low == high:
        return low
    below, shared_low = _is_below(t, rows[low], query, at, np.int64(0), length, after)
    if not below:
        return low
    below, shared_high = _is_below(t, rows[high - 1], query, at, np.int64(0), length, after)
    if below:
        return high
    high -= 1
    while high - low > 1:
        middle = (low + high) >> 1
        below, shared = _is_below(t, rows[middle], query, at, min(shared_low, shared_high), length, after)
        if below:
            low, shared_low = middle, shared
        else:
            high, shared_high = middle, shared
    return high


@kernel
def find_ranges(
    t: Tables, query: Array, first: Any, last: Any, min_bytes: Any, begins: Array, ends: Array
) -> Any:
    """Write ranges of the query that stand in the segment; all maximal ones are among them but those in runs.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    places, hashes = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.uint64)
    end = last - 8 * t.layout[1] + 1
    found = Found(np.int64(0), np.int64(0), np.int64(0))
    for block in range(first, end, BLOCK):
        for s in range(_survivors(t, query, block, min(block + BLOCK, end), places, hashes)):
            found = _find_at(t, query, places[s], hashes[s], min_bytes, begins, ends, found)
    return found.count


@plain_kernel
def _find_at(
    t: Tables, query: Array, i: Any, h: Any, min_bytes: Any, begins: Array, ends: Array, found: Found
) -> Any:
    """Write the ranges whose first seed may stand at a place; return what is found now."""
    gap = t.layout[0] - 8 * t.layout[1] + 1
    low, high = _groups_of(t, h)
    low, high = _same_seed(t, low, high, query, i)
    node = _node_of(t, low, high)
    while node >= 0:
        rows = (t.node_bounds[node], t.node_bounds[node + 1])
        found, left = _consider(t, t.node_postings, rows, query, i, min_bytes, begins, ends, found)
        low, high = _further_left(t, low, high, query, i, left)
        node = _node_of(t, low, high) if left < gap else np.int64(-1)
    for g in range(low, high):
        t.work[0] += 1
        left = _left_of(t, _first_posting(t, g), query, i)
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
    return _narrow(t, low, high, query, i, min(left + 1, gap))


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
    right, where = _furthest_right(t, postings, rows[0], rows[1], query, at)
    left = _left_of(t, where, query, i)
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
        h = seed_hash(query, i, t.layout[1])
        if not _may_occur(t, h):
            continue
        low, high = _groups_of(t, h)
        low, high = _same_seed(t, low, high, query, i)
        node = _node_of(t, low, high)
        if node >= 0:
            rows = (t.node_bounds[node], t.node_bounds[node + 1])
            n = _align(t, t.node_postings, rows, gap - 1, query, i, last, min_bytes, where, begins, ends, n)
            # What reaches further left than the gap stands behind a run: few groups, and the same ones again.
            low, high = _narrow(t, low, high, query, i, gap)
        for g in range(low, high):
            t.work[0] += 1
            left = _left_of(t, _first_posting(t, g), query, i)
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
    low, high = _rows_between(t, postings, rows[0], rows[1], query, at, needed)
    for r in range(low, high):
        q = np.int64(postings[r])
        t.work[0] += 1
        left = _left_of(t, q, query, i)
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


@plain_kernel
def gather_occurrences(t: Tables, query: Array, first: Any, last: Any, out: Array) -> Any:
    """Write the position of every occurrence of `query[first:last]`, some twice; the text is no run throughout.

    Returns:
        How many there are; where that is more than fits, call again with a larger array.
    """
    least, words, longest_period = t.layout
    gap = least - 8 * words + 1
    begin, end = first, min(first + gap, last - 8 * words + 1)
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
        low, high = _same_seed(t, low, high, query, i)
        low, high = _narrow(t, low, high, query, i, min(i - first, gap))
        node = _node_of(t, low, high)
        if node >= 0:
            rows = (t.node_bounds[node], t.node_bounds[node + 1])
            n = _gather_rows(t, t.node_postings, rows, query, i, first, last, out, n)
            continue
        for g in range(low, high):
            rows = (np.int64(t.groups[g]), np.int64(t.groups[g + 1]))
            n = _gather_rows(t, t.postings, rows, query, i, first, last, out, n)
    return n


@plain_kernel
def _gather_rows(
    t: Tables, postings: Array, rows: Any, query: Array, i: Any, first: Any, last: Any, out: Array, n: Any
) -> Any:
    """Write where the rows that match to the end of the text, and back to its start, put its start."""
    at = i + 8 * t.layout[1]
    least, words, _ = t.layout
    low, high = _rows_between(t, postings, rows[0], rows[1], query, at, last - at)
    for r in range(low, high):
        q = np.int64(postings[r])
        # Sorting has settled what stands within the gap; only behind a run there is more to compare.
        if i - first >= least - 8 * words + 1 and common_left(query, i, t.text, q, i - first) < i - first:
            continue
        if n < out.size:
            out[n] = q - (i - first)
        n += 1
    return n


@plain_kernel
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


@plain_kernel
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


@plain_kernel
def mark_periodic(query: Array, firsts: Array, lasts: Array, layout: Any, out: Array) -> None:
    """Say of each piece of the query whether it repeats a short word throughout."""
    least, _, longest_period = layout
    for n in range(firsts.size):
        period, length = periodic_prefix(query, firsts[n], longest_period, least)
        out[n] = period > 0 and length >= lasts[n] - firsts[n]
