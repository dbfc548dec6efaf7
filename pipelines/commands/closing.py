"""How a command that made a report ends: the numbers that matter in words, the paths, the exit status."""

import json
from pathlib import Path
from typing import Any

import typer

from pipelines.progress import inert

UNSEARCHED = ("report.html", "report.json", "candidates.csv")
WRITTEN = ("report.html", "report.json", "model_card.md", "passages.parquet", "identifiers/in_corpus.parquet")
LISTED = 20


def close(report: Path, skip_bad_records: bool) -> None:
    """Print what a run found and where it stands.

    Args:
        report: the path of report.json.
        skip_bad_records: whether the user asked that bad records do not count as a fault.

    Raises:
        typer.Exit: with status 2, for a run that is incomplete.
    """
    content = json.loads(report.read_text(encoding="utf-8"))
    for line in in_words(content):
        typer.echo(line)
    for name in WRITTEN if content["method"]["corpus"] else UNSEARCHED:
        typer.echo(inert(str(report.parent / name)))
    if content["status"] == "incomplete" and not (skip_bad_records and only_skipped(content)):
        raise typer.Exit(2)


def in_words(report: dict[str, Any]) -> list[str]:
    """The numbers that matter, in words that a privacy reviewer understands."""
    if report["method"]["corpus"] is None:
        return _unsearched(report)
    last = max(report["budgets"], key=lambda budget: int(budget["budget"]))
    lines = [
        f"Of {last['generated_tokens']:,} generated tokens, {last['extracted_tokens']:,} "
        f"({_share(last['extracted_share'])}) repeat training text word for word.",
        f"{last['private_passages']:,} passages stand in at most "
        f"{report['method']['private_documents']} training documents and deserve a reviewer; "
        f"{last['distinct_passages'] - last['private_passages']:,} are shared by more.",
        f"{last['identifiers_in_corpus']:,} names and numbers that came out stand in the training text, and "
        f"{_single_names(last):,} single names.",
    ]
    if report["control"] is not None:
        control = max(report["control"]["budgets"], key=lambda budget: int(budget["budget"]))
        lines.append(f"The control model gave back {control['private_passages']:,} private passages.")
    return [*lines, *_incomplete(report)]


def _unsearched(report: dict[str, Any]) -> list[str]:
    """The same where the corpus was not searched: there is nothing but candidates."""
    ranking, last = report["ranking"], max(report["budgets"], key=lambda budget: int(budget["budget"]))
    return [
        f"The corpus was not searched: how much of {last['generated_tokens']:,} generated tokens is training text is "
        "not known.",
        f"{ranking['candidates']:,} of {ranking['generations']:,} generations are candidates for people to check: fill "
        "in the verdicts of candidates.csv, then run extraction confirm.",
        *_incomplete(report),
    ]


def _incomplete(report: dict[str, Any]) -> list[str]:
    if report["status"] != "incomplete":
        return []
    reasons = ", ".join(f"{item['reason']} ({item['count']:,})" for item in report["incomplete"])
    return [f"INCOMPLETE: {reasons}.", *_failed_requests(report)]


def _failed_requests(report: dict[str, Any]) -> list[str]:
    """Which requests failed; a long list stands in the report alone."""
    named = [request for item in report["incomplete"] for request in item.get("requests", [])]
    more = [f"  and {len(named) - LISTED:,} more, in report.json"] if len(named) > LISTED else []
    return [f"  {request}" for request in named[:LISTED]] + more


def _single_names(counts: dict[str, Any]) -> int:
    """Single names of the corpus that came out; they stand in every text, and are in no other number."""
    from pipelines.report.words import SINGLE_NAME

    return int(counts["identifiers"].get(SINGLE_NAME, {"in_corpus": 0})["in_corpus"])


def _share(value: float | None) -> str:
    return "nothing was generated" if value is None else f"{value:.2%}"


def only_skipped(report: dict[str, Any]) -> bool:
    """Whether nothing is missing but records that cannot be read, which `--skip-bad-records` allows."""
    from pipelines.assemble import NOT_TEXT, SKIPPED_GENERATIONS, SKIPPED_RECORDS

    skipped = (NOT_TEXT, SKIPPED_GENERATIONS, SKIPPED_RECORDS)
    return all(item["reason"] in skipped for item in report["incomplete"])
