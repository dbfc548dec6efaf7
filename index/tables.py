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


@kernel
def _gather(values: Array, rows: Array, out: Array) -> None:
    for r in range(rows.size):
        out[r] = values[rows[r]]


@kernel
def _cut_keys(keys: Array, shift: Any, out: Array) -> None:
    for g in range(keys.size):
        out[g] = np.uint16((keys[g] >> shift) & np.uint64(0xFFFF))


@kernel
def _fill_buckets(keys: Array, shift: Any, buckets: Array) -> None:
    bucket = 0
    for g in range(keys.size):
        while bucket <= np.int64(keys[g] >> shift):
            buckets[bucket] = g
            bucket += 1
    buckets[bucket:] = keys.size


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
    number = np.int64 if text.size >= NARROW_LIMIT else np.uint32
    keys = np.empty(order.bounds.size - 1, dtype=np.uint64)
    _gather(hashes, order.rows[order.bounds[:-1]], keys)
    del hashes
    bits = {"bucket_bits": max(1, int(keys.size // GROUPS_PER_BUCKET).bit_length())}
    bits["filter_bits"] = max(1, int(FILTER_BITS_PER_GROUP * keys.size // 64).bit_length())
    buckets = np.empty((1 << bits["bucket_bits"]) + 1, dtype=number)
    _fill_buckets(keys, np.uint64(64 - bits["bucket_bits"]), buckets)
    words = np.zeros(1 << bits["filter_bits"], dtype=np.uint64)
    _fill_filter(words, keys, np.uint64(64 - bits["filter_bits"]))
    cut = np.empty(keys.size, dtype=np.uint16)
    _cut_keys(keys, np.uint64(64 - bits["bucket_bits"] - 16), cut)
    tables = {
        "keys": cut,
        "groups": order.bounds.astype(number),
        "edges": _edges(seeds, layout.gap),
        "nodes": order.nodes,
        "node_bounds": order.node_bounds,
        "node_postings": _postings(seeds, order.node_rows, number),
        "postings": _postings(seeds, order.rows, number),
        "buckets": buckets,
        "filter": words,
        **{f"run_{name}": array for name, array in build_runs(text, starts, seeds.runs)._asdict().items()},
    }
    return tables, {"wide": number is np.int64, **bits}


def _postings(seeds: Seeds, rows: Array, number: Any) -> Array:
    postings = np.empty(rows.size, dtype=number)
    _gather(seeds.positions, rows, postings)
    return postings


def _edges(seeds: Seeds, gap: int) -> Array:
    """Position and left context of each seed whose context is longer than the gap."""
    longer = np.flatnonzero(seeds.lefts > gap)
    return np.stack([seeds.positions[longer], seeds.lefts[longer]], axis=1)
