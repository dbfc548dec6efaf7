"""`extraction membership`: does the model tell records that it was trained on from others?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert

app = typer.Typer(
    help="Membership inference: does the model tell records that it was trained on from others?",
    no_args_is_help=True,
)


@app.callback()
def _membership() -> None:
    """Membership inference: does the model tell records that it was trained on from others?"""


@app.command()
def score(
    model: Annotated[str, typer.Argument(help="Folder or GGUF file of the model under test.")],
    members: Annotated[
        Path, typer.Option("--members", help="Records that it was trained on: Parquet, JSON lines.")
    ],
    nonmembers: Annotated[Path, typer.Option("--nonmembers", help="Records that it was not trained on.")],
    out: Annotated[Path, typer.Option("--out", help="Parquet file of scores.")],
    reference: Annotated[
        str | None, typer.Option("--reference", help="A model that did not see the members.")
    ] = None,
    k: Annotated[
        float, typer.Option("--k", min=0.0, max=1.0, help="Share of the tokens that Min-K% looks at.")
    ] = 0.2,
    text_column: Annotated[str, typer.Option("--text-column", help="Column or key of the text.")] = "text",
    id_column: Annotated[str, typer.Option("--id-column", help="Column or key of the id.")] = "id",
) -> None:
    """Score the records of two cohorts: loss, zlib, reference, lower case, Min-K%, Min-K%++; higher means member.

    Example: extraction membership score models/chat --members in.jsonl --nonmembers out.jsonl --out scores.parquet
    """
    from extraction.model import ModelSettings
    from pipelines.membership import Cohorts, score_cohorts

    cohorts = Cohorts(members, nonmembers, text_column, id_column)
    other = ModelSettings(path=reference) if reference else None
    found = score_cohorts(cohorts, ModelSettings(path=model), other, k, out)
    typer.echo(
        f"{found.members:,} members and {found.nonmembers:,} others scored, {found.cut:,} of them cut short"
    )
    typer.echo(inert(str(out)))


@app.command()
def evaluate(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet: id, member (1 or 0), score, optional group.")],
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Fixed beforehand; records that reach it are called members."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Which score of a file that `membership score` wrote.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 0,
) -> None:
    """Evaluate scores made anywhere, higher for members, and print JSON: AUC, rates at few false positives, gap.

    Scores that prove nothing (an empty side, NaN, all the same) print why and end with status 3.

    Example: extraction membership evaluate scores.csv --threshold 0.7
    """
    from extraction.membership.evaluation import evaluate as evaluate_scores
    from extraction.membership.score_files import read_scores

    found = evaluate_scores(read_scores(file, name=name), threshold, seed)
    typer.echo(json.dumps(asdict(found), indent=1))
    if found.hold:
        raise typer.Exit(3)
