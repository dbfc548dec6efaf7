"""Which windows of one run another gave back too, by their keyed hashes; only where these can be compared."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extraction.places import among, hash_bytes
from extraction.windows import LOW_ENTROPY, PRIVATE
from pipelines.compare.load import LoadedRun
from pipelines.compare.schema import CommonAndNew, WindowComparison
from pipelines.count import DISTINCT_WINDOW_SCHEMA
from pipelines.rundir import RunDirectory

Hashes = NDArray[np.uint8]

OTHER_KEY = (
    "their indexes were built apart, so the hashes of their windows have different keys and do not compare; passages "
    "and identifiers are compared by their text"
)
OTHER_TOKENS = "their tokenizers cut the same text into different windows"
NOT_KEPT = "a run keeps no windows"


def compare_windows(runs: Sequence[LoadedRun], budget: int) -> list[WindowComparison]:
    """Compare each run's windows up to a budget with the first run's."""
    first, *rest = runs
    reasons = [_reason(first, run) for run in rest]
    before = _windows(first, budget) if None in reasons else {}
    return [_compare(run, reason, before, budget) for run, reason in zip(rest, reasons, strict=True)]


def _compare(run: LoadedRun, reason: str | None, before: dict[str, Hashes], budget: int) -> WindowComparison:
    after = _windows(run, budget) if reason is None else {}
    if reason is None and not (before and after):
        reason = NOT_KEPT
    if reason:
        return WindowComparison(letter=run.letter, all=None, private=None, reason=reason)
    counts = {name: _common_and_new(before[name], after[name]) for name in ("all", "private")}
    return WindowComparison(letter=run.letter, reason=None, **counts)


def _common_and_new(before: Hashes, after: Hashes) -> CommonAndNew:
    common = int(among(after, before).sum())
    return CommonAndNew(common=common, new=len(after) - common, gone=len(before) - common)


def _reason(first: LoadedRun, other: LoadedRun) -> str | None:
    ours, theirs = first.report.method, other.report.method
    if ours.model.tokenizer_fingerprint != theirs.model.tokenizer_fingerprint:
        return OTHER_TOKENS
    key = ours.corpus.window_key
    return OTHER_KEY if key is None or key != theirs.corpus.window_key else None


def _windows(run: LoadedRun, budget: int) -> dict[str, Hashes]:
    """Hashes of all windows that are no filler, and of the private ones; nothing where the run keeps none."""
    import pyarrow.compute as pc

    store = RunDirectory(run.path).store("windows")
    if not store.complete():
        return {}
    table = store.read_all(DISTINCT_WINDOW_SCHEMA)
    counted = table.filter(
        pc.and_(pc.less_equal(table["first_budget"], budget), pc.not_equal(table["kind"], LOW_ENTROPY))
    )
    private = counted.filter(pc.equal(counted["kind"], PRIVATE))
    return {"all": hash_bytes(counted["hash"]), "private": hash_bytes(private["hash"])}
