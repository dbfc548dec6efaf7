"""Writes report.html and model_card.md from report.json. The same report gives the same bytes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.parts import read_record
from pipelines.report.card import card_text
from pipelines.report.figures import PASSAGES, WINDOWS, document_count_figure, growth_figure
from pipelines.report.notes import estimate_notes, share_notes
from pipelines.report.pages import render_page, write_page
from pipelines.report.ranking import better_than_random
from pipelines.report.schema import Report, parse_report, parse_unsearched, was_searched
from pipelines.report.unsearched import unsearched_page
from pipelines.report.verdict import largest, verdict_of
from pipelines.report.words import SINGLE_NAME


def render_report(report: Mapping[str, Any], out_dir: Path) -> list[Path]:
    """Write both pages.

    Args:
        report: the content of report.json.
        out_dir: where they go; made if missing.

    Returns:
        The paths written: report.html, model_card.md. A model card states counts, so there is none where the corpus
        was not searched.

    Raises:
        InputError: the report is not one of schema version 1; nothing is written.
    """
    if not was_searched(report):
        return [write_page(out_dir / "report.html", unsearched_page(parse_unsearched(report)))]
    checked = parse_report(report)
    page, card = report_page(checked), card_text(checked)
    return [write_page(out_dir / "report.html", page), write_page(out_dir / "model_card.md", card)]


def report_page(report: Report) -> str:
    """Make the HTML of report.html."""
    context = {
        "report": report,
        "method": report.method,
        "verdict": verdict_of(report),
        "last": largest(report),
        "single_name": SINGLE_NAME,
        "repeating": {
            name: rows for name, rows in report.families.items() if rows and rows[-1].repetition is not None
        },
        "growth_figure": growth_figure(report, WINDOWS, "growth-words"),
        "passages_figure": growth_figure(report, PASSAGES, "growth-passages-words"),
        "documents_figure": document_count_figure(report, "documents-words"),
        "estimate_notes": estimate_notes(report),
        "share_notes": share_notes(report),
        "better_than_random": better_than_random(report.ranking) if report.ranking else [],
    }
    return render_page("report.html", context)


def read_report(run: Path) -> dict[str, Any]:
    """Read the report.json of a run directory.

    Raises:
        InputError: there is none, or it is not JSON.
    """
    missing = f"{run}: no report.json; finish the run with `extraction run`, or name another folder"
    return read_record(run / "report.json", missing, "run")
