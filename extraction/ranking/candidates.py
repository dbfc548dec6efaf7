"""Picks what people check: the top of each score, near-copies dropped. Knows nothing of models."""

from collections import Counter
from collections.abc import Iterable, Sequence
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

    @property
    def wanted(self) -> int:
        """How many different texts are drawn from."""
        return self.count if self.among is None else max(self.among, self.count)


def suspicious_first(scores: Floats) -> NDArray[np.int64]:
    """The places of all scores but NaN, the highest first; of equal ones the first stands first.

    Args:
        scores: float64[n], higher is more suspicious.
    """
    order = np.argsort(-scores, kind="stable")
    places: NDArray[np.int64] = order[: scores.size - np.count_nonzero(np.isnan(scores))]  # NaN sorts last
    return places


def draw(texts: int, picking: Picking) -> list[int]:
    """Draw the candidates from so many different texts at the top: their places there, in order, from 0."""
    if picking.among is None or texts <= picking.count:
        return list(range(min(texts, picking.count)))
    drawn = np.random.default_rng(picking.seed).choice(texts, picking.count, replace=False)
    return sorted(drawn.tolist())


def different(texts: Iterable[Sequence[int]], wanted: int) -> list[int]:
    """The places of the first `wanted` texts that are no near-copies of one kept before.

    A text falls if at least half of its token trigrams, as a multiset, stand in one that is kept already. The copy of
    an earlier text falls too, however short.

    Args:
        texts: token ids, the most suspicious first; read only as far as it takes.
        wanted: how many are looked for.
    """
    kept: list[int] = []
    seen: set[int] = set()  # a hash each: of a million copies none is compared again
    # Only texts that share a trigram need to be compared.
    holders: dict[tuple[int, ...], dict[int, int]] = {}
    for n, ids in enumerate(texts):
        known = hash(tuple(ids))
        if known in seen:
            continue
        seen.add(known)
        trigrams = Counter(zip(ids, ids[1:], ids[2:], strict=False))
        shared: Counter[int] = Counter()
        for trigram, times in trigrams.items():
            for other, held in holders.get(trigram, {}).items():
                shared[other] += min(times, held)
        if trigrams and shared and 2 * max(shared.values()) >= trigrams.total():
            continue
        kept.append(n)
        if len(kept) == wanted:
            break
        for trigram, times in trigrams.items():
            holders.setdefault(trigram, {})[n] = times
    return kept
