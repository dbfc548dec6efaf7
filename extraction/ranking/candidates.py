"""Picks what people check: the top of each score, near-copies dropped. Knows nothing of models."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Picking:
    """How candidates are picked.

    Attributes:
        count: candidates of each score.
        among: of so many at the top, drawn at random; None takes simply the top.
        seed: of the draw.
    """

    count: int = 100
    among: int | None = 1000
    seed: int = 0


def pick(scores: Floats, tokens: Sequence[Sequence[int]], picking: Picking) -> list[int]:
    """Pick candidates by one score, highest first.

    A candidate falls if at least half of its token trigrams, as a multiset, stand in one that is kept already.

    Args:
        scores: float64[n], higher is more suspicious; NaN is never picked.
        tokens: token ids of each generation.
        picking: how many, and from where.

    Returns:
        Places in `scores`, in the order of their ranks.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isnan(scores[order])]
    wanted = picking.count if picking.among is None else max(picking.among, picking.count)
    kept = _different(order.tolist(), tokens, wanted)
    if picking.among is None or len(kept) <= picking.count:
        return kept[: picking.count]
    drawn = np.random.default_rng(picking.seed).choice(len(kept), picking.count, replace=False)
    return [kept[n] for n in sorted(drawn.tolist())]


def _different(order: Sequence[int], tokens: Sequence[Sequence[int]], wanted: int) -> list[int]:
    """The first `wanted` of an order that are no near-copies of one before."""
    kept: list[int] = []
    # Only generations that share a trigram need to be compared.
    holders: dict[tuple[int, ...], dict[int, int]] = {}
    for n in order:
        if len(kept) == wanted:
            break
        trigrams = Counter(zip(tokens[n], tokens[n][1:], tokens[n][2:], strict=False))
        shared: Counter[int] = Counter()
        for trigram, times in trigrams.items():
            for other, held in holders.get(trigram, {}).items():
                shared[other] += min(times, held)
        if trigrams and shared and 2 * max(shared.values()) >= trigrams.total():
            continue
        kept.append(n)
        for trigram, times in trigrams.items():
            holders.setdefault(trigram, {})[n] = times
    return kept
