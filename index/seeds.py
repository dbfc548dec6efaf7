"""Chooses where a document is sampled and hashes what stands there. Knows nothing of files or of look-up."""

from typing import Any

import numpy as np

from index.jit import ONES, Array, kernel, load64, zero_bytes
from index.layout import Layout

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
LONGEST_PERIOD = 8


@kernel
def seed_hash(text: Array, at: Any, words: Any) -> Any:
    """Hash `words` words of text; the high bits are the good ones."""
    h = np.uint64(0)
    for w in range(words):
        h = (h ^ load64(text, at + 8 * w)) * MULTIPLIER
        h ^= h >> np.uint64(32)
    return h


@kernel
def is_plain_filler(text: Array, at: Any, words: Any) -> Any:
    """Say whether three quarters of a seed's bytes come again 1 to 8 bytes later: runs, rules."""
    enough = 6 * words
    for period in range(1, LONGEST_PERIOD + 1):
        equal = np.uint64(0)
        for w in range(words):
            here = at + 8 * w
            marks = zero_bytes(load64(text, here) ^ load64(text, here + period)) >> np.uint64(7)
            equal += (marks * ONES) >> np.uint64(56)
        if np.int64(equal) >= enough:
            return True
    return False


@kernel
def _furthest_good(text: Array, low: Any, high: Any, words: Any) -> Any:
    """The furthest position in `low..high` that is no filler; `high` where all are."""
    for at in range(high, low - 1, -1):
        if not is_plain_filler(text, at, words):
            return at
    return high


@kernel
def _choose(text: Array, starts: Array, ends: Array, gap: Any, words: Any, out: Array) -> Any:
    n = 0
    for d in range(starts.size):
        last = ends[d] - 8 * words
        previous = starts[d] - 1
        # Where no window of `gap` seed positions fits into the document any more, no match can need a seed.
        while previous + gap <= last:
            previous = _furthest_good(text, previous + 1, previous + gap, words)
            out[n] = previous
            n += 1
    return n


@kernel
def _hash_all(text: Array, positions: Array, words: Any, out: Array) -> None:
    for j in range(positions.size):
        out[j] = seed_hash(text, positions[j], words)


def choose_seeds(text: Array, starts: Array, ends: Array, layout: Layout) -> Array:
    """Choose the seeds of all documents.

    Neighbours are at most `layout.gap` apart, the first is at most `gap - 1` into a document, the last within
    reach of its end: every piece of `min_bytes` bytes holds a whole seed.

    Args:
        text: uint8, documents between document marks, padded.
        starts: int64[d], where each document begins.
        ends: int64[d], one past each document's last byte.
        layout: seed length and gap.

    Returns:
        int64[n], ascending positions.
    """
    # Two choices in a row always advance by more than one gap.
    capacity = int(
        (2 * np.maximum(ends - starts, 0) // (layout.gap + 1) + 1)[ends - starts >= layout.min_bytes].sum()
    )
    out = np.empty(capacity + 1, dtype=np.int64)
    n = _choose(text, starts, ends, layout.gap, layout.words, out)
    return out[:n]


def hash_seeds(text: Array, positions: Array, layout: Layout) -> Array:
    """Hash the seeds at `positions`; uint64[n]."""
    out = np.empty(positions.size, dtype=np.uint64)
    _hash_all(text, positions, layout.words, out)
    return out
