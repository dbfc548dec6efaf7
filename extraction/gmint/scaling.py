"""Brings features of any size to one: gradients of what a model knows by heart are thousands of times smaller."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Places = NDArray[np.int64] | Sequence[int]

COLUMNS = 1024  # read at a time, 4 KiB of each row: a page of the file
CONSTANT = 1e-6  # standard deviation below which a column only differs by rounding


@dataclass(frozen=True)
class Scaling:
    """asinh of each value over the usual size of its column, then standardised.

    asinh is linear below that size and logarithmic above it: a thousandth of the usual gradient and a hundredth stay
    apart, and a few huge ones do not drown the rest.

    Attributes:
        size: float32[features], the median of what is not 0.
        mean: float32[features].
        deviation: float32[features], 1 where a column is constant.
    """

    size: Rows
    mean: Rows
    deviation: Rows

    @classmethod
    def fitted(cls, features: Rows, places: Places) -> "Scaling":
        """Look at some rows, and at no others.

        Args:
            features: float32[samples, features], may be mapped from a file.
            places: of the rows that may be learnt from, at least one.
        """
        parts = [
            _statistics(np.asarray(features[places, start : start + COLUMNS]))
            for start in range(0, features.shape[1], COLUMNS)
        ]
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def __call__(self, rows: Rows) -> Rows:
        """Scale rows: float32[n, features] to the same."""
        scaled: Rows = (np.arcsinh(rows / self.size) - self.mean) / self.deviation
        return scaled


def _statistics(columns: Rows) -> tuple[Rows, Rows, Rows]:
    present = np.where(columns == 0, np.nan, np.abs(columns))
    known = ~np.isnan(present).all(axis=0)
    size = np.ones(columns.shape[1], dtype=np.float32)
    size[known] = np.nanmedian(present[:, known], axis=0)
    scaled = np.arcsinh(columns / size)
    deviation = scaled.std(axis=0)
    return size, scaled.mean(axis=0), np.where(deviation > CONSTANT, deviation, np.float32(1))
