"""Seeded sparse random projection of flattened gradients: lengths and angles stay nearly as they are.

Each value goes, with a random sign, to one random place in each of four blocks of the result. The mean of a projected
squared length is the length's own, its relative deviation at most sqrt(2 / width). Source: Kane and Nelson (2014).
"""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCKS = 4


@dataclass(frozen=True)
class Projection:
    """What each of `values` coordinates is added to.

    Attributes:
        matrix: sparse float32[width, values], `BLOCKS` entries in each column.
    """

    matrix: Any

    @classmethod
    def drawn(cls, values: int, width: int, seed: int, name: str) -> "Projection":
        """Draw the projection of one parameter: the same for a seed and a name, and others independent of it.

        Args:
            values: of the parameter.
            width: of the result; a multiple of `BLOCKS`.
            seed: at least 0.
            name: of the parameter.

        Raises:
            ValueError: the width is no multiple of `BLOCKS`.
        """
        from scipy.sparse import csc_array

        if width % BLOCKS:
            raise ValueError(f"the width of a projection must be a multiple of {BLOCKS}, not {width}")
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        size = width // BLOCKS
        places = rng.integers(size, size=(values, BLOCKS), dtype=np.int32) + np.arange(BLOCKS) * size
        signs = rng.integers(2, size=(values, BLOCKS), dtype=np.int8) * 2 - 1
        columns = np.arange(0, values * BLOCKS + 1, BLOCKS)
        entries = (signs.ravel() / np.float32(BLOCKS**0.5), places.ravel(), columns)
        return cls(csc_array(entries, shape=(width, values), dtype=np.float32).tocsr())

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Project rows.

        Args:
            rows: float32[n, values].

        Returns:
            float32[n, width].
        """
        projected: NDArray[np.float32] = (self.matrix @ rows.T).T
        return projected
