"""Compares runs: reads them, refuses what cannot be compared, writes compare.json and compare.html."""

from collections.abc import Sequence
from pathlib import Path

from extraction.errors import InputError
from pipelines.compare.differences import crossing, difference
from pipelines.compare.identifiers import compare_identifiers
from pipelines.compare.load import LoadedRun, differing_settings, load_runs
from pipelines.compare.overlap import Passage, in_common, make_passage
from pipelines.compare.page import comparison_page
from pipelines.compare.schema import (
    CommonAndNew,
    ComparedBudget,
    ComparedCounts,
    ComparedRun,
    Comparison,
    PassageComparison,
    SettingDifference,
)
from pipelines.compare.windows import compare_windows
from pipelines.compare.words import build_limitations
from pipelines.report.pages import write_page
from pipelines.report.records import BudgetCounts


def compare_runs(run_dirs: Sequence[Path], out: Path, allow_differences: bool = False) -> list[Path]:
    """Compare runs with the first one named.

    Args:
        run_dirs: two to nine run directories.
        out: folder for compare.json and compare.html; made if missing.
        allow_differences: compare runs that were measured differently too; the page says in what.

    Returns:
        The paths written.

    Raises:
        InputError: a run cannot be read, the runs were measured differently, or no budget is in common.
    """
    comparison = build_comparison(load_runs(run_dirs), allow_differences)
    page = comparison_page(comparison)
    data = comparison.model_dump_json(indent=2) + "\n"
    return [write_page(out / "compare.json", data), write_page(out / "compare.html", page)]


def build_comparison(runs: Sequence[LoadedRun], allow_differences: bool) -> Comparison:
    """Make the content of compare.json.

    Raises:
        InputError: the runs were measured differently and that is not allowed, or share no budget.
    """
    settings = differing_settings(runs)
    if settings and not allow_differences:
        raise InputError(_refusal(runs, settings))
    first, rest, letters = runs[0], runs[1:], [run.letter for run in runs]
    budgets, method = _budgets(runs), first.report.method
    largest = budgets[-1].budget
    growth = {run.letter: run.report.growth["all"].observed for run in runs if "all" in run.report.growth}
    comparison = Comparison(
        schema_version=1,
        runs=[_describe(run) for run in runs],
        different_settings=[
            SettingDifference(name=name, values=dict(zip(letters, values, strict=True)))
            for name, values in settings.items()
        ],
        different_tokenizers=len({run.report.method.model.tokenizer_fingerprint for run in runs}) > 1,
        min_tokens=method.min_tokens,
        min_bytes=method.min_bytes,
        private_documents=method.private_documents,
        budgets=budgets,
        growth=growth,
        crossings=[crossing(r.letter, growth.get(first.letter, []), growth.get(r.letter, [])) for r in rest],
        compared_at=largest,
        passages=[_compare_passages(first, run, largest) for run in rest],
        windows=compare_windows(runs, largest),
        identifiers=compare_identifiers(runs),
        limitations=[],
    )
    return comparison.model_copy(update={"limitations": build_limitations(comparison)})


def _refusal(runs: Sequence[LoadedRun], settings: dict[str, list[str]]) -> str:
    name, values = next(iter(settings.items()))
    paths = {run.letter: value for run, value in zip(runs, values, strict=True)}
    shown = ", ".join(f"{letter} {value}" for letter, value in paths.items())
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return (
        f"{runs[0].path}: measured with another `{name}` than the other runs ({shown}){more}; "
        "run them alike, or add --allow-differences"
    )


def _describe(run: LoadedRun) -> ComparedRun:
    report = run.report
    return ComparedRun(
        letter=run.letter,
        run_id=report.run.id,
        created=report.run.created,
        status=report.status,
        model=report.method.model.name,
        model_fingerprint=report.method.model.fingerprint,
        tokenizer=report.method.model.tokenizer_fingerprint,
        model_settings=run.model_settings,
        trained_on=report.method.corpus.trained_on,
    )


def _budgets(runs: Sequence[LoadedRun]) -> list[ComparedBudget]:
    by_run = [{counts.budget: counts for counts in run.report.budgets} for run in runs]
    common = sorted(set.intersection(*(set(counts) for counts in by_run)))
    if not common:
        raise InputError(
            f"{runs[0].path}: no budget in common with the other runs; run one budget for all of them"
        )
    return [
        ComparedBudget(
            budget=budget,
            runs=[_counts(run.letter, counts[budget]) for run, counts in zip(runs, by_run, strict=True)],
            differences=[
                difference(run.letter, by_run[0][budget], counts[budget])
                for run, counts in zip(runs[1:], by_run[1:], strict=True)
            ],
        )
        for budget in common
    ]


def _counts(letter: str, counts: BudgetCounts) -> ComparedCounts:
    fields = {name: getattr(counts, name) for name in ComparedCounts.model_fields if name != "letter"}
    return ComparedCounts(letter=letter, **fields)


def _compare_passages(first: LoadedRun, run: LoadedRun, budget: int) -> PassageComparison:
    found: dict[str, CommonAndNew] = {}
    new_private: list[str] = []
    for kind in ("private", "shared"):
        before, after = _passages(first, kind, budget), _passages(run, kind, budget)
        kept, still = in_common(after, before), in_common(before, after)
        found[kind] = CommonAndNew(common=sum(kept), new=kept.count(False), gone=still.count(False))
        if kind == "private":
            new_private = sorted(p.passage_id for p, same in zip(after, kept, strict=True) if not same)
    return PassageComparison(letter=run.letter, new_private_passage_ids=new_private, **found)


def _passages(run: LoadedRun, kind: str, budget: int) -> list[Passage]:
    """The run's passages of a kind that count at a budget."""
    rows = [row for row in run.passages.to_pylist() if row["kind"] == kind and row["first_budget"] <= budget]
    shortest = run.report.method.min_tokens
    return [make_passage(str(row["passage_id"]), row["text"], row["tokens"], shortest) for row in rows]
