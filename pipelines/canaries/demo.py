"""`python -m pipelines.canaries.demo`: canaries on known truth, made for 10 minutes on 2 cores.

Plants canaries in the demo's transcripts, trains a small model on them, samples it, and scores the canaries: those that
were inserted often are found, those that never were have the exposure that chance gives.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from extraction.canaries.settings import CanarySettings
from extraction.model import ModelSettings
from pipelines.canaries.make import CORPUS, KEY, make_canaries
from pipelines.canaries.score import ScoreOptions, score_canaries
from pipelines.config import RunConfig, parse_config
from pipelines.demo import corpus
from pipelines.ending import status_of
from pipelines.progress import inert, say
from pipelines.training import OnStep, step_progress

FORMATS = (
    {"name": "account", "template": "Customer: my account number is {digits:6}"},
    {"name": "booking", "template": "Your booking reference is {capitals:2}-{digits:3}"},
)
INSERTIONS = {0: 50, 1: 10, 10: 10, 100: 5}
BUDGETS = (10_000, 20_000, 40_000)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where everything is written.")] = Path(
        "runs/demo-canary"
    ),
    seed: Annotated[int, typer.Option(help="Of the texts, the canaries, the training and the sampling.")] = 0,
) -> None:
    """Plant canaries, train on them, extract, and score; run again, it goes on after the last finished step."""
    from pipelines.run import run_pipeline

    key = _plant(out, seed)
    model = _train(out, seed)
    run_pipeline(run_config(out, model, seed), out / "run", None, skip_bad_records=False)
    options = ScoreOptions(ModelSettings(path=str(model)), run=out / "run")
    _tell(score_canaries(key, options, out / "exposures"))


def _plant(out: Path, seed: int) -> Path:
    """Write the transcripts and a copy with canaries in it."""
    texts, planted = out / "corpus", out / "canaries"
    if not (texts / corpus.TRUTH).exists():
        corpus.write_corpus(texts, seed)
    if not (planted / KEY).exists():
        settings = {
            "sources": [texts / corpus.TRANSCRIPTS],
            "formats": FORMATS,
            "insertions": INSERTIONS,
            "seed": seed,
        }
        made = make_canaries(CanarySettings.model_validate(settings), planted)
        say(f"canaries: {made.canaries:,}, {made.copies:,} records added to {made.records:,}")
    return planted / KEY


def _train(out: Path, seed: int) -> Path:
    """Train a base model on public text, then the target on the planted copy, each record as often as it stands."""
    from pipelines.demo.train import BASE_TRAINING, TrainingSettings, train_base, train_target

    base, target = out / "models" / "base", out / "models" / "target"
    public = corpus.read_texts(out / "corpus" / corpus.PUBLIC)
    planted = corpus.read_texts(out / "canaries" / CORPUS / corpus.TRANSCRIPTS)
    settings = BASE_TRAINING.model_copy(update={"seed": seed})
    _once(base, "train base", lambda step: train_base(public, base, settings, step))
    own = TrainingSettings(epochs=2, seed=seed)
    _once(target, "train on the canaries", lambda step: train_target(base, planted, target, own, step))
    return target


def _once(folder: Path, label: str, train: Callable[[OnStep], None]) -> None:
    """Train a model unless it is there whole; the marker is written after everything else."""
    marker = folder / "trained"
    if marker.exists():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with step_progress(label) as on_step:
        train(on_step)
    marker.touch()


def run_config(out: Path, model: Path, seed: int) -> RunConfig:
    """The extraction run that looks for the canaries."""
    raw = {
        "name": "demo-canary",
        "model": {"path": str(model)},
        "engine": {"kind": "transformers", "batch_size": 32},
        "sampling": {"from": "model", "max_tokens": 300},
        "prompts": {
            "families": {"empty": {"share": 0.7}, "public": {"share": 0.3}},
            "public_text": [str(out / "corpus" / corpus.PUBLIC_TEXT)],
        },
        "corpus": {"sources": [str(out / "canaries" / CORPUS)]},
        "budgets": list(BUDGETS),
        "part_requests": 64,
        "workers": 2,
        "seed": seed,
    }
    return parse_config(raw, "demo-canary")


def _tell(paths: list[Path]) -> None:
    """Say what came out, beside what is known to be true."""
    from pipelines.canaries.page import bits, sentences

    record = json.loads(paths[0].read_text(encoding="utf-8"))
    for line in sentences(record):
        typer.echo(line)
    most = max(INSERTIONS)
    for row in record["summary"]:
        if row["insertions"] == most and row["format"] is not None:
            maximum = next(form["maximum"] for form in record["formats"] if form["name"] == row["format"])
            typer.echo(
                f"Of {row['canaries']} {row['format']} canaries inserted {most}\u00d7, {row['first_rank']} reach the "
                f"maximum of {bits(maximum)} bits, a search extracts {row['extracted']}, the run wrote "
                f"{row['emitted'][-1]}."
            )
    for path in paths:
        typer.echo(inert(str(path)))


if __name__ == "__main__":
    sys.exit(status_of(partial(typer.run, demo), "demo-canary"))
