"""Edit distance over tokens (Levenshtein, 1966): insertions, deletions and replacements, each counted as one."""

from collections.abc import Iterable, Sequence

import numpy as np


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """The fewest edits that turn one list of tokens into another."""
    if list(first) == list(second):
        return 0
    other = np.asarray(second, dtype=np.int64)
    places = np.arange(len(other) + 1)
    row = places.copy()
    for number, token in enumerate(first, 1):
        above = np.append(number, np.minimum(row[1:] + 1, row[:-1] + (other != token)))
        # An insertion costs one more than what stands to the left, which may be an insertion itself.
        row = np.minimum.accumulate(above - places) + places
    return int(row[-1])


def nearest(text: Sequence[int], others: Iterable[Sequence[int]]) -> int:
    """The edit distance to the nearest of some texts, of which there is at least one."""
    return min(edit_distance(text, other) for other in others)
