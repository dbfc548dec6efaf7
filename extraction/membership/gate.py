"""The release gate: is a membership attack on this model better than its margin allows?

The statistic of an attack is max(AUC, 1 - AUC): a score that points the wrong way leaks as much. All bounds hold
together at 95 %, over the declared attacks and both tails (Bonferroni). They are the outer ones of two methods: neither
a handful of records nor scores that are all but constant decide anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, chance_of_auc_beyond, wider_auc_interval
from extraction.membership.usable import NAN_SCORES, UNDERPOWERED, why_unusable

Floats = NDArray[np.float64]

DEFAULT_MARGIN = 0.55
LEVEL = 0.05

BETWEEN = "hold:between"


@dataclass(frozen=True)
class Attack:
    """What one declared attack achieved, as far as the gate asks.

    Attributes:
        name: the attack's.
        members: records of the training data that it scored.
        others: records outside it that it scored.
        hold: why its scores prove nothing (`hold:*`).
        auc: with its interval at the level shared by all declared attacks; None on hold.
    """

    name: str
    members: int
    others: int
    hold: str | None
    auc: Interval | None


@dataclass(frozen=True)
class AttackVerdict:
    """What one attack says.

    Attributes:
        attack: what it achieved.
        verdict: `pass`, `fail` or a `hold:*`.
        chance: of an estimate beyond the margin in any of the attacks where none has signal; None on hold.
    """

    attack: Attack
    verdict: str
    chance: float | None


@dataclass(frozen=True)
class GateVerdict:
    """The gate's decision.

    Attributes:
        margin: the largest statistic that is allowed.
        verdict: `pass`, `fail` or `hold`.
        attacks: what each says.
    """

    margin: float
    verdict: Literal["pass", "fail", "hold"]
    attacks: tuple[AttackVerdict, ...]


def measure(scores: Mapping[str, tuple[Floats, Floats]]) -> tuple[Attack, ...]:
    """Measure all declared attacks: their bounds hold together.

    Args:
        scores: members' and others' scores of each declared attack, higher means member; attacks without scores
            count as declared too.
    """
    return tuple(_measured(name, *sides, len(scores)) for name, sides in scores.items())


def judge(attacks: Sequence[Attack], margin: float = DEFAULT_MARGIN, hold: str | None = None) -> GateVerdict:
    """Decide over all declared attacks.

    Fails where one attack's lower bound is above the margin, or its estimate is and chance alone would bring that
    about in at most 5 % of tests. Passes where every upper bound is below the margin. Holds in between.

    Args:
        attacks: all that were declared.
        margin: at least 0.5, at most `DEFAULT_MARGIN`.
        hold: why nothing that was measured on these cohorts is about membership (`hold:*`).

    Raises:
        ValueError: the margin is out of its bounds.
    """
    if not 0.5 <= margin <= DEFAULT_MARGIN:
        raise ValueError(f"the margin must be at least 0.5 and at most {DEFAULT_MARGIN}, not {margin}")
    judged = tuple(_judged(attack, len(attacks), margin, hold) for attack in attacks)
    verdicts = {one.verdict for one in judged}
    if "fail" in verdicts:
        return GateVerdict(margin, "fail", judged)
    return GateVerdict(margin, "pass" if verdicts == {"pass"} else "hold", judged)


def decide(scores: Mapping[str, tuple[Floats, Floats]], margin: float = DEFAULT_MARGIN) -> GateVerdict:
    """Measure all declared attacks and decide over them: `measure` and `judge`."""
    return judge(measure(scores), margin)


def underpowered(members: int, others: int, declared: int, margin: float = DEFAULT_MARGIN) -> bool:
    """Whether attacks without signal go beyond the margin in more than 5 % of tests on such cohorts."""
    return not declared * chance_of_auc_beyond(margin, members, others) <= LEVEL


def _measured(name: str, members: Floats, others: Floats, declared: int) -> Attack:
    hold = why_unusable(members, others)
    found = None if hold else wider_auc_interval(members, others, 1 - LEVEL / declared)
    return Attack(name, members.size, others.size, hold, found)


def _judged(attack: Attack, declared: int, margin: float, hold: str | None) -> AttackVerdict:
    hold, found = hold or attack.hold, attack.auc
    if hold or found is None:
        return AttackVerdict(attack, hold or NAN_SCORES, None)
    chance = min(1.0, declared * chance_of_auc_beyond(margin, attack.members, attack.others))
    statistic = max(found.estimate, 1 - found.estimate)
    if max(found.low, 1 - found.high) > margin or (statistic > margin and chance <= LEVEL):
        verdict = "fail"
    elif max(found.high, 1 - found.low) < margin:
        verdict = "pass"
    else:
        verdict = UNDERPOWERED if chance > LEVEL else BETWEEN
    return AttackVerdict(attack, verdict, chance)
