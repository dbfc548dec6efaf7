"""Kernels that count, in one segment, the documents and places that hold each of many texts.

Texts lie in one buffer between query marks (see `query.py`). An occurrence of a text has its first seed less than a gap
behind the text's start: its place is read off the groups and nodes of the seeds there. Of texts that lie in periodic
runs `runs.py` knows the counts.
"""

from typing import Any

import numpy as np

from index.groups import Tables, groups_at, node_of, rows_between
from index.jit import Array, common_left, kernel, plain_kernel
from index.layout import BLOCK_BYTES
from index.runs import count_periodic, periodic_prefix
from index.seeds import is_filler


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
        low, high = groups_at(t, query, i, min(i - first, gap))
        node = node_of(t, low, high)
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
    low, high = rows_between(t, postings, rows[0], rows[1], query, at, last - at)
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
def _document_of(t: Tables, position: Any) -> Any:
    """The document that holds a position; those near the start of the position's block are looked at first."""
    low, end = np.int64(t.blocks[position // BLOCK_BYTES]), np.int64(t.starts.size - 1)
    step = np.int64(1)
    while low + step < end and t.starts[low + step] <= position:
        low += step
        step <<= 1
    high = min(end, low + step)
    while low + 1 < high:
        middle = (low + high) >> 1
        if t.starts[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@plain_kernel
def _each_once(t: Tables, query: Array, first: Any, last: Any) -> Any:
    """Say whether no occurrence of a text has two seeds in its first gap, so that each is gathered once.

    A seed is the furthest place within a gap of the one before that is no filler; where all is filler, a run or what is
    next to one (see `seeds.py`). So of two seeds less than a gap apart one has filler right behind it.
    """
    least, words, longest_period = t.layout
    gap = least - 8 * words + 1
    if first + gap + 8 * words + longest_period > last:
        return False
    for at in range(first + 1, first + gap + 1):
        if is_filler(query, at, words, longest_period):
            return False
    return True


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
    kept: Array,
    seen: Array,
) -> Any:
    """Count texts `done`.. until all are counted or `room` is too small for one.

    The first documents that hold a text are written to its row of `kept`, ascending, as far as there is room. `seen`
    has a zero for each document of the segment at first.

    Returns:
        The number of texts that are counted, and the room that the next one needs.
    """
    least, _, longest_period = t.layout
    for n in range(done, firsts.size):
        length = lasts[n] - firsts[n]
        period, periodic = periodic_prefix(query, firsts[n], longest_period, least)
        if period > 0 and periodic >= length:
            records, places, found = count_periodic(t.runs, t.copies, query, firsts[n], length, period, room)
            documents[n], occurrences[n] = records, places
            for r in range(min(found, kept.shape[1])):
                kept[n, r] = room[r]
            continue
        found = gather_occurrences(t, query, firsts[n], lasts[n], room)
        if found > room.size:
            return n, found
        rows = room[:found]
        if kept.shape[1] or not _each_once(t, query, firsts[n], lasts[n]):
            rows = np.sort(rows)
        documents[n], occurrences[n] = _count_gathered(t, rows, kept[n], seen, n + 1)
    return firsts.size, 0


@plain_kernel
def _count_gathered(t: Tables, rows: Array, kept: Array, seen: Array, text: Any) -> Any:
    """Count the records that hold positions, and the places in them; equal positions stand side by side.

    The first documents go to `kept`. `seen` has the last text that was met in each document.
    """
    records = places = distinct = np.int64(0)
    for r in range(rows.size):
        if r > 0 and rows[r] == rows[r - 1]:
            continue
        document = _document_of(t, rows[r])
        copies = t.copies[document + 1] - t.copies[document]
        places += copies
        if seen[document] != text:
            seen[document] = text
            if distinct < kept.size:
                kept[distinct] = document
            distinct += 1
            records += copies
    return records, places


@plain_kernel
def mark_periodic(query: Array, firsts: Array, lasts: Array, layout: Any, out: Array) -> None:
    """Say of each piece of the query whether it repeats a short word throughout."""
    least, _, longest_period = layout
    for n in range(firsts.size):
        period, length = periodic_prefix(query, firsts[n], longest_period, least)
        out[n] = period > 0 and length >= lasts[n] - firsts[n]
