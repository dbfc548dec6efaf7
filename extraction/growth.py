"""How what was found grows with the effort, and how much is left. The sampling unit is the request.

The class is a distinct window (or passage), counted once in a request. Windows of one hit come together, so
every variance here is a jackknife over whole requests, and limits are counted in groups of windows that always
came together. Where a number cannot be given it is null with a reason, and where it should not be believed it
carries a flag.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NOTHING = "nothing was extracted, so there is nothing to estimate from"
ONE_REQUEST = "fewer than two requests"
FEW_REPEATS = "few requests repeat what another one found"
ONE_DOMINATES = "one request holds more than half of what was found"
DUPLICATES = "many requests gave the same text"
FAR = "ten times the effort: an indication at most"

_FEW = 10  # requests, below which limits are not to be believed
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, or null with a reason.

    Attributes:
        estimate: the number; None where it cannot be given.
        low: lower end of the interval; None where there is none.
        high: upper end; None where there is none.
        flag: why the number should be taken with care.
        reason: why there is no estimate.
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None
    flag: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Incidence:
    """Which request found which class, each pair once.

    Attributes:
        classes: int64[pairs], numbered from 0 without gaps or with.
        requests: int64[pairs], each below `total`.
        total: all requests, those that found nothing included.
        duplicates: requests that gave the same text as an earlier one.
    """

    classes: Ints
    requests: Ints
    total: int
    duplicates: int = 0

    @classmethod
    def of(cls, classes: Ints, requests: Ints, total: int, duplicates: int = 0) -> "Incidence":
        """Keep each pair of class and request once."""
        width = max(total, 1)
        pairs = np.unique(np.asarray(classes, np.int64) * width + np.asarray(requests, np.int64))
        return cls(pairs // width, pairs % width, total, duplicates)

    @cached_property
    def repeats(self) -> Ints:
        """int64[pairs]: in how many requests each pair's class was found."""
        return np.bincount(self.classes)[self.classes].astype(np.int64)

    @cached_property
    def hits(self) -> Ints:
        """int64[hits]: the requests that found anything."""
        return np.unique(self.requests)

    @cached_property
    def weights(self) -> Floats:
        """float64[pairs]: one over the number of classes that were found in just the same requests."""
        generator = np.random.Generator(np.random.PCG64(0))
        marks = generator.integers(0, 1 << 63, size=self.total, dtype=np.uint64)
        signature = np.zeros(int(self.classes.max(initial=-1)) + 1, dtype=np.uint64)
        np.add.at(signature, self.classes, marks[self.requests])
        known = np.unique(self.classes)
        _, group, sizes = np.unique(signature[known], return_inverse=True, return_counts=True)
        size = np.ones(len(signature))
        size[known] = sizes[group]
        return np.asarray(1.0 / size[self.classes])

    def seen(self, times: int, grouped: bool = False) -> float:
        """Number of classes, or of groups of classes, that were found in exactly `times` requests."""
        found = self.repeats == times
        return float(self.weights[found].sum() / times if grouped else found.sum() / times)

    @cached_property
    def distinct(self) -> int:
        """Number of distinct classes."""
        return len(np.unique(self.classes))

    @cached_property
    def _hit(self) -> Ints:
        return np.searchsorted(self.hits, self.requests).astype(np.int64)

    def by_hit(self, values: Floats) -> Floats:
        """Add up a value of each pair over each request that found anything; float64[hits]."""
        sums = np.bincount(self._hit, values, len(self.hits))
        return np.asarray(sums, dtype=np.float64)

    @cached_property
    def flag(self) -> str | None:
        """Why numbers made from this should be taken with care; None where nothing speaks against them."""
        pairs = len(self.classes)
        if self.duplicates * 20 > self.total:
            return DUPLICATES
        if pairs and len(self.hits) > 1 and self.by_hit(np.ones(pairs)).max() * 2 > pairs:
            return ONE_DOMINATES
        return FEW_REPEATS if len(self.hits) < _FEW or self.seen(1) * 2 > pairs else None


def chao2(distinct: float, once: float, twice: float, requests: int) -> float:
    """Lower bound of the number of classes, Chao (1987): `once` and `twice` were found in one and two requests."""
    scale = (requests - 1) / requests
    return distinct + scale * (once * once / (2 * twice) if twice else once * (once - 1) / 2)


