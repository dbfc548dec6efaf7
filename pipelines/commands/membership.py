"""`extraction membership`: does the model tell records that it was trained on from others?"""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.commands.gate import STATUS
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
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=0, help="Perturbed copies of each record to compare it with.")
    ] = 0,
    prefix: Annotated[
        Path | None,
        typer.Option("--prefix", help="A few records that are no members, for the conditional score."),
    ] = None,
    shadow: Annotated[
        list[str] | None,
        typer.Option(
            "--shadow", help="A model trained without the cohorts, for LiRA and RMIA; may be repeated."
        ),
    ] = None,
    population: Annotated[
        Path | None,
        typer.Option("--population", help="Records that no model saw, in no cohort; with --shadow."),
    ] = None,
    text_column: Annotated[str, typer.Option("--text-column", help="Column or key of the text.")] = "text",
    id_column: Annotated[str, typer.Option("--id-column", help="Column or key of the id.")] = "id",
    device: Annotated[Literal["cpu", "cuda"], typer.Option("--device", help="Where the models run.")] = "cpu",
) -> None:
    """Score the records of two cohorts; higher means member in every score.

    Always: loss, zlib, lower case, Min-K%, Min-K%++. Where what they need is named: reference, neighbourhood,
    conditional, LiRA, RMIA.

    Example: extraction membership score models/chat --members in.jsonl --nonmembers out.jsonl --out scores.parquet
    """
    from extraction.model import ModelSettings
    from pipelines.config import parse_settings
    from pipelines.membership.score import Cohorts, score_cohorts
    from pipelines.membership.settings import ScoreSettings

    settings = parse_settings(
        ScoreSettings,
        {
            "k": k,
            "reference": reference and ModelSettings(path=reference),
            "neighbours": neighbours,
            "prefix": prefix,
            "shadows": [ModelSettings(path=path) for path in shadow or ()],
            "population": population,
        },
        "membership score",
    )
    cohorts = Cohorts(members, nonmembers, text_column, id_column)
    found = score_cohorts(cohorts, ModelSettings(path=model), settings, out, device)
    typer.echo(
        f"{found.members:,} members and {found.nonmembers:,} others scored, {found.cut:,} of them cut short"
    )
    typer.echo(inert(str(out)))


@app.command()
def predictions(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet: id, member, label, and a column of probabilities for each label."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Parquet file of scores.")],
) -> None:
    """Score a classifier's predictions: `confidence` in the true label, and `label`, 1 where it is right.

    Example: extraction membership predictions predicted.csv --out scores.parquet
    """
    from pipelines.membership.predictions import score_predictions

    typer.echo(f"{score_predictions(file, out):,} records scored")
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
    roc: Annotated[
        Path | None, typer.Option("--roc", help="Draw the ROC on logarithmic axes into this SVG file.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap.")] = 0,
) -> None:
    """Evaluate scores made anywhere, higher for members, and print JSON: AUC, rates at few false positives, gap.

    Scores that prove nothing (an empty side, NaN, all the same) print why and end with status 3.

    Example: extraction membership evaluate scores.csv --threshold 0.7 --roc roc.svg
    """
    from extraction.errors import InputError
    from extraction.membership.evaluation import evaluate as evaluate_scores
    from extraction.membership.score_files import read_scores

    if threshold is not None and not math.isfinite(threshold):
        raise InputError("--threshold: no number; name the one that was fixed beforehand")
    scores = read_scores(file, name=name)
    found = evaluate_scores(scores, threshold, seed)
    if roc is not None and not found.hold:
        from pipelines.membership.roc import draw_roc

        draw_roc(*scores.sides, roc)
    typer.echo(json.dumps(asdict(found), indent=1))
    if found.hold:
        raise typer.Exit(STATUS["hold"])


@app.command()
def declare(
    config: Annotated[Path, typer.Argument(help="A YAML file; copy configs/membership.yaml.")],
) -> None:
    """Write an audit's question into its ledger: cohorts, scores, thresholds, subgroups. Before any score is computed.

    Example: extraction membership declare configs/membership.yaml
    """
    from pipelines.config import load_settings
    from pipelines.membership.config import AuditConfig
    from pipelines.membership.ledger import declare as write_down

    settings = load_settings(AuditConfig, config)
    entry = write_down(settings)
    typer.echo(inert(f"{settings.name} declared on {entry['time']}, entry {entry['digest'][:16]}"))
    typer.echo(inert(str(settings.ledger)))


