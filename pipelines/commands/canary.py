"""`extraction canary`: what the exposure of planted records says of a model's memory."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from extraction.errors import InputError
from pipelines.progress import inert

app = typer.Typer(
    help="Canaries: records planted before training, and how well the model remembers them.",
    no_args_is_help=True,
)


@app.command()
def make(
    config: Annotated[Path, typer.Argument(help="A configuration in YAML; copy configs/canaries.yaml.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="A new folder for the copy of the corpus and the key.")
    ] = None,
) -> None:
    """Plant canaries in a copy of a corpus, each as often as the configuration says, and seal the key to them.

    The seal that is printed can be written down elsewhere before training: a key that was made to fit has another.

    Example: extraction canary make configs/canaries.yaml --out canaries/chat
    """
    from extraction.canaries.settings import CanarySettings
    from pipelines.canaries.make import make_canaries
    from pipelines.config import load_settings

    settings = load_settings(CanarySettings, config)
    made = make_canaries(settings, out or settings.out or Path("canaries") / config.stem)
    typer.echo(
        f"{made.canaries:,} canaries, {made.copies:,} records added to {made.records:,}; seal of the key: {made.seal}"
    )
    for path in (made.corpus, made.key):
        typer.echo(inert(str(path)))


@app.command()
def score(
    model: Annotated[str, typer.Argument(help="Folder or GGUF file of the model under test.")],
    key: Annotated[Path, typer.Argument(help="The key.json that `extraction canary make` wrote.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for exposures.json and exposures.html.")],
    run: Annotated[
        Path | None, typer.Option("--run", help="An extraction run of the model, to look for canaries in.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="A torch device: cpu, cuda.")] = "cpu",
    enumerate_up_to: Annotated[
        int,
        typer.Option(
            min=0, max=10_000_000, help="Fillings of a format that are all scored; more are sampled."
        ),
    ] = 10_000_000,
    search: Annotated[
        int, typer.Option("--search", min=1, help="Prefixes that a search asks the model about at most.")
    ] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="Of the samples and intervals.")] = 0,
) -> None:
    """Score every planted canary: log-perplexity, rank among all fillings of its blank, exposure.

    Example: extraction canary score models/chat canaries/chat/key.json --out runs/canaries --run runs/chat
    """
    from extraction.canaries.measure import Limits
    from extraction.model import ModelSettings
    from pipelines.canaries.page import sentences
    from pipelines.canaries.score import ScoreOptions, score_canaries

    options = ScoreOptions(ModelSettings(path=model), device, Limits(enumerate_up_to, search, seed), run)
    paths = score_canaries(key, options, out)
    for line in sentences(json.loads(paths[0].read_text(encoding="utf-8"))):
        typer.echo(line)
    for path in paths:
        typer.echo(inert(str(path)))


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
    if not planted.size or not alternatives.size:
        raise InputError(
            f"{file}: column `canary` has {planted.size:,} canaries (1) and {alternatives.size:,} alternatives (0); "
            "a rank needs both"
        )
    try:
        if sampled:
            found, fit = extrapolated(ids, planted, alternatives, seed)
        else:
            found, fit = exact(ids, planted, alternatives), None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    shown = {"canaries": [asdict(one) for one in found], "fit": fit and asdict(fit)}
    typer.echo(json.dumps({"alternatives": alternatives.size, **shown}, indent=1))
