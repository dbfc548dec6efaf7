"""Builds the look-up tables of a segment from its text."""

from typing import Any

import numpy as np

from index.jit import Array, kernel
from index.layout import Layout
from index.order import order_seeds
from index.runs import build_runs
from index.seeds import choose_seeds, hash_seeds

BITMAP_BITS_PER_GROUP = 8
GROUPS_PER_BUCKET = 4
NARROW_LIMIT = 1 << 32


@kernel
def _set_bits(bitmap: Array, keys: Array, shift: Any) -> None:
    for n in range(keys.size):
        bit = keys[n] >> shift
        bitmap[np.int64(bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))


def build_tables(text: Array, starts: Array, layout: Layout) -> tuple[dict[str, Array], dict[str, Any]]:
    """Choose, sort and group the seeds of a text.

    Args:
        text: uint8, documents between document marks, padded.
        starts: int64[d + 1], document starts; a document ends one byte before the next one's start.
        layout: seed length and gap.

    Returns:
        The arrays of `search.Tables` that depend on seeds and runs, and the numbers that describe them (`wide`,
        `bucket_bits`, `bitmap_bits`).
    """
    seeds = choose_seeds(text, starts[:-1], starts[1:] - 1, layout)
    hashes = hash_seeds(text, seeds.positions, layout)
    rows, first = order_seeds(text, starts, seeds, hashes, layout)
    wide = text.size >= NARROW_LIMIT
    number = np.int64 if wide else np.uint32
    firsts = np.flatnonzero(first)
    keys = hashes[rows[firsts]]
    contexts = seeds.lefts[rows[firsts]]
    postings = seeds.positions[rows].astype(number)
    bits = {"bucket_bits": max(1, int(keys.size // GROUPS_PER_BUCKET).bit_length())}
    bits["bitmap_bits"] = max(6, int(BITMAP_BITS_PER_GROUP * keys.size).bit_length())
    prefixes = keys >> np.uint64(64 - bits["bucket_bits"])
    every = np.arange((1 << bits["bucket_bits"]) + 1, dtype=np.uint64)
    bitmap = np.zeros(1 << (bits["bitmap_bits"] - 6), dtype=np.uint64)
    _set_bits(bitmap, keys, np.uint64(64 - bits["bitmap_bits"]))
    tables = {
        "keys": (keys >> np.uint64(64 - bits["bucket_bits"] - 16)).astype(np.uint16),
        "groups": np.append(2 * firsts + (contexts > layout.gap), 2 * rows.size).astype(number),
        "edges": _edges(postings[firsts].astype(np.int64), contexts, layout.gap),
        "postings": postings,
        "buckets": np.searchsorted(prefixes, every).astype(number),
        "bitmap": bitmap,
        **{f"run_{name}": array for name, array in build_runs(text, starts, seeds.runs)._asdict().items()},
    }
    return tables, {"wide": bool(wide), **bits}


def _edges(positions: Array, contexts: Array, gap: int) -> Array:
    """Position and left context of the first posting of each group whose context is longer than the gap."""
    longer = np.flatnonzero(contexts > gap)
    longer = longer[np.argsort(positions[longer])]
    return np.stack([positions[longer], contexts[longer]], axis=1)
