"""Evaluates scores of one attack: what it achieves, how sure that is, and why it may prove nothing."""

from dataclasses import dataclass

from extraction.membership.intervals import Interval, auc_interval
from extraction.membership.rates import Gap, RateAt, bootstrap_auc, gap_at, rate_at
from extraction.membership.score_files import Scores
from extraction.membership.usable import why_unusable

LOW_RATES = (0.001, 0.01)
WRONG_WAY = "members score lower than others: are the labels swapped, or does a lower score mean member?"
PERHAPS_CHANCE = f"{WRONG_WAY} Chance may explain it too, for the interval holds 0.5."
STRADDLE = "groups stand on both sides: records of one group are no independent evidence"


@dataclass(frozen=True)
class Evaluation:
    """What an attack achieves.

    Attributes:
        members: records of the training data.
        others: records outside it.
        hold: why the scores prove nothing (`hold:*`); then there are no numbers.
        auc: with DeLong's interval on the logit scale, or Newcombe's where that has none.
        auc_bootstrap: the same from a stratified bootstrap.
        rates: true-positive rates at 0.1 % and 1 % false positives.
        gap: rates at the threshold that was asked for.
        warnings: sentences.
    """

    members: int
    others: int
    hold: str | None
    auc: Interval | None = None
    auc_bootstrap: Interval | None = None
    rates: tuple[RateAt, ...] = ()
    gap: Gap | None = None
    warnings: tuple[str, ...] = ()


def evaluate(scores: Scores, threshold: float | None = None, seed: int = 0) -> Evaluation:
    """Evaluate scores.

    Args:
        scores: higher means member.
        threshold: fixed beforehand; records that reach it are called members.
        seed: of the bootstrap.
    """
    members, others = scores.sides
    hold = why_unusable(members, others)
    if hold:
        return Evaluation(members.size, others.size, hold)
    found = auc_interval(members, others)
    return Evaluation(
        members=members.size,
        others=others.size,
        hold=None,
        auc=found,
        auc_bootstrap=bootstrap_auc(members, others, seed),
        rates=tuple(rate_at(members, others, target) for target in LOW_RATES),
        gap=None if threshold is None else gap_at(members, others, threshold),
        warnings=_warnings(scores, found),
    )


def _warnings(scores: Scores, found: Interval) -> tuple[str, ...]:
    said = []
    if found.estimate < 0.5:
        said.append(WRONG_WAY if found.high < 0.5 else PERHAPS_CHANCE)
    if scores.group is not None:
        pairs = set(zip(scores.group, scores.member.tolist(), strict=True))
        said += [STRADDLE] if len(pairs) > len({group for group, _ in pairs}) else []
    return tuple(said)
