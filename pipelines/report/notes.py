"""Notes below a table: why an estimate is missing, or should be taken with care. Equal notes are said once."""

from collections.abc import Iterable, Iterator

from pipelines.report.records import BudgetCounts, Estimate, Growth
from pipelines.report.schema import Report
from pipelines.report.words import count, label


def estimate_notes(report: Report) -> list[str]:
    """Notes on the estimates for each family at its largest budget; one for the family where all are alike."""
    notes: list[tuple[str, str]] = []
    for name, rows in report.families.items():
        own = [*map(_note, _estimates(rows[-1])), *_flags(report.growth.get(name))] if rows else []
        if len({note for _, note in own}) == 1:
            own = [("", own[0][1])]
        notes += [(f"{label(name)}, {what}" if what else label(name), note) for what, note in own]
    return _grouped(notes)


def _flags(growth: Growth | None) -> Iterator[tuple[str, str]]:
    """Whether to take the counts at twice the effort with care."""
    curves = (growth.extrapolated, growth.extrapolated_passages) if growth else ()
    for what, points in zip(("windows", "passages"), curves, strict=False):
        if points:
            flag = points[0].flag
            yield f"{what} with twice the effort", f"take with care, {flag}" if flag else ""


def _estimates(counts: BudgetCounts) -> Iterator[tuple[str, Estimate]]:
    yield "lower bound of windows", counts.chao2_windows
    yield "chance of a new window", counts.unseen_mass
    if counts.chao2_passages is not None:
        yield "lower bound of passages", counts.chao2_passages
    if counts.unseen_mass_passages is not None:
        yield "chance of a new passage", counts.unseen_mass_passages


def share_notes(report: Report) -> list[str]:
    """Notes on the intervals of the extracted share at each budget."""
    found = [(b.budget, b.extracted_share_interval) for b in report.budgets]
    return _grouped(
        _note((f"Share at {count(budget)}", value)) for budget, value in found if value is not None
    )


def _note(named: tuple[str, Estimate]) -> tuple[str, str]:
    name, value = named
    if value.estimate is None:
        return name, f"none, {value.reason}"
    return name, f"take with care, {value.flag}" if value.flag else ""


def _grouped(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Join the names that share a note, in the notes' order."""
    names: dict[str, list[str]] = {}
    for name, note in notes:
        if note:
            names.setdefault(note, []).append(name)
    return [f"{'; '.join(who)}: {note}." for note, who in names.items()]
