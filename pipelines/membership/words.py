"""The result of a membership audit in words."""

from collections.abc import Iterator

from pipelines.membership.result import AttackResult, AuditResult, Counted


def in_words(result: AuditResult) -> list[str]:
    """What was found, and why it may be no evidence."""
    lines = [_counted("members", result.members), _counted("others", result.nonmembers)]
    for one in result.attacks:
        lines += _attack(one)
    lines += [f"{one.hold}: {one.why}." for one in result.holds]
    return [*lines, f"{result.verdict.upper()}: result {result.id}."]


def _counted(name: str, found: Counted) -> str:
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in found.dropped.items())
    return f"{found.scored:,} of {found.loaded:,} {name} scored" + (
        f"; dropped: {dropped}." if dropped else "."
    )


def _attack(one: AttackResult) -> Iterator[str]:
    auc, gap = one.evaluation.auc, one.evaluation.gap
    if auc is None or gap is None:
        yield f"{one.score}: {one.evaluation.hold}."
        return
    yield (
        f"{one.score}: AUC {auc.estimate:.3f} ({auc.low:.3f} to {auc.high:.3f}); at {one.threshold:g} "
        f"{gap.true_positive_rate.estimate:.3f} of members and {gap.false_positive_rate.estimate:.3f} of others, a gap "
        f"of {gap.gap.estimate:.3f} ({gap.gap.low:.3f} to {gap.gap.high:.3f})."
    )
