"""Intervals of rates and of the AUC. Knows nothing of scores' origin.

Sources: Wilson (1927); Newcombe (1998), method 10, for a difference; DeLong et al. (1988) in the form of Sun and
Xu (2014); Newcombe (2006), part 2, method 5, where the AUC leaves DeLong's method no variance, or too little.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DELONG, NEWCOMBE = "logit DeLong", "Newcombe"
WIDER = f"{DELONG} and {NEWCOMBE}, the outer limits"
TINY = 1e-9


@dataclass(frozen=True)
class Interval:
    """An estimate between its limits, and how they were found."""

    estimate: float
    low: float
    high: float
    method: str


def wilson(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Interval of a rate.

    Raises:
        ValueError: there are no trials.
    """
    if trials <= 0:
        raise ValueError("a rate needs at least one trial")
    z = normal_quantile(confidence)
    rate = hits / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials**2)) / (1 + z * z / trials)
    # At its ends a rate is its own limit; rounding would leave that a little inside.
    low = 0.0 if hits == 0 else max(0.0, middle - spread)
    high = 1.0 if hits == trials else min(1.0, middle + spread)
    return Interval(rate, low, high, "Wilson")


def rate_difference(
    hits: int, trials: int, other_hits: int, other_trials: int, confidence: float = 0.95
) -> Interval:
    """Interval of the difference of two independent rates, from their Wilson limits."""
    first, second = wilson(hits, trials, confidence), wilson(other_hits, other_trials, confidence)
    difference = first.estimate - second.estimate
    below = math.hypot(first.estimate - first.low, second.high - second.estimate)
    above = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(difference, difference - below, difference + above, NEWCOMBE)


def auc(members: Floats, others: Floats) -> float:
    """The chance that a member scores higher than another record, ties counting a half (Mann and Whitney).

    Args:
        members: float64[m], m > 0, no NaN.
        others: float64[n], n > 0, no NaN.
    """
    wins, _ = _placements(members, others)
    return float(wins.mean())


def auc_interval(members: Floats, others: Floats, confidence: float = 0.95) -> Interval:
    """The AUC with its interval: DeLong's variance on the logit scale.

    Where the AUC is 0 or 1 the logit breaks, and where the variance is 0 it says nothing: the limits are Newcombe's.
    """
    wins, losses = _placements(members, others)
    estimate = float(wins.mean())
    spread = _standard_error(wins, losses)
    if not 0.0 < estimate < 1.0 or spread == 0.0:
        return newcombe_interval(estimate, members.size, others.size, confidence)
    logit = math.log(estimate / (1 - estimate))
    half = normal_quantile(confidence) * spread / (estimate * (1 - estimate))
    return Interval(estimate, _expit(logit - half), _expit(logit + half), DELONG)


def wider_auc_interval(members: Floats, others: Floats, confidence: float = 0.95) -> Interval:
    """The AUC between the outer limits of DeLong's interval and Newcombe's, for decisions.

    DeLong's variance is estimated from the scores: two records on a side that happen to score alike, or scores that
    are all but constant, leave next to none of it. Newcombe's follows from the AUC and the cohorts' sizes.
    """
    found = auc_interval(members, others, confidence)
    steady = newcombe_interval(found.estimate, members.size, others.size, confidence)
    return Interval(found.estimate, min(found.low, steady.low), max(found.high, steady.high), WIDER)


def chance_of_auc_beyond(margin: float, members: int, others: int) -> float:
    """The chance that max(AUC, 1 - AUC) exceeds a margin where the score says nothing (normal approximation)."""
    from scipy.stats import norm

    deviation = math.sqrt((members + others + 1) / (12 * members * others))
    return float(2 * norm.sf((margin - 0.5) / deviation))


def normal_quantile(confidence: float) -> float:
    """How many standard deviations hold a share `confidence` of a normal distribution."""
    from scipy.stats import norm

    return float(norm.ppf((1 + confidence) / 2))


def _placements(members: Floats, others: Floats) -> tuple[Floats, Floats]:
    """For each member the share of others below it, for each other the share of members above; ties count a half."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([members, others]))
    wins = (ranks[: members.size] - rankdata(members)) / others.size
    losses = 1 - (ranks[members.size :] - rankdata(others)) / members.size
    return wins, losses


def _standard_error(wins: Floats, losses: Floats) -> float:
    """DeLong's; 0 where a cohort of one leaves it unknown."""
    if min(wins.size, losses.size) < 2:
        return 0.0
    return math.sqrt(wins.var(ddof=1) / wins.size + losses.var(ddof=1) / losses.size)


def newcombe_interval(estimate: float, members: int, others: int, confidence: float = 0.95) -> Interval:
    """An AUC's interval from its size and that of the cohorts alone.

    Args:
        estimate: of the AUC.
        members: how many there are, above 0.
        others: the same.
        confidence: of the interval.
    """
    from scipy.optimize import brentq

    z = normal_quantile(confidence)

    def beyond(theta: float) -> float:
        return abs(estimate - theta) - z * math.sqrt(_hanley_mcneil(theta, members, others))

    # At an estimate of 0 or 1 there is no variance: its own limit is itself, the other one lies inside.
    low = brentq(beyond, 0.0, min(estimate, 1 - TINY)) if estimate > 0 else 0.0
    high = brentq(beyond, max(estimate, TINY), 1.0) if estimate < 1 else 1.0
    return Interval(estimate, low, high, NEWCOMBE)


def _hanley_mcneil(theta: float, members: int, others: int) -> float:
    """The AUC's variance at `theta`, with the exponents that Newcombe gives Hanley and McNeil's formula."""
    effective = (members + others) / 2 - 1
    factor = 1 + effective * (1 - theta) / (2 - theta) + effective * theta / (1 + theta)
    return theta * (1 - theta) * factor / (members * others)


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value))
