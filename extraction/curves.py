"""The growth curves of a run: the part `growth` of report.json.

Observed counts at even steps of the effort for every family and for all together; expected counts at smaller and
larger efforts for each family by itself, as families are sampled apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.counts import Counter, Found
from extraction.growth import FAR, Incidence, extrapolated, interval, rarefied

Ints = NDArray[np.int64]

_STEPS = 24
_OBSERVED = (
    "generated_tokens",
    "requests",
    "distinct_windows",
    "private_windows",
    "distinct_passages",
    "private_passages",
)


@dataclass(frozen=True)
class CurvePoint:
    """Distinct windows or passages expected after so many requests, which generate so many tokens on average."""

    generated_tokens: int
    requests: int
    estimate: float
    low: float | None = None
    high: float | None = None
    flag: str | None = None


def growth_curves(found: Found, shares: Mapping[str, float], budgets: Sequence[int]) -> dict[str, object]:
    """Draw the curves up to the largest budget.

    Args:
        found: the run.
        shares: each family's share of every budget.
        budgets: in tokens over all families.

    Returns:
        for `all` and each family its `observed`, and for windows and for passages its `rarefied` and `extrapolated`
        points; the latter are empty where nothing was found, and for `all` where there are several families.
        Passages are those of this run: text that joins two of them may come out later.
    """
    most = max(budgets)
    grid = sorted({*budgets, *(-(-most * step // _STEPS) for step in range(1, _STEPS + 1))})
    counter = Counter(found, shares, grid)
    windows, passages = (counter.classes_of(f"distinct_{things}") for things in ("windows", "passages"))
    curves: dict[str, object] = {}
    for name in counter.families:
        expected = _expected(counter, name, counter.incidence(name, len(grid) - 1, windows))
        in_passages = _expected(counter, name, counter.incidence(name, len(grid) - 1, passages))
        expected |= {f"{key}_passages": points for key, points in in_passages.items()}
        curves[name] = {"observed": _observed(counter, [name]), **expected}
    if len(counter.families) == 1:
        return {"all": curves[counter.families[0]], **curves}
    nothing = dict.fromkeys(("rarefied", "extrapolated", "rarefied_passages", "extrapolated_passages"), ())
    return {"all": {"observed": _observed(counter, counter.families), **nothing}, **curves}


def _observed(counter: Counter, families: Sequence[str]) -> list[dict[str, int]]:
    """Counts at each step; steps that add no request to the one before are left out."""
    columns = counter.tally(families).columns
    points = [
        {name: int(columns[name][step]) for name in _OBSERVED} for step in range(counter.levels.budgets)
    ]
    return [point for i, point in enumerate(points) if not i or point["requests"] > points[i - 1]["requests"]]


def _expected(counter: Counter, family: str, found: Incidence) -> dict[str, list[dict[str, object]]]:
    if found.total < 2 or not len(found.classes):
        return {"rarefied": [], "extrapolated": []}
    mean = int(counter.cutoffs[family].tokens[-1]) / found.total
    sizes = np.unique(np.linspace(found.total / _STEPS, found.total, _STEPS).astype(np.int64))
    sizes = sizes[sizes > 0]
    points = [
        _point(int(size), mean, (float(value), float(variance)), found)
        for size, value, variance in zip(sizes, *rarefied(found, sizes), strict=True)
    ]
    far = extrapolated(found, 9)[0]
    return {
        "rarefied": [asdict(point) for point in points],
        "extrapolated": [
            asdict(_point(2 * found.total, mean, extrapolated(found, 1), found)),
            asdict(CurvePoint(round(10 * found.total * mean), 10 * found.total, far, flag=FAR)),
        ],
    }


def _point(requests: int, mean: float, value: tuple[float, float], found: Incidence) -> CurvePoint:
    low, high = interval(*value, found)
    return CurvePoint(round(requests * mean), requests, value[0], low, high, found.flag)
