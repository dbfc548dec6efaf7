"""What an attack achieves at one threshold, and at the low false-positive rates where it matters.

Scores: higher means member. Knows nothing of models and files.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, auc, rate_difference, wilson

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RateAt:
    """The true-positive rate at a false-positive rate.

    Attributes:
        target: the false-positive rate asked for.
        allowed: false positives that it allows, rounded down.
        realised: the false-positive rate that ties left.
        true_positive_rate: with its Wilson interval.
        threshold: records that score above it are called members.
    """

    target: float
    allowed: int
    realised: float
    true_positive_rate: Interval
    threshold: float


@dataclass(frozen=True)
class Gap:
    """Rates at a threshold fixed beforehand; records that reach it are called members.

    Attributes:
        threshold: of the score.
        true_positive_rate: with its Wilson interval.
        false_positive_rate: the same.
        gap: their difference, with Newcombe's interval.
    """

    threshold: float
    true_positive_rate: Interval
    false_positive_rate: Interval
    gap: Interval


def rate_at(members: Floats, others: Floats, target: float) -> RateAt:
    """Count members above the lowest threshold that lets no more than `target` of the others pass.

    Below `1 / target` others no false positive is allowed at all.

    Args:
        members: float64[m], m > 0, no NaN.
        others: float64[n], n > 0, no NaN.
        target: at least 0 and below 1.
    """
    allowed = math.floor(target * others.size)
    threshold = float(np.partition(others, others.size - 1 - allowed)[others.size - 1 - allowed])
    return RateAt(
        target=target,
        allowed=allowed,
        realised=float((others > threshold).mean()),
        true_positive_rate=wilson(int((members > threshold).sum()), members.size),
        threshold=threshold,
    )


def gap_at(members: Floats, others: Floats, threshold: float) -> Gap:
    """Rates of members and others that reach a threshold, and their difference."""
    hits, false = int((members >= threshold).sum()), int((others >= threshold).sum())
    return Gap(
        threshold=threshold,
        true_positive_rate=wilson(hits, members.size),
        false_positive_rate=wilson(false, others.size),
        gap=rate_difference(hits, members.size, false, others.size),
    )


def roc(members: Floats, others: Floats) -> tuple[Floats, Floats]:
    """False- and true-positive rates at every threshold, from (0, 0) to (1, 1); equal scores are one step."""
    scores = np.concatenate([members, others])
    order = np.argsort(-scores, kind="stable")
    steps = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    true = np.cumsum(order < members.size)[steps] / members.size
    false = np.cumsum(order >= members.size)[steps] / others.size
    return np.append(0.0, false), np.append(0.0, true)


def bootstrap_auc(
    members: Floats, others: Floats, seed: int, resamples: int = 1000, confidence: float = 0.95
) -> Interval:
    """The AUC with a percentile interval from resampling members and others apart, with replacement."""
    rng = np.random.default_rng(seed)
    levels = np.unique(np.concatenate([members, others]))
    own, other = np.searchsorted(levels, members), np.searchsorted(levels, others)
    drawn = []
    for _ in range(resamples):  # counted by level: no sorting in here
        wins = np.bincount(rng.choice(own, own.size), minlength=levels.size)
        losses = np.bincount(rng.choice(other, other.size), minlength=levels.size)
        drawn.append((wins * (np.cumsum(losses) - losses / 2)).sum() / (own.size * other.size))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(auc(members, others), float(low), float(high), "stratified bootstrap")
