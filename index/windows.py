"""Counts many windows of one text from the occurrences of its pieces. Knows one segment at a time."""

from functools import partial

import numpy as np
import numpy.typing as npt

from index.corpus import grow
from index.query import QueryBuffer
from index.search import find_alignments
from index.segment import Segment

Int64 = npt.NDArray[np.int64]


def count_in_segment(
    segment: Segment, buffer: QueryBuffer, starts: Int64, ends: Int64
) -> tuple[Int64, Int64]:
    """Count documents and places that hold each window of a buffer; no window is a run, both bounds ascend.

    Returns:
        Two int64[n] arrays.
    """
    if not starts.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    least = int((ends - starts).min())
    span = (buffer.data, int(buffer.firsts[0]), int(buffer.lasts[0]))
    where, begins, stops = grow(partial(find_alignments, segment.tables, *span, least), 3)
    # An alignment covers the windows from the first that starts in it to the last that ends in it.
    low = np.searchsorted(starts, begins, side="left")
    high = np.searchsorted(ends, stops, side="right")
    keep = low < high
    where, begins, low, high = where[keep], begins[keep], low[keep], high[keep]
    order = np.lexsort((begins, where))
    repeats = (np.diff(where[order]) == 0) & (np.diff(begins[order]) == 0)
    once = order[np.concatenate([np.ones(min(1, order.size), dtype=np.bool_), ~repeats])]
    where, low, high = where[once], low[once], high[once]
    documents = np.searchsorted(segment.starts, where, side="right") - 1
    copies = segment.copies[documents + 1] - segment.copies[documents]
    places = _covered(low, high, copies, starts.size)
    return _covered(*_disjoint(documents, low, high, copies, starts.size), starts.size), places


def _disjoint(
    documents: Int64, low: Int64, high: Int64, copies: Int64, size: int
) -> tuple[Int64, Int64, Int64]:
    """Cut each document's runs of windows so that none overlap: a document counts once for a window."""
    order = np.lexsort((low, documents))
    documents, low, high, copies = documents[order], low[order], high[order], copies[order]
    if not documents.size:
        return low, high, copies
    # Runs of one document after the other on one line, so that one running maximum serves them all.
    rank = np.cumsum(np.append(0, np.diff(documents) != 0)) * (size + 1)
    reach = np.maximum.accumulate(rank + high)
    low = low.copy()
    low[1:] = np.maximum(low[1:], reach[:-1] - rank[1:])
    keep = low < high
    return low[keep], high[keep], copies[keep]


def _covered(low: Int64, high: Int64, weights: Int64, size: int) -> Int64:
    """Sum the weights of the half-open runs `low..high` that cover each of `size` places."""
    steps = np.zeros(size + 1, dtype=np.int64)
    np.add.at(steps, low, weights)
    np.subtract.at(steps, high, weights)
    return np.cumsum(steps)[:size]
