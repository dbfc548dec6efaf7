"""`extraction report`: the pages of a run, made again from its report.json, its review, and a prefix test beside it."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert


def report(
    run: Annotated[Path, typer.Argument(help="A run directory that holds report.json.")],
    prefix: Annotated[
        Path | None,
        typer.Option("--prefix", help="A prefix test beside this run: its recovery goes into the report."),
    ] = None,
) -> None:
    """Write report.html and model_card.md again; the verdicts of a review are counted in report.json first.

    Example: extraction report runs/quickstart
    """
    from pipelines.report import read_report, render_report
    from pipelines.report.recovery import add_recovery
    from pipelines.review.summary import add_review

    found = read_report(run)
    if prefix is not None:
        found = add_recovery(run, found, prefix)
    for path in render_report(add_review(run, found), run):
        typer.echo(inert(str(path)))
