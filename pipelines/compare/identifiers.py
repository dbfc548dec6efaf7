"""Which identifiers of the corpus are new in a run. Values are compared here and go no further."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.compare.load import LoadedRun
from pipelines.compare.schema import CommonAndNew, IdentifierComparison
from pipelines.parts import PartStore
from pipelines.report.verdict import largest

Values = dict[str, set[str]]


def compare_identifiers(runs: Sequence[LoadedRun]) -> list[IdentifierComparison]:
    """Compare identifiers found in the corpus, type by type."""
    last = {run.letter: largest(run.report).identifiers for run in runs}
    values = {run.letter: values_in_corpus(run.path) for run in runs}
    types = sorted({kind for identifiers in last.values() for kind in identifiers})
    return [
        IdentifierComparison(
            type=kind,
            in_corpus={letter: c[kind].in_corpus if kind in c else 0 for letter, c in last.items()},
            private={letter: c[kind].private if kind in c else 0 for letter, c in last.items()},
            chance={letter: c[kind].chance if kind in c else 0 for letter, c in last.items()},
            against_first=_against_first(kind, values),
        )
        for kind in types
    ]


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
