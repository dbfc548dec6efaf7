"""Compares what follows two seeds, be it megabytes, through the chain of the seeds after them.

Where the seeds after them belong to one group that is sorted already, their order is known. Elsewhere each link is a
hash of the text between two seeds. Equal hashes of links are taken for equal text here, and only here: `members.py` and
`nodes.py` prove the order that comes out by bytes.
"""

from typing import Any, NamedTuple

import numpy as np

from index.jit import Array, kernel, load64, plain_kernel, trailing_zeros, zero_bytes
from index.seeds import MULTIPLIER
from index.store import hash_bytes

SMALL = 12
NEAR = 256
LEVELS = 40
ALONE = np.uint32(0xFFFFFFFF)


class Chain(NamedTuple):
    """What is known of the seeds that follow each seed.

    Attributes:
        sums: uint64[n + 1], running hashes of all links.
        powers: uint64[LEVELS], of the multiplier, to cut them.
        opens: bool[n + 1], whether a document's first seed stands there.
        places: uint32[n, 2], the first row of each seed's group and its own row, with `ALONE` as in `order.Groups`.
        settled: bool[n], for the first row of a group, whether all its rows are in their final order.
    """

    sums: Array
    powers: Array
    opens: Array
    places: Array
    settled: Array


@plain_kernel
def compare_right(text: Array, i: Any, j: Any, limit: Any) -> Any:
    """Order two positions by the text that follows, up to the end of their documents: -1, 0, 1; 2 beyond `limit`."""
    for n in range(0, limit, 8):
        a = load64(text, i + n)
        b = load64(text, j + n)
        difference = a ^ b
        marks = zero_bytes(~a)
        if difference != np.uint64(0):
            byte = trailing_zeros(difference) >> 3
            if (trailing_zeros(marks) >> 3) < byte:
                return 0
            return -1 if text[i + n + byte] < text[j + n + byte] else 1
        if marks != np.uint64(0):
            return 0
    return 2


@kernel
def chain_of(
    text: Array,
    positions: Array,
    starts: Array,
    document: Any,
    begin: Any,
    end: Any,
    opens: Array,
    sums: Array,
) -> None:
    """Mark the first seed of each document, from `document` on; fill running hashes of the text between seeds.

    Seeds `begin..end` are those of whole documents. Running hashes begin anew there: nothing compares them across.
    """
    d = document
    running = np.uint64(0)
    if begin == 0:
        sums[0] = running
    for j in range(begin, end):
        while starts[d + 1] <= positions[j]:
            d += 1
        if j + 1 < end and positions[j + 1] < starts[d + 1]:
            link = hash_bytes(text, np.int64(positions[j]), np.int64(positions[j + 1]), 0)
        else:
            # The last link of a document equals no other, so that no comparison runs on into the next document.
            link = np.uint64(j) * MULTIPLIER + np.uint64(1)
            opens[j + 1] = True
        running = running * MULTIPLIER + (link ^ (link >> np.uint64(31)))
        sums[j + 1] = running


@kernel
def fill_powers(powers: Array) -> None:
    """Fill the powers that cut running hashes."""
    powers[0] = MULTIPLIER
    for level in range(1, LEVELS):
        powers[level] = powers[level - 1] * powers[level - 1]


@plain_kernel
def _equal_links(sums: Array, powers: Array, a: Any, b: Any, level: Any) -> Any:
    """Say whether the next `2**level` links of two seeds are equal."""
    step = np.int64(1) << level
    if a + step >= sums.size or b + step >= sums.size:
        return False
    left = sums[a + step] - sums[a] * powers[level]
    return left == sums[b + step] - sums[b] * powers[level]


@plain_kernel
def _shared_links(sums: Array, powers: Array, a: Any, b: Any) -> Any:
    """How many links follow two seeds alike."""
    shared = np.int64(0)
    level = 0
    while _equal_links(sums, powers, a + shared, b + shared, level):
        shared += np.int64(1) << level
        level += 1
    for lower in range(level, -1, -1):
        if _equal_links(sums, powers, a + shared, b + shared, lower):
            shared += np.int64(1) << lower
    return shared


@plain_kernel
def _lead_alike(positions: Array, chain: Chain, a: Any, b: Any) -> Any:
    """Say whether the same text leads from two seeds to seeds of one group."""
    if chain.opens[a + 1] or chain.opens[b + 1]:
        return False
    if chain.places[a + 1, 0] == ALONE or chain.places[a + 1, 0] != chain.places[b + 1, 0]:
        return False
    # A group's left context reaches back to the seed before, so equal distance means equal text between.
    return positions[a + 1] - positions[a] == positions[b + 1] - positions[b]


@plain_kernel
def _before(text: Array, positions: Array, chain: Chain, a: Any, b: Any, start: Any) -> Any:
    """Say whether the seed `a` comes before the equal seed `b`."""
    if _lead_alike(positions, chain, a, b) and chain.settled[chain.places[a + 1, 0]]:
        return chain.places[a + 1, 1] < chain.places[b + 1, 1]
    order = compare_right(text, positions[a] + start, positions[b] + start, NEAR)
    if order == 2:
        shared = _shared_links(chain.sums, chain.powers, a, b)
        order = compare_right(
            text, np.int64(positions[a + shared]), np.int64(positions[b + shared]), text.size
        )
    return order < 0 or (order == 0 and a < b)


@plain_kernel
def out_of_order(text: Array, positions: Array, chain: Chain, a: Any, b: Any, start: Any) -> Any:
    """Say whether two equal seeds stand in the wrong order, `a` first, once all groups are settled.

    No hash is asked: what they lead to is in order by the same proof, or they differ before it.
    """
    if _lead_alike(positions, chain, a, b):
        return chain.places[a + 1, 1] > chain.places[b + 1, 1]
    return compare_right(text, positions[a] + start, positions[b] + start, text.size) > 0


@plain_kernel
def sort_members(
    text: Array, positions: Array, chain: Chain, rows: Array, spare: Array, low: Any, high: Any, start: Any
) -> None:
    """Sort rows of equal seeds by the text that follows: insertion in small pieces, then merging."""
    for piece in range(low, high, SMALL):
        for r in range(piece + 1, min(piece + SMALL, high)):
            row = rows[r]
            s = r
            while s > piece and _before(text, positions, chain, row, rows[s - 1], start):
                rows[s] = rows[s - 1]
                s -= 1
            rows[s] = row
    if high - low > SMALL:
        _merge_pieces(text, positions, chain, rows, spare, low, high, start)


@kernel
def _merge_pieces(
    text: Array, positions: Array, chain: Chain, rows: Array, spare: Array, low: Any, high: Any, start: Any
) -> None:
    width = SMALL
    while width < high - low:
        for piece in range(low, high - width, 2 * width):
            middle = piece + width
            end = min(middle + width, high)
            for r in range(piece, middle):
                spare[r - piece] = rows[r]
            i, j, r = 0, middle, piece
            while i < middle - piece:
                if j < end and _before(text, positions, chain, rows[j], spare[i], start):
                    rows[r] = rows[j]
                    j += 1
                else:
                    rows[r] = spare[i]
                    i += 1
                r += 1
        width *= 2
