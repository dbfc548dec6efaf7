"""Do two cohorts differ in more than membership? Standardised differences of what is known about their records.

Source: Austin (2009); a difference is standardised by the cohorts' own mean variance, so that it does not grow with
their size. A large one counts only where chance does not explain it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from extraction.membership.intervals import Floats, normal_quantile

MISSING, RARE = "missing", "rare values"
FEW = 20  # records of both cohorts: a rarer value is compared together with others, and not named
CHANCE = 0.05  # that all differences together go beyond what chance explains
COMPARABLE = 0.2  # the largest standardised difference of cohorts that differ in membership alone
PARTS_OF_A_DATE = {4: "-01-01", 7: "-01"}  # a year or a month stands for its first day


@dataclass(frozen=True)
class Difference:
    """How far members stand from others in one thing.

    Attributes:
        name: what was compared: a column, or the length.
        level: which of its values, for a column of words.
        difference: in standard deviations, above 0 where members have more; None where each side is constant and they
            differ.
        beyond: whether it is larger than allowed, and than chance explains.
    """

    name: str
    level: str | None
    difference: float | None
    beyond: bool


def standardised_difference(members: Floats, others: Floats) -> float:
    """The difference of the means over the root of the mean variance; infinite where only the means vary.

    Args:
        members: float64[m], m > 0, no NaN.
        others: float64[n], n > 0, no NaN.
    """
    distance = float(members.mean() - others.mean())
    spread = math.sqrt((members.var() + others.var()) / 2)
    if spread:
        return distance / spread
    return math.copysign(math.inf, distance) if distance else 0.0


def differences(
    members: Mapping[str, Sequence[Any]], others: Mapping[str, Sequence[Any]], limit: float
) -> tuple[Difference, ...]:
    """Compare two cohorts in every column.

    Args:
        members: the columns' values; numbers and dates as such, else as words, None where unknown.
        others: the same columns.
        limit: of the absolute difference, above 0.
    """
    compared = [
        (name, *pair) for name in members for pair in _comparisons(list(members[name]), list(others[name]))
    ]
    z = normal_quantile(1 - CHANCE / max(1, len(compared)))
    return tuple(_difference(name, level, *sides, limit, z) for name, level, sides in compared)


def _difference(
    name: str, level: str | None, members: Floats, others: Floats, limit: float, z: float
) -> Difference:
    found = standardised_difference(members, others)
    noise = z * math.sqrt(1 / members.size + 1 / others.size)
    return Difference(name, level, found if math.isfinite(found) else None, abs(found) > max(limit, noise))


def _comparisons(members: list[Any], others: list[Any]) -> Iterator[tuple[str | None, tuple[Floats, Floats]]]:
    """Each level of a column of words, or the known values of a column of numbers, and what is missing."""
    known = [value for value in (*members, *others) if value is not None]
    numbers = [_number(value) for value in known]
    if len(known) < len(members) + len(others):
        yield MISSING, (_is(members, None), _is(others, None))
    if None not in numbers:
        sides = tuple(
            np.array([_number(value) for value in side if value is not None], dtype=np.float64)
            for side in (members, others)
        )
        if sides[0].size and sides[1].size:
            yield None, (sides[0], sides[1])
        return
    counts = Counter(map(str, known))
    words = [[_word(value, counts) for value in side] for side in (members, others)]
    for level in sorted({_word(value, counts) for value in known} - {None}, key=str):
        yield level, (_is(words[0], level), _is(words[1], level))


def _word(value: Any, counts: Mapping[str, int]) -> str | None:
    if value is None:
        return None
    return str(value) if counts[str(value)] >= FEW else RARE


def _is(values: list[Any], level: Any) -> Floats:
    return np.array([value == level for value in values], dtype=np.float64)


def _number(value: Any) -> float | None:
    """A number, or a date in days; None for a word."""
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    try:
        number = float(text)
        return number if math.isfinite(number) else None
    except ValueError:
        pass
    try:
        return float(date.fromisoformat((text + PARTS_OF_A_DATE.get(len(text), ""))[:10]).toordinal())
    except ValueError:
        return None
