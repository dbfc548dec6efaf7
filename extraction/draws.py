"""The random numbers that requests draw, each a function of (run seed, family, stream, request number)."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

SEED, PLACE, LENGTH, WORD, WORDING = range(5)  # one stream of numbers for each choice


class Draws:
    """The numbers of some requests of one family."""

    def __init__(self, run_seed: int, family: str, numbers: Numbers) -> None:
        """Name the requests.

        Args:
            run_seed: the seed of the whole run.
            family: the prompt family.
            numbers: int64[requests], their numbers within the family.
        """
        self._name = f"{run_seed}/{family}"
        self._numbers = numbers.astype(np.uint64)

    def __len__(self) -> int:
        return len(self._numbers)

    def words(self, stream: int) -> NDArray[np.uint64]:
        """64 random bits for each request (SplitMix64 of a key that is hashed from the names)."""
        key = hashlib.blake2b(f"{self._name}/{stream}".encode(), digest_size=8).digest()
        state = np.uint64(int.from_bytes(key, "little")) + self._numbers * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))

    def below(self, stream: int, bound: int) -> Numbers:
        """A number from 0 to `bound` - 1 for each request; the bias is below bound / 2**64."""
        return (self.words(stream) % np.uint64(bound)).astype(np.int64)
