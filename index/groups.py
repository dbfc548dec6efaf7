"""The tables of a segment, and the look-up of one seed in them: its groups, and how far they match on both sides.

Texts lie in one buffer between query marks (see `query.py`), so nothing here checks bounds.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import Array, common_left, common_right, plain_kernel, same_words
from index.nodes import CROWD
from index.runs import RunTables
from index.seeds import seed_hash


class Tables(NamedTuple):
    """The arrays of a segment that kernels read.

    Attributes:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        blocks: [k], for every `BLOCK_BYTES` of text the last document that begins no later than they do.
        copies: int64[d + 1], number of records before each document's.
        keys: uint16[g], bits of each group's hash that follow the bucket's, ascending inside a bucket.
        groups: [g + 1], where each group's postings begin.
        edges: int64[e, 2], position and left context of each seed behind a run, ascending.
        nodes: int64[m, 2], first and one past the last group of each node (see `nodes.py`), ascending, outer first.
        node_bounds: int64[m + 1], where each node's postings begin.
        node_postings: each node's postings, sorted by following text.
        postings: [n], seed positions, grouped, sorted by following text inside a group.
        hash_mask: uint64, the high bits of a hash that the tables know.
        buckets: [b + 1], where the groups of each hash prefix begin.
        bucket_shift: uint64, how far a hash is shifted to give its bucket.
        filter: uint64, words with two bits for each hash that occurs, by hash prefix.
        filter_shift: uint64, how far a hash is shifted to give its word.
        layout: shortest match, words in a seed, longest period of a run.
        runs: the periodic runs, which hold no seeds.
        work: int64[3], groups looked at and bytes compared so far, which is what a look-up costs; a scratch place.
    """

    text: Array
    starts: Array
    blocks: Array
    copies: Array
    keys: Array
    groups: Array
    edges: Array
    nodes: Array
    node_bounds: Array
    node_postings: Array
    postings: Array
    hash_mask: Any
    buckets: Array
    bucket_shift: Any
    filter: Array
    filter_shift: Any
    layout: Any
    runs: RunTables
    work: Array


@plain_kernel
def filter_mask(h: Any, shift: Any) -> Any:
    """The two bits of a word of the filter that a hash sets: those named by the twelve bits behind the word's."""
    first, second = h >> (shift - np.uint64(6)), h >> (shift - np.uint64(12))
    return (np.uint64(1) << (first & np.uint64(63))) | (np.uint64(1) << (second & np.uint64(63)))


@plain_kernel
def may_occur(t: Tables, h: Any) -> Any:
    """Ask the filter about a hash: `False` is certain."""
    mask = filter_mask(h, t.filter_shift)
    return t.filter[np.int64(h >> t.filter_shift)] & mask == mask


@plain_kernel
def survivors(t: Tables, query: Array, first: Any, last: Any, places: Array, hashes: Array) -> Any:
    """Write the places in `first..last` whose seeds may occur, with their hashes; return how many there are.

    Two passes without branches: nothing waits for a word of the filter that is not in the cache.
    """
    words = t.layout[1]
    for i in range(first, last):
        hashes[i - first] = seed_hash(query, i, words) & t.hash_mask
    n = 0
    for i in range(first, last):
        h = hashes[i - first]
        places[n] = i
        hashes[n] = h
        n += may_occur(t, h)
    return n


@plain_kernel
def groups_of(t: Tables, h: Any) -> Any:
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
def look_ahead(t: Tables, hashes: Array, count: Any, lows: Array, highs: Array) -> None:
    """Find the groups of many hashes, and read what comparing them will read, so that the cache misses overlap."""
    touched = np.int64(0)
    for s in range(count):
        lows[s] = np.int64(t.buckets[np.int64(hashes[s] >> t.bucket_shift)])
    for s in range(count):
        touched += np.int64(t.keys[min(lows[s], t.keys.size - 1)])
    for s in range(count):
        lows[s], highs[s] = groups_of(t, hashes[s])
        touched += np.int64(t.groups[lows[s]])
    for s in range(count):
        if lows[s] < highs[s]:
            q = first_posting(t, lows[s])
            touched += np.int64(t.text[q - 1]) + np.int64(t.text[q + 24])
    # Written to where it does not count: what is never used would not be read.
    t.work[2] = touched


@plain_kernel
def left_of(t: Tables, q: Any, query: Array, i: Any) -> Any:
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
def same_seed(t: Tables, low: Any, high: Any, query: Array, i: Any) -> Any:
    """Narrow groups down to those whose seed is the query's."""
    words = t.layout[1]
    while low < high and not same_words(query, i, t.text, first_posting(t, low), words):
        low += 1
    while low < high and not same_words(query, i, t.text, first_posting(t, high - 1), words):
        high -= 1
    t.work[1] += 8 * words
    return low, high


@plain_kernel
def first_posting(t: Tables, g: Any) -> Any:
    """Where the first seed of a group stands."""
    return np.int64(t.postings[np.int64(t.groups[g])])


@plain_kernel
def narrow(t: Tables, low: Any, high: Any, query: Array, i: Any, length: Any) -> Any:
    """Narrow groups of one seed, sorted by what stands before it, down to those that match `length` bytes there."""
    return _bound(t, low, high, query, i, length, False), _bound(t, low, high, query, i, length, True)


@plain_kernel
def _bound(t: Tables, low: Any, high: Any, query: Array, i: Any, length: Any, after: Any) -> Any:
    while low < high:
        middle = (low + high) >> 1
        q = first_posting(t, middle)
        left = common_left(query, i, t.text, q, length)
        t.work[0] += 1
        below = after if left == length else t.text[q - 1 - left] < query[i - 1 - left]
        if below:
            low = middle + 1
        else:
            high = middle
    return low


@plain_kernel
def node_of(t: Tables, first: Any, last: Any) -> Any:
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
def groups_at(t: Tables, query: Array, i: Any, left: Any) -> Any:
    """The groups whose seed stands at a place of the query, with the `left` bytes before it, at most a gap."""
    h = seed_hash(query, i, t.layout[1]) & t.hash_mask
    if not may_occur(t, h):
        return np.int64(0), np.int64(0)
    low, high = groups_of(t, h)
    low, high = same_seed(t, low, high, query, i)
    return narrow(t, low, high, query, i, left)


@plain_kernel
def furthest_right(t: Tables, rows: Array, low: Any, high: Any, query: Array, at: Any) -> Any:
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
def rows_between(t: Tables, rows: Array, low: Any, high: Any, query: Array, at: Any, length: Any) -> Any:
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