def chao2_variance(distinct: float, once: float, twice: float, requests: int) -> float:
    """Variance of `chao2` where classes are found independently (Colwell 2013, EstimateS, appendix B)."""
    a = (requests - 1) / requests
    if twice:
        ratio = once / twice
        return twice * (a / 2 * ratio**2 + a * a * ratio**3 + a * a / 4 * ratio**4)
    total = chao2(distinct, once, twice, requests)
    most = a * a * once * (2 * once - 1) ** 2 / 4
    least = a * a * once**4 / (4 * total) if total else 0.0
    return max(a * once * (once - 1) / 2 + most - least, 0.0)


def unseen_interval(
    distinct: float, unseen: float, variance: float, quantile: float = 1.959964
) -> tuple[float, float]:
    """Interval of `distinct + unseen` that never falls below what was seen (Chao 1987, log-normal)."""
    if unseen <= 0:
        return distinct, distinct + quantile * math.sqrt(variance)
    factor = math.exp(quantile * math.sqrt(math.log1p(variance / unseen**2)))
    return distinct + unseen / factor, distinct + unseen * factor


def chao2_estimate(found: Incidence) -> Estimate:
    """Chao2 of an incidence, its interval from a jackknife over requests and counted in groups of classes.

    One hit alone gives no upper limit.
    """
    if reason := _impossible(found):
        return Estimate(None, reason=reason)
    distinct, once, total = found.distinct, found.seen(1), found.total
    value = chao2(distinct, once, found.seen(2), total)
    if len(found.hits) < 2:
        return Estimate(value, float(distinct), flag=found.flag)
    careful = _careful_unseen(found)
    variance, quantile = _jackknife(careful, total), _t(found)
    low, _ = unseen_interval(distinct, float(careful[0]), variance, quantile)
    _, high = unseen_interval(distinct, max(value - distinct, float(careful[0])), variance, quantile)
    return Estimate(value, min(low, value), max(high, value), found.flag)


def unseen_mass(found: Incidence) -> Estimate:
    """Chance that the next window found is one not seen yet: Good and Turing's Q1 / U, jackknifed over requests."""
    if reason := _impossible(found):
        return Estimate(None, reason=reason)
    pairs = len(found.classes)
    once, twice = (found.by_hit((found.repeats == k).astype(float)) for k in (1, 2))
    left = np.maximum(pairs - found.by_hit(np.ones(pairs)), 1)
    values = np.concatenate([[found.seen(1) / pairs], (found.seen(1) - once + twice) / left])
    margin = _t(found) * math.sqrt(_jackknife(values, found.total))
    # nothing new in h hits leaves a chance, and so does nothing but new
    chance = (1 - _CONFIDENCE) ** (1 / len(found.hits))
    value = float(values[0])
    low, high = min(value - margin, chance), max(value + margin, 1 - chance)
    return Estimate(value, max(0.0, low), min(1.0, high), found.flag)


def distinct_count(found: Incidence, strata: Sequence[int]) -> Estimate:
    """Number of distinct classes, with an interval of what the same plan is expected to give.

    Args:
        found: an incidence over the requests of all strata, those of the first one numbered first.
        strata: requests of each, which are sampled apart.

    Returns:
        the number; without limits where fewer than two requests found anything, and then flagged.
    """
    once = found.by_hit((found.repeats == 1).astype(float)) if len(found.classes) else np.zeros(0)
    ends = np.cumsum(strata)
    of_hit = np.searchsorted(ends, found.hits, side="right")
    variance = sum(
        _jackknife(np.concatenate([[0.0], -once[of_hit == place]]), size)
        for place, size in enumerate(strata)
        if size
    )
    low, high = interval(found.distinct, variance, found)
    return Estimate(float(found.distinct), low, high, found.flag)


