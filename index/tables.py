"""Builds the look-up tables of a segment from its text."""

from typing import Any

import numpy as np

from index.groups import filter_mask
from index.jit import Array, kernel
from index.layout import BLOCK_BYTES, Layout
from index.members import order_members
from index.order import Groups, group_seeds
from index.runs import build_runs
from index.seeds import Seeds, choose_seeds

FILTER_BITS_PER_GROUP = 8
GROUPS_PER_BUCKET = 4


@kernel
def _gather(values: Array, rows: Array, out: Array) -> None:
    for r in range(rows.size):
        out[r] = values[rows[r]]


@kernel
def _fill_keys(
    hashes: Array, bucket_shift: Any, filter_shift: Any, keys: Array, buckets: Array, words: Array
) -> None:
    """Fill what leads from a hash to its groups; hashes ascend."""
    bucket = np.int64(0)
    for g in range(hashes.size):
        h = hashes[g]
        own = np.int64(h >> bucket_shift)
        for empty in range(bucket, own + 1):
            buckets[empty] = g
        bucket = own + 1
        keys[g] = np.uint16((h >> (bucket_shift - np.uint64(16))) & np.uint64(0xFFFF))
        words[np.int64(h >> filter_shift)] |= filter_mask(h, filter_shift)
    buckets[bucket:] = hashes.size


def _blocks(text: Array, starts: Array, number: Any) -> Array:
    """What leads from a position to its document, as in `groups.Tables`."""
    begins = np.arange(text.size // BLOCK_BYTES + 1) * BLOCK_BYTES
    # The first block begins with a mark, before the first document.
    return np.maximum(np.searchsorted(starts[:-1], begins, side="right") - 1, 0).astype(number)


def build_tables(
    text: Array, starts: Array, layout: Layout, threads: int
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Choose, sort and group the seeds of a text.

    Args:
        text: uint8, documents between document marks, padded.
        starts: int64[d + 1], document starts; a document ends one byte before the next one's start.
        layout: seed length and gap.
        threads: how many share the work; what comes out does not depend on it.

    Returns:
        The arrays of `groups.Tables` that depend on seeds and runs, and the numbers that describe them (`wide`,
        `hash_bits`, `bucket_bits`, `filter_bits`).
    """
    cuts = np.searchsorted(starts, np.linspace(starts[0], starts[-1], threads + 1))
    seeds = choose_seeds(text, starts, layout, cuts)
    groups = group_seeds(text, seeds, layout, threads)
    keyed, described = _key_tables(groups, seeds.positions.dtype)
    order = order_members(text, starts, seeds, groups, layout, cuts)
    tables = {
        **keyed,
        "blocks": _blocks(text, starts, seeds.positions.dtype),
        "groups": order.bounds,
        "edges": _edges(seeds, layout.gap),
        "nodes": order.nodes,
        "node_bounds": order.node_bounds,
        "node_postings": _postings(seeds, order.node_rows),
        "postings": _postings(seeds, order.rows),
        **{f"run_{name}": array for name, array in build_runs(text, starts, seeds.runs)._asdict().items()},
    }
    return tables, {"wide": seeds.positions.itemsize > 4, **described}


def _key_tables(groups: Groups, number: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """What leads from a hash to its groups."""
    hashes = groups.hashes
    bits = {"bucket_bits": max(1, int(hashes.size // GROUPS_PER_BUCKET).bit_length())}
    bits["filter_bits"] = max(1, int(FILTER_BITS_PER_GROUP * hashes.size // 64).bit_length())
    keys = np.empty(hashes.size, dtype=np.uint16)
    buckets = np.empty((1 << bits["bucket_bits"]) + 1, dtype=number)
    words = np.zeros(1 << bits["filter_bits"], dtype=np.uint64)
    bucket_shift, filter_shift = (np.uint64(64 - bits[name]) for name in ("bucket_bits", "filter_bits"))
    _fill_keys(hashes, bucket_shift, filter_shift, keys, buckets, words)
    return {"keys": keys, "buckets": buckets, "filter": words}, {"hash_bits": groups.hash_bits, **bits}


def _postings(seeds: Seeds, rows: Array) -> Array:
    """Positions of rows; where they are no longer than row numbers, in the same place."""
    postings = (
        rows if rows.dtype == seeds.positions.dtype else np.empty(rows.size, dtype=seeds.positions.dtype)
    )
    _gather(seeds.positions, rows, postings)
    return postings


def _edges(seeds: Seeds, gap: int) -> Array:
    """Position and left context of each seed whose context is longer than the gap; int64[e, 2]."""
    longer = np.flatnonzero(seeds.lefts > gap)
    return np.stack([seeds.positions[longer].astype(np.int64), seeds.lefts[longer]], axis=1)
