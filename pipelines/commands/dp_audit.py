"""`extraction dp-audit`: does an attack contradict a differential-privacy claim?"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from extraction.errors import InputError

if TYPE_CHECKING:
    from extraction.dp_audit import Bound
    from extraction.membership.score_files import Scores

app = typer.Typer(
    help="Does an attack contradict a differential-privacy claim? Scores of planted canaries bound epsilon from below.",
    no_args_is_help=True,
)

ScoreFile = Annotated[
    Path | None, typer.Argument(help="CSV or Parquet: id, member (1 or 0), score, higher for members.")
]
Delta = Annotated[float, typer.Option("--delta", help="Of the claim.")]
Level = Annotated[float, typer.Option("--level", "--alpha", help="Of the test: 1 minus its confidence.")]
Claim = Annotated[
    float | None,
    typer.Option("--claimed-epsilon", help="Judge this claim; status 1 where it is contradicted."),
]
Seed = Annotated[
    int, typer.Option("--seed", help="Of the halves that the threshold is chosen and tested on.")
]


@app.command("many-run")
def many_run(
    scores: ScoreFile = None,
    true_positives: Annotated[int | None, typer.Option(help="In the place of scores: hits,")] = None,
    positives: Annotated[int | None, typer.Option(help="of so many models trained with the canary,")] = None,
    false_positives: Annotated[int | None, typer.Option(help="false alarms,")] = None,
    negatives: Annotated[int | None, typer.Option(help="of so many models trained without it.")] = None,
    level: Level = 0.05,
    delta: Delta = 0.0,
    claimed_epsilon: Claim = None,
    seed: Seed = 0,
) -> None:
    """Bound epsilon from models trained with and without a canary, one record of SCORES for each model.

    Example: extraction dp-audit many-run --true-positives 120 --positives 1000 --false-positives 10 --negatives 1000
    """
    from extraction.dp_audit import many_run_audit, many_run_bound

    with _refused():
        if scores is not None:
            trained, untrained = _usable(scores).sides
            bound = many_run_audit(trained, untrained, level, delta, seed)
        elif None not in (true_positives, positives, false_positives, negatives):
            counts = (true_positives or 0, positives or 0, false_positives or 0, negatives or 0)
            bound = many_run_bound(*counts, level, delta)
        else:
            raise InputError("dp-audit many-run: name a file of scores, or all four counts")
    _print(bound, claimed_epsilon)


@app.command("one-run")
def one_run(
    scores: ScoreFile = None,
    canaries: Annotated[
        int | None, typer.Option(help="In the place of scores: planted by a fair coin,")
    ] = None,
    correct: Annotated[int | None, typer.Option(help="and guessed right.")] = None,
    guesses: Annotated[
        int | None, typer.Option(help="How many were guessed, fixed beforehand; default: half of them.")
    ] = None,
    level: Level = 0.05,
    delta: Delta = 0.0,
    claimed_epsilon: Claim = None,
) -> None:
    """Bound epsilon from many canaries in one model, one record of SCORES for each (Steinke et al. 2023).

    Example: extraction dp-audit one-run --canaries 1000 --guesses 600 --correct 600 --delta 1e-5 --claimed-epsilon 3
    """
    from extraction.dp_audit import one_run_bound, one_run_guesses

    with _refused():
        if scores is not None:
            found = _usable(scores)
            canaries = len(found.ids)
            guesses = canaries // 2 if guesses is None else min(guesses, canaries)
            correct = one_run_guesses(found.member, found.score, guesses)
        if canaries is None or correct is None:
            raise InputError("dp-audit one-run: name a file of scores, or --canaries and --correct")
        bound = one_run_bound(canaries, canaries // 2 if guesses is None else guesses, correct, delta, level)
    _print(bound, claimed_epsilon)


def _usable(path: Path) -> "Scores":
    from extraction.membership.score_files import read_scores
    from extraction.membership.usable import why_unusable

    found = read_scores(path)
    hold = why_unusable(*found.sides)
    if hold:
        raise InputError(
            f"{path}: {hold}; an audit needs different scores on both sides, none of them missing"
        )
    return found


@contextmanager
def _refused() -> Iterator[None]:
    """Turn numbers that cannot be into a line for the user."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"dp-audit: {error}") from error


def _print(bound: "Bound", claimed: float | None) -> None:
    from extraction.dp_audit import CONTRADICTED

    verdict = None if claimed is None else bound.against(claimed)
    typer.echo(json.dumps({**asdict(bound), "claimed_epsilon": claimed, "verdict": verdict}, indent=1))
    if verdict == CONTRADICTED:
        raise typer.Exit(1)
