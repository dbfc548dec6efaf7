"""Intervals of the extracted share, over requests: tokens of one request are no independent sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.growth import Estimate

Ints = NDArray[np.int64]

NO_TOKENS = "nothing was generated"
FEW_HITS = "few requests hit: limits from the number of requests that hit"

_FEW = 10
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Stratum:
    """One prompt family's requests.

    Attributes:
        extracted: int64[requests], extracted tokens of each.
        generated: int64[requests], generated tokens of each.
        min_tokens: the fewest tokens that a request that hits extracts: those of a window.
        max_tokens: the most tokens that a request can generate.
    """

    extracted: Ints
    generated: Ints
    min_tokens: int
    max_tokens: int


def clopper_pearson(hits: int, requests: int, confidence: float = _CONFIDENCE) -> tuple[float, float]:
    """Exact interval of the chance that a request hits, Clopper and Pearson (1934)."""
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, hits, requests - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, requests - hits)) if hits < requests else 1.0
    return low, high


def share_interval(strata: Sequence[Stratum]) -> Estimate:
    """The extracted share of all strata together, with a 95 % interval.

    Where a stratum has fewer than ten requests that hit, its limits are those of the share of requests that hit,
    times the fewest and the most extracted tokens that a hit can have over the mean length; the limits of several
    strata are then added up at a confidence that holds for all of them at once. Nothing extracted is not an upper
    limit of 0.
    """
    used = [stratum for stratum in strata if len(stratum.generated)]
    total = sum(int(stratum.generated.sum()) for stratum in used)
    if not total:
        return Estimate(None, reason=NO_TOKENS)
    value = sum(int(stratum.extracted.sum()) for stratum in used) / total
    if any(np.count_nonzero(stratum.extracted) < _FEW for stratum in used):
        confidence = 1 - (1 - _CONFIDENCE) / len(used)
        limits = [_limits(stratum, confidence) for stratum in used]
        low, high = (sum(limit[end] for limit in limits) / total for end in (0, 1))
        return Estimate(value, min(low, value), min(1.0, max(high, value)), FEW_HITS)
    margin = 1.959964 * math.sqrt(sum(_variance(stratum) for stratum in used)) / total
    factor = math.exp(margin / value)
    return Estimate(value, value / factor, min(1.0, value * factor))


def _variance(stratum: Stratum) -> float:
    """Variance of the number of extracted tokens at the given number of generated ones (ratio estimator)."""
    rest = stratum.extracted - stratum.generated * (stratum.extracted.sum() / max(stratum.generated.sum(), 1))
    size = len(rest)
    return float(size / (size - 1) * (rest**2).sum()) if size > 1 else 0.0


def _limits(stratum: Stratum, confidence: float) -> tuple[float, float]:
    """Limits of the number of extracted tokens."""
    requests, hits = len(stratum.extracted), int(np.count_nonzero(stratum.extracted))
    low, high = clopper_pearson(hits, requests, confidence)
    return low * requests * stratum.min_tokens, min(high * requests * stratum.max_tokens, _most(stratum))


def _most(stratum: Stratum) -> float:
    return float(max(int(stratum.generated.sum()), int(stratum.extracted.sum())))
