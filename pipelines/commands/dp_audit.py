"""`extraction dp-audit`: does an attack contradict a differential-privacy claim?"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from extraction.errors import InputError
from pipelines.progress import say

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
Out = Annotated[
    Path | None, typer.Option("--out", help="Write dp_audit.json and dp_audit.html to this folder too.")
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
    out: Out = None,
) -> None:
    """Bound epsilon from models trained with and without a canary, one record of SCORES for each model.

    Example: extraction dp-audit many-run --true-positives 120 --positives 1000 --false-positives 10 --negatives 1000
    """
    from extraction.dp_audit import many_run_bound, many_run_counts

    with _refused():
        if scores is not None:
            counts = many_run_counts(*_usable(scores).sides, level, delta, seed)
        elif None not in (true_positives, positives, false_positives, negatives):
            counts = (true_positives or 0, positives or 0, false_positives or 0, negatives or 0)
        else:
            raise InputError("dp-audit many-run: name a file of scores, or all four counts")
        bound = many_run_bound(*counts, level, delta)
    names = ("true_positives", "positives", "false_positives", "negatives")
    _close("many-run", bound, claimed_epsilon, dict(zip(names, counts, strict=True)), out)


@app.command("one-run")
def one_run(
    scores: ScoreFile = None,
    canaries: Annotated[
        int | None, typer.Option(help="In the place of scores: planted by a fair coin,")
    ] = None,
    correct: Annotated[int | None, typer.Option(help="and guessed right.")] = None,
    guesses: Annotated[
        list[int] | None,
        typer.Option(help="How many were guessed, fixed beforehand; default: half. Several share the level."),
    ] = None,
    level: Level = 0.05,
    delta: Delta = 0.0,
    claimed_epsilon: Claim = None,
    out: Out = None,
) -> None:
    """Bound epsilon from many canaries in one model, one record of SCORES for each (Steinke et al. 2023).

    Example: extraction dp-audit one-run --canaries 1000 --guesses 600 --correct 600 --delta 1e-5 --claimed-epsilon 3
    """
    from extraction.dp_audit import one_run_best

    with _refused():
        if scores is not None:
            canaries, guessed = _guessed(_usable(scores), guesses or [])
        elif canaries is None or correct is None or len(guesses or []) > 1:
            raise InputError(
                "dp-audit one-run: name a file of scores, or --canaries and --correct with one --guesses"
            )
        else:
            guessed = [(guesses[0] if guesses else canaries // 2, correct)]
        bound, (number, right) = one_run_best(canaries, guessed, delta, level)
    facts = {"canaries": canaries, "guesses": number, "correct": right, "numbers_of_guesses": len(guessed)}
    _close("one-run", bound, claimed_epsilon, facts, out)


def _guessed(found: "Scores", numbers: list[int]) -> tuple[int, list[tuple[int, int]]]:
    """How many canaries there are, and how many of each number of guesses are right."""
    from extraction.dp_audit import one_run_guesses

    canaries = len(found.ids)
    numbers = [min(number, canaries) for number in numbers] or [canaries // 2]
    return canaries, [(number, one_run_guesses(found.member, found.score, number)) for number in numbers]


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


def _close(kind: str, bound: "Bound", claimed: float | None, facts: dict[str, int], out: Path | None) -> None:
    """Print what was found, write it where that is asked for, and end with 1 for a contradicted claim."""
    from extraction.dp_audit import CONTRADICTED
    from pipelines.canaries.audit import audit_record, write_audit

    with _refused():
        record = audit_record(kind, bound, claimed, facts)
    typer.echo(json.dumps(record, indent=1))
    for path in write_audit(record, out) if out is not None else []:
        say(str(path))
    if record["verdict"] == CONTRADICTED:
        raise typer.Exit(1)
