"""Differences between runs: counts at a budget, and where growth curves cross."""

import math
from collections.abc import Sequence
from itertools import pairwise

from pipelines.compare.schema import Crossing, Difference
from pipelines.report.records import BudgetCounts, Estimate, GrowthPoint

NO_INTERVAL = "no interval: a run has none"


def difference(letter: str, first: BudgetCounts, other: BudgetCounts) -> Difference:
    """Subtract the first run's counts from another's, at one budget."""
    return Difference(
        letter=letter,
        extracted_share=share_difference(first, other),
        generated_bytes=_less(other.generated_bytes, first.generated_bytes),
        extracted_bytes=_less(other.extracted_bytes, first.extracted_bytes),
        distinct_byte_windows=_less(other.distinct_byte_windows, first.distinct_byte_windows),
        distinct_windows=other.distinct_windows - first.distinct_windows,
        private_windows=other.private_windows - first.private_windows,
        distinct_passages=other.distinct_passages - first.distinct_passages,
        private_passages=other.private_passages - first.private_passages,
        identifiers_in_corpus=other.identifiers_in_corpus - first.identifiers_in_corpus,
        intervals={
            name: gap(first.count_intervals[name], interval)
            for name, interval in other.count_intervals.items()
            if name in first.count_intervals
        },
    )


def _less(ours: int | None, theirs: int | None) -> int | None:
    return None if ours is None or theirs is None else ours - theirs


def share_difference(first: BudgetCounts, other: BudgetCounts) -> Estimate:
    """Subtract extracted shares, with the interval that follows from theirs."""
    if first.extracted_share is None or other.extracted_share is None:
        return Estimate(estimate=None, reason="a run generated nothing")
    if first.extracted_share_interval is None or other.extracted_share_interval is None:
        difference = other.extracted_share - first.extracted_share
        return Estimate(estimate=difference, flag=NO_INTERVAL)
    return gap(first.extracted_share_interval, other.extracted_share_interval)


def gap(first: Estimate, other: Estimate) -> Estimate:
    """Subtract two estimates, with an interval made from their intervals.

    The method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008): the distance
    from the difference to each limit is the root of the summed squares of the distances that move it that
    way. The runs are taken to be independent.
    """
    if first.estimate is None or other.estimate is None:
        return Estimate(estimate=None, reason=first.reason or other.reason)
    difference = other.estimate - first.estimate
    if first.low is None or first.high is None or other.low is None or other.high is None:
        return Estimate(estimate=difference, flag=NO_INTERVAL)
    down = math.hypot(other.estimate - other.low, first.high - first.estimate)
    up = math.hypot(other.high - other.estimate, first.estimate - first.low)
    return Estimate(estimate=difference, low=difference - down, high=difference + up)


def crossing(letter: str, first: Sequence[GrowthPoint], other: Sequence[GrowthPoint]) -> Crossing:
    """Find where two growth curves of distinct windows cross, over the effort that both runs reached.

    Between its points a curve is taken as straight; where the two run together nothing crosses.
    """
    if not first or not other:
        return Crossing(letter=letter, generated_tokens=[], reason="a run has no growth curve")
    end = min(first[-1].generated_tokens, other[-1].generated_tokens)
    tokens = sorted({p.generated_tokens for p in (*first, *other) if p.generated_tokens <= end})
    gaps = [(at, _value(other, at) - _value(first, at)) for at in tokens]
    apart = [(at, gap) for at, gap in gaps if gap]
    found = [round(x - u * (y - x) / (v - u)) for (x, u), (y, v) in pairwise(apart) if u * v < 0]
    return Crossing(letter=letter, generated_tokens=found, reason=None)


def _value(points: Sequence[GrowthPoint], at: int) -> float:
    """The curve's height after `at` tokens, straight between its points and from the origin."""
    before = (0, 0)
    for point in points:
        here = (point.generated_tokens, point.distinct_windows)
        if here[0] >= at:
            part = (at - before[0]) / (here[0] - before[0]) if here[0] > before[0] else 1.0
            return before[1] + part * (here[1] - before[1])
        before = here
    return before[1]
