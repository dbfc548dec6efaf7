"""Periodic runs: how far a text that repeats a short word goes on in the corpus, and how often it stands there.

Both are arithmetic on the runs of the same word: where a text of `length` bytes fits into a run, it fits again every
period. Knows nothing of seeds; `seeds.py` finds the runs of a corpus.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import Array, common_left, common_right, kernel, load64, plain_kernel

LONGEST_WORD = 8


class RunTables(NamedTuple):
    """The runs of a segment, by word, then by position.

    Attributes:
        words: uint64[w], the words (their smallest rotation, first byte lowest), ascending within a period.
        periods: int64[w], their lengths, ascending.
        firsts: int64[w + 1], where each word's runs begin.
        starts: int64[r], where each run begins.
        lengths: int64[r], bytes of each run.
        phases: int64[r], how far into a run its word's smallest rotation begins.
        documents: int64[r], the document that holds it.
        reach: int64[w, 8], for each word and phase the longest text of that phase in any run.
    """

    words: Array
    periods: Array
    firsts: Array
    starts: Array
    lengths: Array
    phases: Array
    documents: Array
    reach: Array


@plain_kernel
def word_of(text: Array, at: Any, period: Any) -> Any:
    """The smallest rotation of the word that a run repeats, and how far after `at` it begins."""
    best, phase = np.uint64(0), np.int64(-1)
    for rotation in range(period):
        word = np.uint64(0)
        for n in range(period):
            word |= np.uint64(text[at + rotation + n]) << np.uint64(8 * n)
        if phase < 0 or word < best:
            best, phase = word, np.int64(rotation)
    return best, phase


@kernel
def _words(text: Array, runs: Array, words: Array, phases: Array) -> None:
    for r in range(runs.shape[0]):
        words[r], phases[r] = word_of(text, runs[r, 0], runs[r, 2])


@kernel
def _reach(firsts: Array, periods: Array, lengths: Array, phases: Array, reach: Array) -> None:
    for w in range(periods.size):
        for phase in range(periods[w]):
            for r in range(firsts[w], firsts[w + 1]):
                reach[w, phase] = max(reach[w, phase], lengths[r] - (phases[r] - phase) % periods[w])


def build_runs(text: Array, starts: Array, runs: Array) -> RunTables:
    """Sort a segment's runs by word.

    Args:
        text: uint8, the segment's text.
        starts: int64[d + 1], document starts.
        runs: int64[r, 3], start, end and period of each run, by start.
    """
    words, phases = np.empty(runs.shape[0], dtype=np.uint64), np.empty(runs.shape[0], dtype=np.int64)
    _words(text, runs, words, phases)
    order = np.lexsort((words, runs[:, 2]))
    runs, words, phases = runs[order], words[order], phases[order]
    changes = np.flatnonzero((np.diff(words) != 0) | (np.diff(runs[:, 2]) != 0)) + 1
    firsts = np.concatenate([[0], changes, [runs.shape[0]]]) if runs.size else np.zeros(1, dtype=np.int64)
    periods = np.ascontiguousarray(runs[firsts[:-1], 2])
    lengths = np.ascontiguousarray(runs[:, 1] - runs[:, 0])
    reach = np.zeros((periods.size, LONGEST_WORD), dtype=np.int64)
    _reach(firsts, periods, lengths, phases, reach)
    return RunTables(
        words=words[firsts[:-1]],
        periods=periods,
        firsts=firsts,
        starts=np.ascontiguousarray(runs[:, 0]),
        lengths=lengths,
        phases=phases,
        documents=np.searchsorted(starts, runs[:, 0], side="right") - 1,
        reach=reach,
    )


@plain_kernel
def _row_of(t: RunTables, word: Any, period: Any) -> Any:
    """The row of a word, or -1."""
    low, high = np.int64(0), np.int64(t.words.size)
    while low < high:
        middle = (low + high) >> 1
        if t.periods[middle] < period or (t.periods[middle] == period and t.words[middle] < word):
            low = middle + 1
        else:
            high = middle
    if low < t.words.size and t.periods[low] == period and t.words[low] == word:
        return low
    return np.int64(-1)


@plain_kernel
def periodic_prefix(query: Array, at: Any, longest_period: Any, least: Any) -> Any:
    """The period and length of the longest start of a text that repeats a short word; zeros if below `least`."""
    for period in range(1, longest_period + 1):
        if query[at] == query[at + period]:
            length = common_right(query, at, query, at + period) + period
            if length >= least:
                return period, length
    return 0, np.int64(0)


@plain_kernel
def find_run_ranges(
    t: RunTables, query: Array, first: Any, last: Any, layout: Any, min_bytes: Any, begins: Array, ends: Array
) -> Any:
    """Write the ranges of the query that lie in runs of it and stand in runs of the segment.

    Returns:
        How many there are; where that is more than fits, call again with larger arrays.
    """
    least, _, longest_period = layout
    n = 0
    at = first
    # Every run of `least` bytes holds, at one of these steps, eight bytes that come again a period later.
    step = max(1, least - 8 - longest_period + 1)
    while at + least <= last + step:
        period, start, end = _run_around(query, at, longest_period, least)
        if period == 0:
            at += step
            continue
        at = max(end - longest_period, at + step)
        word, phase = word_of(query, start, period)
        row = _row_of(t, word, period)
        reached = np.int64(0)
        while row >= 0 and start + min_bytes <= end and reached < end:
            stop = min(end, start + t.reach[row, phase])
            if stop > reached and stop - start >= min_bytes:
                if n < begins.size:
                    begins[n] = start
                    ends[n] = stop
                n += 1
                reached = stop
            start += 1
            phase = (phase - 1) % period
    return n


@plain_kernel
def _run_around(query: Array, at: Any, longest_period: Any, least: Any) -> Any:
    """Period, start and end of the run of the query that holds the eight bytes at a place; zeros if there is none."""
    for period in range(1, longest_period + 1):
        if load64(query, at) == load64(query, at + period):
            start = at - common_left(query, at, query, at + period, at)
            end = at + period + common_right(query, at, query, at + period)
            if end - start >= least:
                return period, start, end
    return 0, np.int64(0), np.int64(0)


@plain_kernel
def count_periodic(
    t: RunTables, copies: Array, query: Array, at: Any, length: Any, period: Any, out: Array
) -> Any:
    """Count the documents and places of a text that repeats a word of `period` bytes throughout.

    The documents that hold it are written to `out` as far as there is room.

    Returns:
        Records, places in them, and distinct documents.
    """
    word, phase = word_of(query, at, period)
    row = _row_of(t, word, period)
    records = places = documents = np.int64(0)
    if row < 0 or t.reach[row, phase] < length:
        return records, places, documents
    before = np.int64(-1)
    for r in range(t.firsts[row], t.firsts[row + 1]):
        room = t.lengths[r] - length - (t.phases[r] - phase) % period
        if room < 0:
            continue
        document = t.documents[r]
        copied = copies[document + 1] - copies[document]
        places += copied * (room // period + 1)
        if document != before:
            if documents < out.size:
                out[documents] = document
            documents += 1
            records += copied
            before = document
    return records, places, documents
