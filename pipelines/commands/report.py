"""`extraction report`: the pages of a run, made again from its report.json and the verdicts of its review."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert


def report(run: Annotated[Path, typer.Argument(help="A run directory that holds report.json.")]) -> None:
    """Write report.html and model_card.md again; the verdicts of a review are counted in report.json first.

    Example: extraction report runs/quickstart
    """
    from pipelines.report import read_report, render_report
    from pipelines.review.summary import add_review

    for path in render_report(add_review(run, read_report(run)), run):
        typer.echo(inert(str(path)))
