"""Chooses where documents are sampled, and finds their periodic runs. Knows nothing of files or of look-up.

A run is a maximal stretch of at least `min_bytes` bytes that repeats a word of at most `layout.longest_period` bytes:
blanks, rules, loops. Seeds inside it would all be alike and there would be no end of them, so it has none; it has one
that ends with its first bytes and one that begins with its last, and `runs.py` answers for what lies wholly inside.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import ONES, Array, common_left, common_right, kernel, load64, plain_kernel, zero_bytes
from index.layout import NARROW_LIMIT, Layout
from index.threads import side_by_side

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# A text that is looked up would have to repeat a word for 2 GiB to tell the difference.
LONGEST_CONTEXT = (1 << 31) - 1


class Seeds(NamedTuple):
    """What was chosen.

    Attributes:
        positions: uint32[n] (int64 in a text of 4 GiB or more), ascending.
        lefts: int32[n], length of each seed's left context: the gap, or, after a run, all of it back to the seed
            before it (past the document's start where there is none), at most `LONGEST_CONTEXT`.
        runs: int64[r, 3], start, end and shortest period of each run, by start.
    """

    positions: Array
    lefts: Array
    runs: Array


@plain_kernel
def seed_hash(text: Array, at: Any, words: Any) -> Any:
    """Hash `words` words of text; the high bits are the good ones."""
    h = np.uint64(0)
    for w in range(words):
        h = (h ^ load64(text, at + 8 * w)) * MULTIPLIER
        h ^= h >> np.uint64(32)
    return h


@plain_kernel
def is_filler(text: Array, at: Any, words: Any, longest_period: Any) -> Any:
    """Say whether most of a seed's bytes come again a few bytes later: runs, rules, small tables."""
    enough = min(6 * words, 8 * words - longest_period)
    for period in range(1, longest_period + 1):
        equal = np.uint64(0)
        for w in range(words):
            here = at + 8 * w
            marks = zero_bytes(load64(text, here) ^ load64(text, here + period)) >> np.uint64(7)
            equal += (marks * ONES) >> np.uint64(56)
            if np.int64(equal) + 8 * (words - 1 - w) < enough:
                break
        if np.int64(equal) >= enough:
            return True
    return False


@plain_kernel
def period_of(text: Array, at: Any, length: Any, longest_period: Any) -> Any:
    """The shortest period of `length` bytes of text, or 0 if it is longer than `longest_period`."""
    for period in range(1, longest_period + 1):
        if text[at] == text[at + period] and common_right(text, at, text, at + period) >= length - period:
            return period
    return 0


@plain_kernel
def _furthest(text: Array, low: Any, high: Any, words: Any, longest_period: Any) -> Any:
    """The furthest position in `low..high` that is no filler, or -1."""
    for at in range(high, low - 1, -1):
        if not is_filler(text, at, words, longest_period):
            return at
    return -1


@plain_kernel
def _run_in(text: Array, low: Any, high: Any, least: Any, words: Any, longest_period: Any) -> Any:
    """The first run that holds a whole seed at one of `low..high`, else the furthest seed that is not periodic.

    Returns:
        Start, end and period; a period of 0 where there is no run, and the seed in the place of the start.
    """
    seed = low - 1
    for at in range(low, high + 1):
        period = period_of(text, at, 8 * words, longest_period)
        if period == 0:
            seed = at
            continue
        start = at - common_left(text, at, text, at + period, at)
        end = at + period + common_right(text, at, text, at + period)
        if end - start >= least:
            return start, end, period
    return seed, seed, 0


@kernel
def _choose(text: Array, starts: Array, layout: Any, positions: Array, lefts: Array, runs: Array) -> Any:
    """Fill the arrays of `Seeds`; return how many seeds and runs there are, or -1 runs where `runs` is too small."""
    least, words, longest_period = layout
    length = 8 * words
    gap = least - length + 1
    n = r = 0
    for d in range(starts.size - 1):
        last = starts[d + 1] - 1 - length
        previous = starts[d] - 1
        # Where no window of `gap` seed positions fits into the document any more, no match can need a seed.
        while previous + gap <= last:
            seed = _furthest(text, previous + 1, previous + gap, words, longest_period)
            context = gap
            if seed < 0:
                seed, end, period = _run_in(text, previous + 1, previous + gap, least, words, longest_period)
                if period > 0:
                    if r == runs.shape[0]:
                        return n, -1
                    runs[r, 0], runs[r, 1], runs[r, 2] = seed, end, period
                    r += 1
                    if seed - 1 > previous and seed > starts[d]:
                        previous = seed - 1
                        positions[n], lefts[n] = previous, gap
                        n += 1
                    if end > last + length - 1:
                        break
                    seed = end - length + 1
                    context = min(max(gap, seed - previous), LONGEST_CONTEXT)
            previous = seed
            positions[n], lefts[n] = seed, context
            n += 1
    return n, r


def choose_seeds(text: Array, starts: Array, layout: Layout, cuts: Array) -> Seeds:
    """Choose the seeds of all documents.

    Every piece of `min_bytes` bytes that does not lie inside a run holds a whole seed.

    Args:
        text: uint8, documents between document marks, padded.
        starts: int64[d + 1], document starts; a document ends one byte before the next one's start.
        layout: seed length and gap.
        cuts: int64[c + 1], the documents that each thread begins with, and the number of all.
    """
    lengths = np.diff(starts) - 1
    # Three choices in a row always advance by more than one gap; a run is longer than that and adds two.
    most = np.where(lengths >= layout.min_bytes, 3 * lengths // (layout.gap + 1) + 3, 0)
    room = np.zeros(starts.size, dtype=np.int64)
    np.cumsum(most, out=room[1:])
    positions, lefts = np.empty(room[-1], dtype=number_type(text)), np.empty(room[-1], dtype=np.int32)

    def choose(first: Any, last: Any) -> tuple[int, Array]:
        here = slice(room[first], room[last])
        return _choose_part(text, starts[first : last + 1], layout, positions[here], lefts[here])

    chosen = side_by_side(choose, cuts[:-1], cuts[1:])
    n = 0
    for first, (count, _) in zip(room[cuts[:-1]], chosen, strict=True):
        if n < first:  # close up to what the thread before has chosen
            positions[n : n + count] = positions[first : first + count]
            lefts[n : n + count] = lefts[first : first + count]
        n += count
    return Seeds(positions[:n], lefts[:n], np.concatenate([runs for _, runs in chosen]))


def _choose_part(
    text: Array, starts: Array, layout: Layout, positions: Array, lefts: Array
) -> tuple[int, Array]:
    """Choose the seeds of some documents; return how many there are, and the runs."""
    room = 1024 + int(starts[-1] - starts[0]) // 512
    while True:
        runs = np.empty((room, 3), dtype=np.int64)
        seeds, found = _choose(text, starts, layout.numbers, positions, lefts, runs)
        if found >= 0:
            return seeds, runs[:found]
        room *= 8


def number_type(text: Array) -> Any:
    """The type that holds a position of a text."""
    return np.int64 if text.size >= NARROW_LIMIT else np.uint32
