"""The release gate: is a membership attack on this model better than its margin allows?

The statistic of an attack is max(AUC, 1 - AUC): a score that points the wrong way leaks as much. All bounds hold
together at 95 %, over the declared attacks and both tails (Bonferroni).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, auc_interval, chance_of_auc_beyond
from extraction.membership.usable import why_unusable

Floats = NDArray[np.float64]

DEFAULT_MARGIN = 0.55
LEVEL = 0.05

UNDERPOWERED = "hold:underpowered"
BETWEEN = "hold:between"


@dataclass(frozen=True)
class AttackVerdict:
    """What one attack says.

    Attributes:
        name: the attack's.
        members: records of the training data that it scored.
        others: records outside it that it scored.
        auc: with its interval at the level shared by all attacks; None where there is none.
        verdict: `pass`, `fail` or a `hold:*`.
        chance: of an estimate beyond the margin in any of the attacks where none has signal.
    """

    name: str
    members: int
    others: int
    auc: Interval | None
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


def decide(scores: Mapping[str, tuple[Floats, Floats]], margin: float = DEFAULT_MARGIN) -> GateVerdict:
    """Decide over all declared attacks.

    Fails where one attack's lower bound is above the margin, or its estimate is and chance alone would bring that
    about in at most 5 % of tests. Passes where every upper bound is below the margin. Holds in between.

    Args:
        scores: members' and others' scores of each declared attack, higher means member; attacks without scores
            count as declared too.
        margin: at least 0.5, at most `DEFAULT_MARGIN`.

    Raises:
        ValueError: the margin is out of its bounds.
    """
    if not 0.5 <= margin <= DEFAULT_MARGIN:
        raise ValueError(f"the margin must be at least 0.5 and at most {DEFAULT_MARGIN}, not {margin}")
    attacks = tuple(
        _verdict(name, members, others, len(scores), margin) for name, (members, others) in scores.items()
    )
    verdicts = {attack.verdict for attack in attacks}
    if "fail" in verdicts:
        return GateVerdict(margin, "fail", attacks)
    return GateVerdict(margin, "pass" if verdicts == {"pass"} else "hold", attacks)


def _verdict(name: str, members: Floats, others: Floats, declared: int, margin: float) -> AttackVerdict:
    sizes = (members.size, others.size)
    hold = why_unusable(members, others)
    if hold:
        return AttackVerdict(name, *sizes, None, hold, None)
    found = auc_interval(members, others, 1 - LEVEL / declared)
    chance = min(1.0, declared * chance_of_auc_beyond(margin, *sizes))
    statistic = max(found.estimate, 1 - found.estimate)
    if max(found.low, 1 - found.high) > margin or (statistic > margin and chance <= LEVEL):
        verdict = "fail"
    elif max(found.high, 1 - found.low) < margin:
        verdict = "pass"
    else:
        verdict = UNDERPOWERED if chance > LEVEL else BETWEEN
    return AttackVerdict(name, *sizes, found, verdict, chance)