def rarefied(found: Incidence, sizes: Ints) -> tuple[Floats, Floats]:
    """Expected number of distinct classes in a subsample of requests without replacement, and its variance.

    The variance is that of a new run of the same plan (jackknife over requests), not only of the subsampling, so
    that it does not vanish at the full size.

    Args:
        found: an incidence of at least one request.
        sizes: int64[points], subsample sizes, at most `found.total`.

    Returns:
        float64[points] expectations and float64[points] variances.
    """
    repeats, counts = np.unique(found.repeats, return_counts=True)
    expected, variance = np.zeros(len(sizes)), np.zeros(len(sizes))
    for point, size in enumerate(sizes):
        classes = counts / repeats
        expected[point] = (classes * _drawn(found.total, int(size), repeats)).sum()
        fewer, inner = found.total - 1, min(int(size), found.total - 1)
        loss = _drawn(fewer, inner, repeats - 1) - _drawn(fewer, inner, np.minimum(repeats, fewer))
        changes = found.by_hit(loss[np.searchsorted(repeats, found.repeats)])
        variance[point] = _jackknife(np.concatenate([[0.0], changes]), found.total)
    return expected, variance


def extrapolated(found: Incidence, more: float) -> tuple[float, float]:
    """Expected distinct classes after `more` times as many further requests (Colwell 2012), and its variance."""
    unseen = _careful_unseen(found)
    once, twice = (found.by_hit((found.repeats == k).astype(float)) for k in (1, 2))
    single = np.concatenate([[found.seen(1)], found.seen(1) - once + twice])
    seen = np.concatenate([[found.distinct], found.distinct - once])
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(unseen > 0, np.log1p(-single / (found.total * unseen + single)), 0.0)
        gained = np.where(unseen > 0, -unseen * np.expm1(rate * found.total * more), single * more)
    values = seen + gained
    return float(values[0]), _jackknife(values, found.total)


def interval(value: float, variance: float, found: Incidence) -> tuple[float | None, float | None]:
    """Interval around a number of classes, on the logarithmic scale, as such numbers are skewed; none from one hit."""
    if len(found.hits) < 2:
        return None, None
    if value <= 0:
        return 0.0, 0.0
    factor = math.exp(_t(found) * math.sqrt(math.log1p(variance / value**2)))
    return value / factor, value * factor


def _impossible(found: Incidence) -> str | None:
    if found.total < 2:
        return ONE_REQUEST
    return None if len(found.classes) else NOTHING


def _t(found: Incidence) -> float:
    """Student's quantile: the variance comes from as many requests as found anything."""
    from scipy.stats import t

    return float(t.ppf((1 + _CONFIDENCE) / 2, max(len(found.hits) - 1, 1)))


def _jackknife(values: Floats, total: int) -> float:
    """Variance from values[0], with all requests or without one that found nothing, and the rest, without a hit."""
    differences = values[1:] - values[0]
    return max(float((total - 1) / total * ((differences**2).sum() - differences.sum() ** 2 / total)), 0.0)


def _careful_unseen(found: Incidence) -> Floats:
    """Classes not seen, bias-corrected and counted in groups: with all requests, then without each hit.

    A passage found once makes dozens of windows found once: as a group they count as one piece of evidence.
    Where every class is found by itself this is the bias-corrected Chao2.
    """

    def parts(times: int) -> tuple[Floats, Floats]:
        chosen = found.repeats == times
        return found.by_hit(chosen.astype(float)), found.by_hit(np.where(chosen, found.weights, 0.0))

    (once, group_once), (twice, group_twice), (_, group_thrice) = parts(1), parts(2), parts(3)
    single = np.concatenate([[found.seen(1)], found.seen(1) - once + twice])
    one = np.concatenate([[found.seen(1, True)], found.seen(1, True) - group_once + group_twice])
    two = np.concatenate([[found.seen(2, True)], found.seen(2, True) - group_twice + group_thrice])
    scale = (found.total - 1) / found.total
    return np.asarray(scale * single * np.maximum(one - 1, 0) / (2 * (np.maximum(two, 0) + 1)))


def _drawn(total: int, size: int, repeats: Ints) -> Floats:
    """Chance that a class of `repeats` of `total` requests is among `size` drawn without replacement."""
    from scipy.special import gammaln

    if size >= total:
        return (repeats > 0).astype(float)
    left = total - repeats - size
    inner = np.maximum(left, 0)
    missed = (
        gammaln(total - repeats + 1) - gammaln(inner + 1) - gammaln(total + 1) + gammaln(total - size + 1)
    )
    return np.asarray(np.where(left >= 0, -np.expm1(np.minimum(missed, 0.0)), 1.0))
