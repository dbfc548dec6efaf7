"""Orders the members of crowded seeds by the text that follows, whatever their left context.

A seed may stand in many documents with other text on its left each time: a template, a licence below a header. To look
at every group would cost as many steps as there are documents. The groups of such a seed, sorted by what stands before
them, form a tree; a node is a stretch of more than `CROWD` groups that share the bytes before them up to some distance.
Its rows, sorted by what follows, give the longest match that reaches at least so far to the left by bisection.
"""

from typing import Any

import numpy as np

from index.chains import Chain, out_of_order, sort_members
from index.jit import Array, kernel, plain_kernel, same_words
from index.layout import DOCUMENT_MARK, Layout

CROWD = 8
# How `order.py` marks the first row of a group whose hash begins like that of the row before it.
SAME_HASH = 1


@plain_kernel
def _shared_left(text: Array, i: Any, j: Any, limit: Any) -> Any:
    """How many bytes before two positions are equal, at most `limit`, within their documents."""
    n = 0
    while n < limit and text[i - 1 - n] == text[j - 1 - n] and text[i - 1 - n] != DOCUMENT_MARK:
        n += 1
    return n


@plain_kernel
def _roots(
    text: Array, positions: Array, rows: Array, first: Array, bounds: Array, words: Any, out: Array
) -> Any:
    """Write first and last group of each crowded seed; return how many there are."""
    n = low = 0
    while low < bounds.size - 1:
        high = low + 1
        while high < bounds.size - 1 and first[bounds[high]] == SAME_HASH:
            at = positions[rows[bounds[low]]]
            if not same_words(text, at, text, positions[rows[bounds[high]]], words):
                break
            high += 1
        if high - low > CROWD:
            if n < out.shape[0]:
                out[n, 0], out[n, 1] = low, high
            n += 1
        low = high
    return n


@kernel
def _descend(
    text: Array, positions: Array, rows: Array, bounds: Array, roots: Array, gap: Any, out: Array
) -> Any:
    """Write all nodes, each before those inside it; return how many nodes, and rows in them, there are."""
    stack = np.empty((256 * (gap + 1), 2), dtype=np.int64)
    n, size = 0, np.int64(0)
    for root in range(roots.shape[0]):
        stack[0] = roots[root]
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = stack[depth]
            if n < out.shape[0]:
                out[n, 0], out[n, 1] = low, high
            n += 1
            size += np.int64(bounds[high]) - np.int64(bounds[low])
            shared = _shared_left(text, positions[rows[bounds[low]]], positions[rows[bounds[high - 1]]], gap)
            if shared >= gap:
                continue
            end = high
            for g in range(high - 1, low - 1, -1):
                byte = text[positions[rows[bounds[g]]] - 1 - shared]
                if g == low or text[positions[rows[bounds[g - 1]]] - 1 - shared] != byte:
                    if end - g > CROWD and end - g < high - low:
                        stack[depth, 0], stack[depth, 1] = g, end
                        depth += 1
                    end = g
    return n, size


@kernel
def _fill(
    text: Array, positions: Array, chain: Chain, rows: Array, bounds: Array, nodes: Array, start: Any,
    node_bounds: Array, out: Array,
) -> Any:  # fmt: skip
    """Sort the rows of each root, and pass them down; return how many neighbours are in the wrong order."""
    wrong = 0
    spare = np.empty(0, dtype=np.uint32)
    parents = np.empty(1024, dtype=np.int64)
    depth = 0
    node_bounds[0] = 0
    for node in range(nodes.shape[0]):
        low, high = nodes[node, 0], nodes[node, 1]
        first = node_bounds[node]
        begin, end = np.int64(bounds[low]), np.int64(bounds[high])
        last = first + end - begin
        node_bounds[node + 1] = last
        while depth > 0 and nodes[parents[depth - 1], 1] <= low:
            depth -= 1
        if depth == 0:
            out[first:last] = rows[begin:end]
            if spare.size < last - first:
                spare = np.empty(last - first, dtype=np.uint32)
            sort_members(text, positions, chain, out, spare, first, last, start)
            for r in range(first + 1, last):
                wrong += out_of_order(text, positions, chain, out[r - 1], out[r], start)
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
    text: Array, positions: Array, chain: Chain, rows: Array, first: Array, bounds: Array, layout: Layout
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

    Returns:
        Nodes, their bounds and their rows, as in `order.Order`.

    Raises:
        RuntimeError: their order could not be proved.
    """
    asked = (text, positions, rows, first, bounds, layout.words)
    roots = np.empty((_roots(*asked, np.empty((0, 2), np.int64)), 2), np.int64)
    _roots(*asked, roots)
    arguments = (text, positions, rows, bounds, roots, layout.gap)
    count, size = _descend(*arguments, np.empty((0, 2), dtype=np.int64))
    nodes = np.empty((count, 2), dtype=np.int64)
    _descend(*arguments, nodes)
    node_bounds, node_rows = np.zeros(count + 1, dtype=np.int64), np.empty(size, dtype=np.uint32)
    start = layout.seed_bytes
    if _fill(text, positions, chain, rows, bounds, nodes, start, node_bounds, node_rows):
        raise RuntimeError("the order of crowded seeds could not be proved")
    return nodes, node_bounds, node_rows
