"""How good a score's ranking is where the truth is known: precision and recall at the top, beside a random choice."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, wilson

DEPTHS = (10, 100, 1000)


@dataclass(frozen=True)
class AtDepth:
    """The first `depth` of a ranking.

    Attributes:
        depth: how many were looked at.
        precision: share of them that repeat training text, with its Wilson interval.
        recall: share of all that do which stands among them.
        times_random: precision over that of a random choice; None where nothing repeats training text.
    """

    depth: int
    precision: Interval
    recall: float | None
    times_random: float | None


@dataclass(frozen=True)
class Calibration:
    """What exact matches say of one score.

    Attributes:
        generations: with a score.
        hits: of them, those that repeat training text.
        random: precision of a random choice, with its Wilson interval.
        at: the top at some depths, those that are no more than there are generations.
    """

    generations: int
    hits: int
    random: Interval
    at: tuple[AtDepth, ...]


def calibrate(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> Calibration | None:
    """Judge one score by exact matches.

    Args:
        scores: float64[n], higher is more suspicious; NaN is left out.
        hits: bool[n], whether each generation repeats training text.

    Returns:
        The judgement; None where nothing has a score.
    """
    known = ~np.isnan(scores)
    scores, hits = scores[known], hits[known]
    if not scores.size:
        return None
    found = np.cumsum(hits[np.argsort(-scores, kind="stable")])
    total = int(found[-1])
    return Calibration(
        generations=scores.size,
        hits=total,
        random=wilson(total, scores.size),
        at=tuple(
            _at(depth, int(found[depth - 1]), total, scores.size) for depth in DEPTHS if depth <= scores.size
        ),
    )


def _at(depth: int, found: int, total: int, generations: int) -> AtDepth:
    precision = wilson(found, depth)
    if not total:
        return AtDepth(depth, precision, None, None)
    return AtDepth(depth, precision, found / total, precision.estimate / (total / generations))
