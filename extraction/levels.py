"""At which of ascending budgets things are first counted: from the first one whose prefix of requests holds them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from extraction.budgets import Cutoffs

Ints = NDArray[np.int64]
LevelOf = NDArray[np.int16]


class Levels:
    """At which of ascending budgets things are first counted, over all families and in each one."""

    def __init__(self, families: Sequence[str], cutoffs: Mapping[str, Cutoffs]) -> None:
        """Take the prefixes of `families`, whose budgets must ascend."""
        self._requests = [cutoffs[name].requests for name in families]
        self.budgets = len(self._requests[0]) if families else 0

    def of_requests(self, family: NDArray[np.int16], number: Ints) -> LevelOf:
        """The first budget that holds each request, as its place; the number of budgets where none does."""
        level = np.full(len(number), self.budgets, dtype=np.int16)
        for code, requests in enumerate(self._requests):
            rows = np.flatnonzero(family == code)
            level[rows] = np.searchsorted(requests, number[rows], side="right")
        return level

    def first(self, things: NDArray[np.integer], levels: LevelOf, count: int) -> LevelOf:
        """The least level of each of `count` things, given by their places."""
        least = np.full(count, self.budgets, dtype=np.int16)
        np.minimum.at(least, things, levels)
        return least

    def totals(self, first: LevelOf) -> Ints:
        """How many things each budget counts; int64[budgets]."""
        return np.cumsum(np.bincount(first, minlength=self.budgets + 1))[: self.budgets].astype(np.int64)
