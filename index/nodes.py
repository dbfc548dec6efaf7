"""Orders the members of crowded seeds by the text that follows, whatever their left context.

A seed may stand in many documents with other text on its left each time: a template, a licence below a header. To look
at every group would cost as many steps as there are documents. The groups of such a seed, sorted by what stands before
them, form a tree; a node is a stretch of more than `CROWD` groups that share the bytes before them up to some distance.
Its rows, sorted by what follows, give the longest match that reaches at least so far to the left by bisection.
"""

from typing import Any, NamedTuple

import numpy as np

from index.chains import Chain, out_of_order, sort_members
from index.jit import Array, kernel, plain_kernel, same_words
from index.layout import DOCUMENT_MARK, Layout
from index.threads import side_by_side

CROWD = 8
# How `order.py` marks the first row of a group whose hash begins like that of the row before it.
SAME_HASH = 1


class _Grouped(NamedTuple):
    """Seeds sorted by group: the arguments of `build_nodes` that every kernel reads."""

    text: Array
    positions: Array
    rows: Array
    first: Array
    bounds: Array


@plain_kernel
def _shared_left(text: Array, i: Any, j: Any, limit: Any) -> Any:
    """How many bytes before two positions are equal, at most `limit`, within their documents."""
    n = 0
    while n < limit and text[i - 1 - n] == text[j - 1 - n] and text[i - 1 - n] != DOCUMENT_MARK:
        n += 1
    return n


@kernel
def _new_hash(g: _Grouped, group: Any) -> Any:
    """The next group whose hash begins unlike that of the one before."""
    while group < g.bounds.size - 1 and g.first[g.bounds[group]] == SAME_HASH:
        group += 1
    return group


@kernel
def _roots(g: _Grouped, begin: Any, end: Any, words: Any, out: Array) -> Any:
    """Write first and last group of each crowded seed among some groups; return how many there are."""
    n, low = 0, begin
    while low < end:
        high = low + 1
        while high < end and g.first[g.bounds[high]] == SAME_HASH:
            at = g.positions[g.rows[g.bounds[low]]]
            if not same_words(g.text, at, g.text, g.positions[g.rows[g.bounds[high]]], words):
                break
            high += 1
        if high - low > CROWD:
            out[n, 0], out[n, 1] = low, high
            n += 1
        low = high
    return n


@kernel
def _descend(g: _Grouped, roots: Array, gap: Any, out: Array) -> Any:
    """Write all nodes, each before those inside it, as far as `out` has room; return how many there are."""
    text, positions, rows, bounds = g.text, g.positions, g.rows, g.bounds
    stack = np.empty((256 * (gap + 1), 2), dtype=np.int64)
    n = 0
    for root in range(roots.shape[0]):
        stack[0] = roots[root]
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = stack[depth]
            if n < out.shape[0]:
                out[n, 0], out[n, 1] = low, high
            n += 1
            shared = _shared_left(text, positions[rows[bounds[low]]], positions[rows[bounds[high - 1]]], gap)
            if shared >= gap:
                continue
            end = high
            for group in range(high - 1, low - 1, -1):
                byte = text[positions[rows[bounds[group]]] - 1 - shared]
                if group == low or text[positions[rows[bounds[group - 1]]] - 1 - shared] != byte:
                    if end - group > CROWD and end - group < high - low:
                        stack[depth, 0], stack[depth, 1] = group, end
                        depth += 1
                    end = group
    return n


@kernel
def _fill(g: _Grouped, chain: Chain, nodes: Array, node_bounds: Array, start: Any, out: Array) -> Any:
    """Sort the rows of each root, and pass them down; return how many neighbours are in the wrong order."""
    wrong = 0
    spare = np.empty(0, dtype=np.uint32)
    parents = np.empty(1024, dtype=np.int64)
    depth = 0
    for node in range(nodes.shape[0]):
        low, high = nodes[node, 0], nodes[node, 1]
        first, last = node_bounds[node], node_bounds[node + 1]
        begin, end = np.int64(g.bounds[low]), np.int64(g.bounds[high])
        while depth > 0 and nodes[parents[depth - 1], 1] <= low:
            depth -= 1
        if depth == 0:
            out[first:last] = g.rows[begin:end]
            if spare.size < last - first:
                spare = np.empty(last - first, dtype=np.uint32)
            sort_members(g.text, g.positions, chain, out, spare, first, last, start)
            for r in range(first + 1, last):
                wrong += out_of_order(g.text, g.positions, chain, out[r - 1], out[r], start)
        else:
            parent = parents[depth - 1]
            n = first
            for r in range(node_bounds[parent], node_bounds[parent + 1]):
                if begin <= chain.places[out[r], 0] and chain.places[out[r], 0] < end:
                    out[n] = out[r]
                    n += 1
        parents[depth] = node
        depth += 1
    return wrong


def build_nodes(
    text: Array,
    positions: Array,
    chain: Chain,
    rows: Array,
    first: Array,
    bounds: Array,
    layout: Layout,
    threads: int,
) -> tuple[Array, Array, Array]:
    """Make the nodes of all crowded seeds.

    Args:
        text: uint8, documents between document marks.
        positions: [n], the seeds.
        chain: what follows them, all groups settled.
        rows: uint32[n], seeds sorted by group.
        first: uint8[n], 0 but for each group's first row, there `SAME_HASH` or something else.
        bounds: [g + 1], where each group's rows begin.
        layout: seed length and gap.
        threads: how many share the work.

    Returns:
        Nodes, their bounds and their rows, as in `order.Order`.

    Raises:
        RuntimeError: their order could not be proved.
    """
    g = _Grouped(text, positions, rows, first, bounds)
    # A seed's groups stand side by side, and all their hashes are equal: it is never cut.
    cuts = [_new_hash(g, group) for group in np.linspace(0, bounds.size - 1, threads + 1, dtype=np.int64)]
    found = side_by_side(lambda begin, end: _nodes_among(g, begin, end, layout), cuts[:-1], cuts[1:])
    nodes = np.concatenate(found)
    node_bounds = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(bounds[nodes[:, 1]] - bounds[nodes[:, 0]], out=node_bounds[1:])
    node_rows = np.empty(node_bounds[-1], dtype=np.uint32)

    def fill(begin: Any, end: Any) -> int:
        here = slice(begin, end + 1)
        return int(_fill(g, chain, nodes[begin:end], node_bounds[here], layout.seed_bytes, node_rows))

    shares = np.cumsum([0, *map(len, found)])
    if any(side_by_side(fill, shares[:-1], shares[1:])):
        raise RuntimeError("the order of crowded seeds could not be proved")
    return nodes, node_bounds, node_rows


def _nodes_among(g: _Grouped, begin: Any, end: Any, layout: Layout) -> Array:
    """The nodes of all crowded seeds among some groups."""
    room = np.empty(((end - begin) // (CROWD + 1), 2), dtype=np.int64)
    roots = room[: _roots(g, begin, end, layout.words, room)]
    nodes = np.empty((2 * len(roots), 2), dtype=np.int64)
    while (count := _descend(g, roots, layout.gap, nodes)) > len(nodes):
        nodes = np.empty((count, 2), dtype=np.int64)
    return nodes[:count]
