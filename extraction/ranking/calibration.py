"""How good a score's ranking is where the truth is known: precision and recall at the top, beside a random choice."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, wilson
from extraction.ranking.candidates import suspicious_first

DEPTHS = (10, 100, 1000)


@dataclass(frozen=True)
class AtDepth:
    """The first `depth` of a ranking.

    Attributes:
        depth: how many were looked at.
        precision: share of them that repeat training text, with its Wilson interval.
        random: the same of as many drawn at random, with the interval that holds 95 % of such draws.
        recall: share of all that do which stands among them; None where nothing does.
        times_random: precision over that of a random choice; None where nothing repeats training text.
        beats_random: whether the precision is above what a random choice would give.
    """

    depth: int
    precision: Interval
    random: Interval
    recall: float | None
    times_random: float | None
    beats_random: bool


@dataclass(frozen=True)
class Calibration:
    """What exact matches say of one score.

    Attributes:
        generations: with a score.
        hits: of them, those that repeat training text.
        random: the share of these, with its Wilson interval.
        at: the top at some depths, those that are no more than there are generations.
    """

    generations: int
    hits: int
    random: Interval
    at: tuple[AtDepth, ...]


def calibrate(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> Calibration | None:
    """Judge one score by exact matches.

    Args:
        scores: float64[n], higher is more suspicious; NaN is left out. Of equal ones the first stands first.
        hits: bool[n], whether each generation repeats training text.

    Returns:
        The judgement; None where nothing has a score.
    """
    order = suspicious_first(scores)
    if not order.size:
        return None
    found = np.cumsum(hits[order])
    total, depths = int(found[-1]), [depth for depth in DEPTHS if depth <= order.size]
    return Calibration(
        generations=order.size,
        hits=total,
        random=wilson(total, order.size),
        at=tuple(_at(depth, int(found[depth - 1]), total, order.size) for depth in depths),
    )


def _at(depth: int, found: int, total: int, generations: int) -> AtDepth:
    precision, random = wilson(found, depth), random_choice(depth, total, generations)
    return AtDepth(
        depth=depth,
        precision=precision,
        random=random,
        recall=found / total if total else None,
        times_random=precision.estimate / random.estimate if total else None,
        beats_random=precision.estimate > random.high,
    )


def random_choice(depth: int, hits: int, generations: int, confidence: float = 0.95) -> Interval:
    """Precision of `depth` of `generations` drawn without replacement, `hits` of which repeat training text.

    The interval holds that share of all draws (hypergeometric distribution), so it says when a score beats chance.
    """
    from scipy.stats import hypergeom

    tail = (1 - confidence) / 2
    low, high = hypergeom(generations, hits, depth).ppf([tail, 1 - tail])
    return Interval(hits / generations, float(low) / depth, float(high) / depth, "hypergeometric")
