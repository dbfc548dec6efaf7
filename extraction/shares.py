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

    @property
    def counts(self) -> "HitCounts":
        """What limits from the number of requests that hit need to know."""
        return HitCounts(
            requests=len(self.extracted),
            hits=int(np.count_nonzero(self.extracted)),
            generated=int(self.generated.sum()),
            extracted=int(self.extracted.sum()),
            min_tokens=self.min_tokens,
            max_tokens=self.max_tokens,
        )


@dataclass(frozen=True)
class HitCounts:
    """One prompt family's requests as counts.

    Attributes:
        requests: all of them.
        hits: those that extracted anything.
        generated: tokens that they generated.
        extracted: tokens that they extracted.
        min_tokens: the fewest tokens that a request that hits extracts.
        max_tokens: the most tokens that a request can generate.
    """

    requests: int
    hits: int
    generated: int
    extracted: int
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
    counts = [stratum.counts for stratum in used]
    total = sum(own.generated for own in counts)
    if not total:
        return Estimate(None, reason=NO_TOKENS)
    value = sum(own.extracted for own in counts) / total
    if _few(counts):
        low, high = hit_limits(counts, _CONFIDENCE)
        return Estimate(value, min(low, value), max(high, value), FEW_HITS)
    factor = math.exp(
        _normal(_CONFIDENCE) * math.sqrt(sum(_variance(stratum) for stratum in used)) / total / value
    )
    return Estimate(value, value / factor, min(1.0, value * factor))


def upper_share(share: float, high: float, families: Sequence[HitCounts], confidence: float) -> float:
    """The upper end of an extracted share's interval at any confidence, from what `share_interval` found at 95 %.

    Args:
        share: the share of all families together.
        high: the upper end of its 95 % interval.
        families: every family's requests.
        confidence: of the two-sided interval whose upper end is asked for.

    Returns:
        the bound, at most 1; never below `share`, and above 0 where nothing was extracted.
    """
    if _few(families) or share <= 0:
        return max(hit_limits(families, confidence)[1], share)
    factor = math.pow(high / share, _normal(confidence) / _normal(_CONFIDENCE))
    return min(1.0, share * factor)


def hit_limits(families: Sequence[HitCounts], confidence: float) -> tuple[float, float]:
    """Limits of the extracted share from the number of requests that hit, all families at once (Bonferroni)."""
    used = [own for own in families if own.requests]
    total = sum(own.generated for own in used)
    limits = [_limits(own, 1 - (1 - confidence) / len(used)) for own in used]
    low, high = (sum(limit[end] for limit in limits) / total for end in (0, 1))
    return low, min(1.0, high)


def _few(families: Sequence[HitCounts]) -> bool:
    return any(own.hits < _FEW for own in families if own.requests)


def _normal(confidence: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf((1 + confidence) / 2))


def _variance(stratum: Stratum) -> float:
    """Variance of the number of extracted tokens at the given number of generated ones (ratio estimator)."""
    rest = stratum.extracted - stratum.generated * (stratum.extracted.sum() / max(stratum.generated.sum(), 1))
    size = len(rest)
    return float(size / (size - 1) * (rest**2).sum()) if size > 1 else 0.0


def _limits(own: HitCounts, confidence: float) -> tuple[float, float]:
    """Limits of the number of extracted tokens."""
    low, high = clopper_pearson(own.hits, own.requests, confidence)
    most = float(max(own.generated, own.extracted))
    return low * own.requests * own.min_tokens, min(high * own.requests * own.max_tokens, most)
