"""Lists of token ids as Arrow columns, built whole and never one by one."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Positions = NDArray[np.int64]

LIST = pa.list_(pa.int32())


def framed_slices(ids: Ids, first: Positions, end: Positions, before: Ids, after: Ids) -> pa.ListArray:
    """Cut slices out of `ids`, each between the same tokens.

    Args:
        ids: int32[n], all tokens.
        first: int64[slices], where each slice starts.
        end: int64[slices], the position after its last token.
        before: int32, what stands in front of every slice.
        after: int32, what stands behind every slice.

    Returns:
        A list of int32 for each slice.
    """
    lengths = end - first
    offsets = np.concatenate(([0], (lengths + len(before) + len(after)).cumsum()))
    values = np.empty(offsets[-1], np.int32)
    starts = offsets[:-1] + len(before)
    within = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
    values[np.repeat(starts, lengths) + within] = ids[np.repeat(first, lengths) + within]
    for place, frame in ((offsets[:-1], before), (starts + lengths, after)):
        values[place[:, None] + np.arange(len(frame))] = frame
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values))
