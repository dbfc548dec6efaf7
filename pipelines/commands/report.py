"""`extraction report`: the pages of a run, made again from its report.json."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert


def report(run: Annotated[Path, typer.Argument(help="A run directory that holds report.json.")]) -> None:
    """Write report.html and model_card.md again from report.json.

    Example: extraction report runs/quickstart
    """
    from pipelines.report import read_report, render_report

    for path in render_report(read_report(run), run):
        typer.echo(inert(str(path)))
