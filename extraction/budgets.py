"""Which requests count at a budget: of each prompt family the shortest prefix that reaches its share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cutoffs:
    """The prefixes of one prompt family, one for each budget.

    Attributes:
        requests: int64[budgets], how many of the family's requests count, the one that crosses whole.
        tokens: int64[budgets], the tokens that those really generated.
        reached: bool[budgets], false where all requests together fall short; then all of them count.
    """

    requests: Ints
    tokens: Ints
    reached: NDArray[np.bool_]


def tokens_needed(share: float, budget: int) -> int:
    """Tokens of a family's part of a budget, rounded up; the share counts as the decimal it is written as."""
    needed = Fraction(repr(float(share))) * budget
    return -(-needed.numerator // needed.denominator)


def prefix_cutoffs(
    lengths: Mapping[str, Ints], shares: Mapping[str, float], budgets: Sequence[int]
) -> dict[str, Cutoffs]:
    """Cut each family's requests at each budget.

    Args:
        lengths: for each family the generated tokens of its requests, in order of their numbers from 0.
        shares: each family's share of every budget.
        budgets: in tokens over all families.

    Returns:
        the prefixes of each family of `shares`, in the order of `budgets`.

    Raises:
        ValueError: requests of a family without a share, or a negative length.
    """
    if unknown := set(lengths) - set(shares):
        raise ValueError(f"requests of families without a share: {', '.join(sorted(unknown))}")
    return {family: _cut(lengths.get(family, ()), share, budgets) for family, share in shares.items()}


def _cut(lengths: Ints | tuple[()], share: float, budgets: Sequence[int]) -> Cutoffs:
    sizes = np.asarray(lengths, dtype=np.int64)
    if len(sizes) and sizes.min() < 0:
        raise ValueError("a generation has a negative length")
    total = np.concatenate([[0], np.cumsum(sizes)])
    needed = np.array([tokens_needed(share, budget) for budget in budgets], dtype=np.int64)
    requests = np.minimum(np.searchsorted(total, needed, side="left"), len(sizes)).astype(np.int64)
    return Cutoffs(requests, total[requests], total[requests] >= needed)