@app.command()
def audit(config: Annotated[Path, typer.Argument(help="The YAML file that was declared.")]) -> None:
    """Answer a declared question, and write result.json. Record-level scores stay in the ledger.

    Another model or scope may be asked the same question; another threshold is refused. Exit status: 0 measured,
    3 on hold (the cohorts or scores are no evidence, and it says why), 2 a fault. The gate judges what was measured.

    Example: extraction membership audit configs/membership.yaml
    """
    from pipelines.config import load_settings
    from pipelines.membership.audit import run_audit
    from pipelines.membership.config import AuditConfig
    from pipelines.membership.words import in_words

    result, paths = run_audit(load_settings(AuditConfig, config))
    for line in in_words(result):
        typer.echo(inert(line))
    for path in paths:
        typer.echo(inert(str(path)))
    if result.holds:
        raise typer.Exit(STATUS["hold"])


@app.command()
def gmint(
    config: Annotated[Path, typer.Argument(help="A YAML file; copy configs/gmint_paper.yaml.")],
) -> None:
    """Tell training records from others by the gradients of the model's own loss, beside controls (gMINT).

    Whoever asks has the model's weights and part of its training data. Run again, it goes on where it stopped. Exit
    status: 0 measured, 3 where a control says that the AUC is no evidence of membership, 2 a fault.

    Example: extraction membership gmint configs/gmint_paper.yaml
    """
    from pipelines.config import load_settings
    from pipelines.gmint.config import GmintConfig
    from pipelines.gmint.run import run_gmint
    from pipelines.gmint.table import in_markdown

    cells, paths = run_gmint(load_settings(GmintConfig, config))
    typer.echo(in_markdown(cells))
    for path in paths:
        typer.echo(inert(str(path)))
    if any(cell.holds for cell in cells):
        raise typer.Exit(STATUS["hold"])


@app.command()
def purge(
    ledger: Annotated[Path, typer.Argument(help="The folder that audits name as their ledger.")],
    everything: Annotated[bool, typer.Option("--all", help="Those too that may still be kept.")] = False,
) -> None:
    """Remove record-level scores whose retention date is over; declarations and audits stay in the ledger.

    Example: extraction membership purge ledgers/returns
    """
    from datetime import UTC, datetime

    from pipelines.membership.ledger import Ledger

    removed = Ledger(ledger).purge(datetime.now(UTC).date(), everything)
    typer.echo(f"scores of {len(removed):,} results removed")
    typer.echo(inert(str(ledger)))


@app.command()
def gate(
    result: Annotated[
        Path, typer.Argument(help="What `membership audit` wrote, or a file of scores: CSV or Parquet.")
    ],
    model_card: Annotated[
        Path, typer.Option("--model-card", help="Its metadata may lower the margin: membership_margin: 0.53.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run directory of the same model; default: beside RESULT."),
    ] = None,
) -> None:
    """Judge the declared attacks on a model by the margin of its card, and write membership.json.

    Exit status: 0 every upper bound is below the margin, 1 an attack is above it beyond chance, 3 neither, 2 a fault.

    Example: extraction membership gate audits/returns --model-card model/README.md --out runs/release-7
    """
    from pipelines.membership.gate import run_gate

    verdict, paths = run_gate(result, model_card, out)
    for one in verdict.attacks:
        found = one.attack.auc
        said = f" (AUC {found.estimate:.3f}, {found.low:.3f} to {found.high:.3f})" if found else ""
        typer.echo(inert(f"{one.verdict}  {one.attack.name}{said}"))
    typer.echo(f"{verdict.verdict.upper()}: a margin of {verdict.margin:g}, {len(verdict.attacks)} attacks.")
    for path in paths:
        typer.echo(inert(str(path)))
    raise typer.Exit(STATUS[verdict.verdict])
