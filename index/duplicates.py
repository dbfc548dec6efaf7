"""Finds documents that several segments hold, so that each distinct document is listed once."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from index.segment import Segment

Place = tuple[int, int]


def repeated_documents(segments: Sequence[Segment]) -> dict[Place, Place]:
    """Map each document that an earlier segment holds too to its first place, as (segment, document)."""
    if len(segments) < 2:
        return {}
    bounds = np.cumsum([0, *(segment.hashes.shape[0] for segment in segments)])
    hashes = np.concatenate([segment.hashes for segment in segments])
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    changes = np.flatnonzero((hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)) + 1
    edges = np.concatenate([[0], changes, [order.size]])
    repeated: dict[Place, Place] = {}
    for run in np.flatnonzero(np.diff(edges) > 1).tolist():
        places = [_place(bounds, row) for row in order[edges[run] : edges[run + 1]].tolist()]
        repeated |= _equal_texts(segments, places)
    return repeated


def _equal_texts(segments: Sequence[Segment], places: Sequence[Place]) -> dict[Place, Place]:
    """Two texts may share a hash: only equal bytes make them one document."""
    firsts: dict[bytes, Place] = {}
    repeated = {}
    for segment, document in places:
        first = firsts.setdefault(segments[segment].document(document), (segment, document))
        if first != (segment, document):
            repeated[segment, document] = first
    return repeated


def _place(bounds: npt.NDArray[np.int64], row: int) -> Place:
    segment = int(np.searchsorted(bounds, row, side="right")) - 1
    return segment, row - int(bounds[segment])
