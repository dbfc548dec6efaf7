"""Sorts the members of each group by the text that follows.

`chains.py` compares members by hashes. That their order is right is then proved without: neighbours in a group are
followed by seeds that are in order in theirs, or differ before those.
"""

from typing import Any, NamedTuple

import numpy as np

from index.chains import ALONE, LEVELS, Chain, chain_of, fill_powers, out_of_order, sort_members
from index.jit import Array, kernel
from index.layout import Layout
from index.nodes import build_nodes
from index.order import Groups
from index.seeds import Seeds
from index.threads import side_by_side


@kernel
def _fill_bounds(first: Array, bounds: Array) -> None:
    group = 0
    for r in range(first.size):
        if first[r]:
            bounds[group] = r
            group += 1
    bounds[group] = first.size


@kernel
def _sort_all_members(
    text: Array, positions: Array, chain: Chain, first: Array, rows: Array, spare: Array, start: Any
) -> None:
    """Sort each group when its last member in the text is met, from the end: what follows that one is settled then."""
    for j in range(positions.size - 1, -1, -1):
        if chain.places[j, 1] == ALONE or chain.settled[chain.places[j, 0]]:
            continue
        low = np.int64(chain.places[j, 0])
        high = low + 1
        while high < rows.size and not first[high]:
            high += 1
        sort_members(text, positions, chain, rows, spare, low, high, start)
        for r in range(low, high):
            chain.places[rows[r], 1] = r
        chain.settled[low] = True


@kernel
def _unproved(
    text: Array, positions: Array, chain: Chain, rows: Array, first: Array, start: Any, begin: Any, end: Any
) -> Any:
    """Count the neighbours in a group, of rows `begin..end`, whose order cannot be proved."""
    n = 0
    for r in range(max(begin, 1), end):
        if not first[r]:
            n += out_of_order(text, positions, chain, rows[r - 1], rows[r], start)
    return n


class Order(NamedTuple):
    """Sorted seeds.

    Attributes:
        rows: uint32[n], indices into the seeds, by hash, seed bytes, left context and following text.
        bounds: [g + 1], where each group's rows begin, of the type of positions.
        nodes: int64[m, 2], first and one past the last group of each node (see `nodes.py`).
        node_bounds: int64[m + 1], where each node's rows begin.
        node_rows: uint32[], each node's rows by following text, whatever their left context.
    """

    rows: Array
    bounds: Array
    nodes: Array
    node_bounds: Array
    node_rows: Array


def order_members(
    text: Array, starts: Array, seeds: Seeds, groups: Groups, layout: Layout, cuts: Array
) -> Order:
    """Sort the members of each group by the text that follows; `groups.hashes` is lost.

    Args:
        text: uint8, documents between document marks.
        starts: int64[d + 1], document starts.
        seeds: what was chosen.
        groups: what they were grouped to.
        layout: seed length and gap.
        cuts: int64[c + 1], the documents that each thread begins with, and the number of all.

    Raises:
        RuntimeError: the order could not be proved (two different texts with one hash: choose another MULTIPLIER).
    """
    positions, rows, first = seeds.positions, groups.rows, groups.first
    bounds = np.empty(groups.hashes.size + 1, dtype=positions.dtype)
    _fill_bounds(first, bounds)
    chain = _chain(text, starts, positions, groups, cuts)
    spare = np.empty(groups.largest, dtype=np.uint32)
    _sort_all_members(text, positions, chain, first, rows, spare, layout.seed_bytes)

    def unproved(begin: Any, end: Any) -> int:
        return int(_unproved(text, positions, chain, rows, first, layout.seed_bytes, begin, end))

    parts = np.linspace(0, rows.size, cuts.size, dtype=np.int64)
    if any(side_by_side(unproved, parts[:-1], parts[1:])):
        raise RuntimeError("the order of equal seeds could not be proved")
    nodes = build_nodes(text, positions, chain, rows, first, bounds, layout, cuts.size - 1)
    return Order(rows, bounds, *nodes)


def _chain(text: Array, starts: Array, positions: Array, groups: Groups, cuts: Array) -> Chain:
    """What follows each seed; the running hashes are written over the groups' hashes."""
    chain = Chain(
        sums=groups.scratch,
        powers=np.empty(LEVELS, dtype=np.uint64),
        opens=np.zeros(positions.size + 1, dtype=np.bool_),
        places=groups.places,
        settled=np.zeros(positions.size, dtype=np.bool_),
    )
    fill_powers(chain.powers)
    seeds = np.searchsorted(positions, starts[cuts].astype(positions.dtype))

    def link(document: Any, begin: Any, end: Any) -> None:
        chain_of(text, positions, starts, document, begin, end, chain.opens, chain.sums)

    side_by_side(link, cuts[:-1], seeds[:-1], seeds[1:])
    return chain
