"""Exposure of a canary: log2 |R| - log2 rank among all ways to fill in its blank.

|R| counts the alternatives and the canary; other canaries are left out of a rank. Ties take the mean rank.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.canaries.skew_normal import fit, log_cdf

Floats = NDArray[np.float64]

RESAMPLES = 50
LARGEST_FIT = 20_000
TAKEN_TWICE = "the fit is judged by the sample that made it: its p-value is too large"


@dataclass(frozen=True)
class Exposure:
    """The exposure of one canary.

    Attributes:
        id: the canary's.
        log_perplexity: its score; lower is more memorised.
        rank: among the alternatives, 1 is the most memorised; None where it is extrapolated.
        ties: alternatives with the same score.
        exposure: bits.
        low: lower end of the 95 % interval of an extrapolated one, else the exposure itself.
        high: upper end.
    """

    id: str
    log_perplexity: float
    rank: float | None
    ties: int
    exposure: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """How well a skew-normal distribution describes the alternatives' scores.

    Attributes:
        shape: of the distribution.
        place: the same.
        scale: the same.
        statistic: Kolmogorov and Smirnov's.
        p_value: of the statistic, with `note`.
        note: why to take it with care.
    """

    shape: float
    place: float
    scale: float
    statistic: float
    p_value: float
    note: str = TAKEN_TWICE


def exact(ids: Sequence[str], scores: Floats, alternatives: Floats) -> list[Exposure]:
    """Exposure of canaries where every alternative was scored.

    Args:
        ids: the canaries'.
        scores: float64[c], their log-perplexities.
        alternatives: float64[n], log-perplexities of all other fillings.

    Raises:
        ValueError: a score is no finite number: a NaN is not "safe".
    """
    return ranked(ids, scores, alternatives, alternatives.size + 1)


def ranked(ids: Sequence[str], scores: Floats, alternatives: Floats, space: int) -> list[Exposure]:
    """Exposure of canaries where every alternative that may come before them was scored.

    Args:
        ids: the canaries'.
        scores: float64[c], their log-perplexities.
        alternatives: float64[n], those of all other fillings up to the highest of the canaries' own.
        space: |R|, all alternatives and one canary.

    Raises:
        ValueError: a score is no finite number: a NaN is not "safe".
    """
    _check(scores, alternatives)
    ordered = np.sort(alternatives)
    found = []
    for name, score in zip(ids, scores.tolist(), strict=True):
        below, upto = np.searchsorted(ordered, score, "left"), np.searchsorted(ordered, score, "right")
        ties = int(upto - below)
        rank = 1 + int(below) + ties / 2
        bits = math.log2(space) - math.log2(rank)
        found.append(Exposure(name, score, rank, ties, bits, bits, bits))
    return found


def extrapolated(
    ids: Sequence[str], scores: Floats, sample: Floats, seed: int = 0
) -> tuple[list[Exposure], Fit]:
    """Exposure of canaries from a sample of the alternatives: -log2 of the chance of so low a score.

    A skew-normal distribution is fitted to the sample; intervals come from fits to resamples of it.

    Args:
        ids: the canaries'.
        scores: float64[c], their log-perplexities.
        sample: float64[n], log-perplexities of alternatives drawn at random; at least 100, not all the same.
        seed: of the resampling.

    Raises:
        ValueError: a score is no finite number, or the sample is too small to fit.
    """
    from scipy.stats import kstest, skewnorm

    _check(scores, sample)
    if sample.size < 100 or (sample == sample[0]).all():
        raise ValueError("a fit needs at least 100 alternatives whose scores differ")
    rng = np.random.default_rng(seed)
    some = sample if sample.size <= LARGEST_FIT else rng.choice(sample, LARGEST_FIT, replace=False)
    fitted = fit(some)  # of a file in order of its scores the first would be the lowest
    again = [fit(rng.choice(sample, min(sample.size, LARGEST_FIT))) for _ in range(RESAMPLES)]
    found = []
    for name, score in zip(ids, scores.tolist(), strict=True):
        bits = -log_cdf(score, fitted) / math.log(2)
        low, high = np.quantile([-log_cdf(score, other) / math.log(2) for other in again], [0.025, 0.975])
        ties = int((sample == score).sum())
        found.append(Exposure(name, score, None, ties, bits, float(min(low, bits)), float(max(high, bits))))
    tested = kstest(sample, skewnorm(fitted.shape, fitted.place, fitted.scale).cdf)
    described = Fit(fitted.shape, fitted.place, fitted.scale, float(tested.statistic), float(tested.pvalue))
    return found, described


def _check(scores: Floats, alternatives: Floats) -> None:
    if not np.isfinite(scores).all() or not np.isfinite(alternatives).all():
        raise ValueError("a score is no finite number; score that record again")
