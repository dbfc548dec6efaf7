"""Builds the look-up tables of a segment from its text."""

from typing import Any

import numpy as np

from index.jit import Array, kernel
from index.layout import Layout
from index.order import order_seeds
from index.seeds import choose_seeds, hash_seeds

BITMAP_BITS_PER_GROUP = 16
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
        The arrays `keys`, `groups`, `postings`, `buckets`, `bitmap` of `search.Tables`, and the numbers that
        describe them (`wide`, `bucket_bits`, `bitmap_bits`).
    """
    positions = choose_seeds(text, starts[:-1], starts[1:] - 1, layout)
    hashes = hash_seeds(text, positions, layout)
    rows, first = order_seeds(text, positions, hashes, layout)
    wide = text.size >= NARROW_LIMIT
    number = np.int64 if wide else np.uint32
    firsts = np.flatnonzero(first)
    keys = hashes[rows[firsts]]
    groups = np.append(firsts, rows.size).astype(number)
    postings = positions[rows].astype(number)
    bucket_bits = max(1, int(keys.size).bit_length() - 2)
    bitmap_bits = max(6, int(BITMAP_BITS_PER_GROUP * keys.size).bit_length())
    prefixes = keys >> np.uint64(64 - bucket_bits)
    bounds = np.searchsorted(prefixes, np.arange((1 << bucket_bits) + 1, dtype=np.uint64)).astype(number)
    bitmap = np.zeros(1 << (bitmap_bits - 6), dtype=np.uint64)
    _set_bits(bitmap, keys, np.uint64(64 - bitmap_bits))
    tables = {"keys": keys, "groups": groups, "postings": postings, "buckets": bounds, "bitmap": bitmap}
    return tables, {"wide": bool(wide), "bucket_bits": bucket_bits, "bitmap_bits": bitmap_bits}
