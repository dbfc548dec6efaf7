"""Which identifiers of the corpus are new in a run. Values are compared here and go no further."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.compare.load import LoadedRun
from pipelines.compare.schema import CommonAndNew, IdentifierComparison
from pipelines.parts import PartStore
from pipelines.report.records import IdentifierCounts
from pipelines.report.verdict import largest

Values = dict[str, set[str]]


def compare_identifiers(runs: Sequence[LoadedRun]) -> list[IdentifierComparison]:
    """Compare identifiers found in the corpus, type by type."""
    values = {run.letter: values_in_corpus(run.path) for run in runs}
    types = sorted({kind for run in runs for kind in largest(run.report).identifiers})
    return [_compared(kind, runs, values) for kind in types]


def _compared(kind: str, runs: Sequence[LoadedRun], values: dict[str, Values | None]) -> IdentifierComparison:
    counts = {run.letter: _counts(run, kind) for run in runs}
    return IdentifierComparison(
        type=kind,
        in_corpus={letter: own.in_corpus for letter, own in counts.items()},
        private={letter: own.private for letter, own in counts.items()},
        chance={letter: own.chance for letter, own in counts.items()},
        in_control_text={letter: own.in_control_text for letter, own in counts.items()},
        against_first=_against_first(kind, values),
    )


def _counts(run: LoadedRun, kind: str) -> IdentifierCounts:
    """The counts of one type at the run's largest budget; what was never tagged was found nowhere."""
    text = None if run.report.control_text is None else 0
    nothing = IdentifierCounts(tagged=0, in_corpus=0, private=0, chance=0, in_control_text=text)
    return largest(run.report).identifiers.get(kind, nothing)


def values_in_corpus(run: Path) -> Values | None:
    """Values of a run that the corpus holds, by the row that they are counted in; None where the run keeps none."""
    looked_up = sorted((run / "identifiers").glob("corpus-*"))
    if not looked_up:
        return None
    values: Values = {}
    store = PartStore(str(looked_up[-1]))  # a later look-up covers the generations of an earlier one
    for name in store.complete():
        table = store.read(name, ["group", "value"])
        for group, value in zip(table["group"].to_pylist(), table["value"].to_pylist(), strict=True):
            values.setdefault(group, set()).add(value)
    return values


def _against_first(kind: str, values: dict[str, Values | None]) -> dict[str, CommonAndNew]:
    first, *rest = values.items()
    before = first[1]
    found = {}
    for letter, after in rest:
        if before is not None and after is not None:
            ours, theirs = after.get(kind, set()), before.get(kind, set())
            found[letter] = CommonAndNew(
                common=len(ours & theirs), new=len(ours - theirs), gone=len(theirs - ours)
            )
    return found
