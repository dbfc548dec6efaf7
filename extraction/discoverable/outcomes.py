"""How many targets the true opening brings out: by greedy decoding, within a number of draws, and nearly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.discoverable.draws import chance_within, discoverable
from extraction.membership.intervals import Interval, wilson

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """When a target counts as brought out.

    Attributes:
        draws: numbers of draws n, ascending.
        certainties: probabilities p, ascending; a target is (n, p)-discoverable.
        target_tokens: tokens of a target.
        edit_share: edits that a near match may have, as a share of the target's tokens.
    """

    draws: Sequence[int]
    certainties: Sequence[float]
    target_tokens: int
    edit_share: float

    @property
    def most_edits(self) -> int:
        """Edits that a near match may have."""
        return int(
            self.edit_share * self.target_tokens + 1e-9
        )  # the share counts as the decimal it is written as


@dataclass(frozen=True)
class Readings:
    """What one model makes of some targets.

    Attributes:
        log_probability: float64[n], natural logarithm of the probability that one draw gives a true continuation; NaN
            where the model gave no number.
        greedy: bool[n], whether greedy decoding gives one, from the same forward pass.
        edits: int64[n], edits between what greedy decoding gave and the nearest true continuation.
    """

    log_probability: Floats
    greedy: Bools
    edits: Ints

    def some(self, chosen: Bools) -> "Readings":
        """Those of some targets."""
        return Readings(self.log_probability[chosen], self.greedy[chosen], self.edits[chosen])

    def of_numbers(self) -> "Readings":
        """Those of targets to which the model gave a number."""
        return self.some(~np.isnan(self.log_probability))


@dataclass(frozen=True)
class Discoverable:
    """Targets that are (n, p)-discoverable: their number, and their share with its Wilson interval."""

    draws: int
    certainty: float
    targets: int
    share: Interval


@dataclass(frozen=True)
class Outcome:
    """How many of some targets a model brings out; shares with their Wilson intervals.

    Attributes:
        targets: how many there are.
        greedy: those that greedy decoding gives word for word.
        greedy_share: their share.
        near: of the others, those that it gives but for a few edits; counted apart.
        near_share: their share of all.
        discoverable: for each number of draws and each certainty.
        expected: for each number of draws, the mean probability that a target is among them.
    """

    targets: int
    greedy: int
    greedy_share: Interval
    near: int
    near_share: Interval
    discoverable: tuple[Discoverable, ...]
    expected: tuple[float, ...]


def outcome(readings: Readings, rules: Rules) -> Outcome | None:
    """Count what a model brings out; None where there is no target.

    Args:
        readings: of the targets, none without a number.
        rules: when one counts.

    Raises:
        ValueError: a probability is no number.
    """
    if np.isnan(readings.log_probability).any():
        raise ValueError("a probability is no number")
    targets, greedy = readings.greedy.size, int(readings.greedy.sum())
    if not targets:
        return None
    near = int((~readings.greedy & (readings.edits <= rules.most_edits)).sum())
    chances = [chance_within(readings.log_probability, draws) for draws in rules.draws]
    return Outcome(
        targets=targets,
        greedy=greedy,
        greedy_share=wilson(greedy, targets),
        near=near,
        near_share=wilson(near, targets),
        discoverable=tuple(
            _discoverable(readings.log_probability, draws, certainty)
            for draws in rules.draws
            for certainty in rules.certainties
        ),
        expected=tuple(float(chance.mean()) for chance in chances),
    )


def _discoverable(log_probability: Floats, draws: int, certainty: float) -> Discoverable:
    found = int(discoverable(log_probability, draws, certainty).sum())
    return Discoverable(draws, certainty, found, wilson(found, log_probability.size))


def together(log_probabilities: Sequence[float]) -> float:
    """Natural logarithm of the probability that one draw gives any of some different texts of one length.

    One draw gives one of them at most, so their probabilities add up. NaN if one of them is.
    """
    values = np.asarray(log_probabilities, dtype=np.float64)
    if np.isnan(values).any():
        return float("nan")
    return float(min(np.logaddexp.reduce(values), 0.0))
