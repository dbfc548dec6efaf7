"""Builds the look-up tables of a segment from its text."""

from typing import Any

import numpy as np

from index.groups import filter_mask
from index.jit import Array, kernel
from index.layout import Layout
from index.order import order_seeds
from index.runs import build_runs
from index.seeds import Seeds, choose_seeds, hash_seeds

FILTER_BITS_PER_GROUP = 8
GROUPS_PER_BUCKET = 4
NARROW_LIMIT = 1 << 32


@kernel
def _fill_filter(words: Array, hashes: Array, shift: Any) -> None:
    for n in range(hashes.size):
        words[np.int64(hashes[n] >> shift)] |= filter_mask(hashes[n])


def build_tables(text: Array, starts: Array, layout: Layout) -> tuple[dict[str, Array], dict[str, Any]]:
    """Choose, sort and group the seeds of a text.

    Args:
        text: uint8, documents between document marks, padded.
        starts: int64[d + 1], document starts; a document ends one byte before the next one's start.
        layout: seed length and gap.

    Returns:
        The arrays of `groups.Tables` that depend on seeds and runs, and the numbers that describe them (`wide`,
        `bucket_bits`, `filter_bits`).
    """
    seeds = choose_seeds(text, starts[:-1], starts[1:] - 1, layout)
    hashes = hash_seeds(text, seeds.positions, layout)
    order = order_seeds(text, starts, seeds, hashes, layout)
    rows = order.rows
    wide = text.size >= NARROW_LIMIT
    number = np.int64 if wide else np.uint32
    firsts = np.flatnonzero(order.first)
    keys = hashes[rows[firsts]]
    del hashes
    postings = seeds.positions[rows].astype(number)
    bits = {"bucket_bits": max(1, int(keys.size // GROUPS_PER_BUCKET).bit_length())}
    bits["filter_bits"] = max(1, int(FILTER_BITS_PER_GROUP * keys.size // 64).bit_length())
    prefixes = keys >> np.uint64(64 - bits["bucket_bits"])
    every = np.arange((1 << bits["bucket_bits"]) + 1, dtype=np.uint64)
    words = np.zeros(1 << bits["filter_bits"], dtype=np.uint64)
    _fill_filter(words, keys, np.uint64(64 - bits["filter_bits"]))
    tables = {
        "keys": (keys >> np.uint64(64 - bits["bucket_bits"] - 16)).astype(np.uint16),
        "groups": np.append(firsts, rows.size).astype(number),
        "edges": _edges(seeds, layout.gap),
        "nodes": order.nodes,
        "node_bounds": order.node_bounds,
        "node_postings": seeds.positions[order.node_rows].astype(number),
        "postings": postings,
        "buckets": np.searchsorted(prefixes, every).astype(number),
        "filter": words,
        **{f"run_{name}": array for name, array in build_runs(text, starts, seeds.runs)._asdict().items()},
    }
    return tables, {"wide": bool(wide), **bits}


def _edges(seeds: Seeds, gap: int) -> Array:
    """Position and left context of each seed whose context is longer than the gap."""
    longer = np.flatnonzero(seeds.lefts > gap)
    return np.stack([seeds.positions[longer], seeds.lefts[longer]], axis=1)
