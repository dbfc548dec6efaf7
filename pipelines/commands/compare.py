"""`extraction compare`: two or more runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; each is compared with the first.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for compare.json and compare.html.")],
    allow_differences: Annotated[
        bool,
        typer.Option(
            "--allow-differences",
            help="Compare runs with different corpora, prompts, sampling or rules too; the page says so.",
        ),
    ] = False,
) -> None:
    """Compare runs: counts at the same budgets, growth, and which passages are new. Says what is new against the first.

    Example: extraction compare runs/release-1 runs/release-2 --out runs/compared
    """
    from pipelines.compare import compare_runs
    from pipelines.compare.schema import Comparison
    from pipelines.compare.words import headline, sentences

    paths = compare_runs(runs, out, allow_differences)
    found = Comparison.model_validate_json(paths[0].read_text(encoding="utf-8"))
    for line in (headline(found)[-1], *sentences(found), *paths):
        typer.echo(inert(str(line)))
