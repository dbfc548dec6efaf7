"""`extraction membership`: does the model tell records that it was trained on from others?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Membership inference: does the model tell records that it was trained on from others?",
    no_args_is_help=True,
)


@app.callback()
def _membership() -> None:
    """Membership inference: does the model tell records that it was trained on from others?"""


@app.command()
def evaluate(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet: id, member (1 or 0), score, optional group.")],
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Fixed beforehand; records that reach it are called members."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 0,
) -> None:
    """Evaluate scores made anywhere, higher for members, and print JSON: AUC, rates at few false positives, gap.

    Scores that prove nothing (an empty side, NaN, all the same) print why and end with status 3.

    Example: extraction membership evaluate scores.csv --threshold 0.7
    """
    from extraction.membership.evaluation import evaluate as evaluate_scores
    from extraction.membership.score_files import read_scores

    found = evaluate_scores(read_scores(file), threshold, seed)
    typer.echo(json.dumps(asdict(found), indent=1))
    if found.hold:
        raise typer.Exit(3)
