"""`extraction canary`: what the exposure of planted records says of a model's memory."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from extraction.errors import InputError

app = typer.Typer(
    help="Canaries: records planted before training, and how well the model remembers them.",
    no_args_is_help=True,
)


@app.callback()
def _canary() -> None:
    """Canaries: records planted before training, and how well the model remembers them."""


@app.command()
def exposure(
    file: Annotated[
        Path,
        typer.Argument(help="CSV or Parquet: id, score (log-perplexity), canary (1, or 0: an alternative)."),
    ],
    sampled: Annotated[
        bool,
        typer.Option(
            "--sampled", help="The alternatives are a random sample of all; fit their distribution."
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the fit's interval.")] = 0,
) -> None:
    """Exposure of canaries scored elsewhere, printed as JSON; the lower the score, the more memorised.

    Example: extraction canary exposure scores.csv
    """
    from extraction.canaries.exposure import exact, extrapolated
    from extraction.membership.score_files import read_scores

    scores = read_scores(file, label="canary")
    ids = [name for name, planted in zip(scores.ids, scores.member, strict=True) if planted]
    planted, alternatives = scores.sides
    try:
        if sampled:
            found, fit = extrapolated(ids, planted, alternatives, seed)
        else:
            found, fit = exact(ids, planted, alternatives), None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    shown = {"canaries": [asdict(one) for one in found], "fit": fit and asdict(fit)}
    typer.echo(json.dumps({"alternatives": alternatives.size, **shown}, indent=1))
