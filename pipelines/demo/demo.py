"""The demo from start to end: make the texts, train both models, run the whole test, compare, say what came out."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from extraction.errors import InputError
from pipelines.commands.closing import in_words
from pipelines.config import RunConfig, load_config
from pipelines.demo import corpus
from pipelines.parts import write_json
from pipelines.progress import say
from pipelines.training import step_progress

QUICKSTART = Path(__file__).resolve().parents[2] / "configs" / "quickstart.yaml"


def run_demo(out: Path, seed: int) -> None:
    """Run the demo, or go on where it stopped, and print what it found beside what is known.

    Args:
        out: where everything is written.
        seed: of the texts, the training and the sampling.

    Raises:
        InputError: the folder holds a demo with another seed, or something else.
    """
    from pipelines.compare import compare_runs
    from pipelines.run import run_pipeline

    config = demo_config(out, seed)
    _claim(out, seed)
    truth = make_models(out, seed)
    report = run_pipeline(config, out / "run", None, skip_bad_records=False)
    pages = compare_runs([out / "run" / "control", out / "run"], out / "compare")
    for line in closing_lines(json.loads(report.read_text(encoding="utf-8")), truth, out / "run"):
        typer.echo(line)
    for path in [report.with_name("report.html"), report, *pages]:
        typer.echo(path)


def demo_config(out: Path, seed: int) -> RunConfig:
    """The quickstart configuration, with its paths in `out`."""
    texts, models = out / "corpus", out / "models"
    changes: dict[str, Any] = {
        "model.path": f"{models / 'target'}",
        "prompts.public_text": [f"{texts / corpus.PUBLIC_TEXT}"],
        "corpus.sources": [f"{texts / corpus.TRANSCRIPTS}"],
        "control.model.path": f"{models / 'base'}",
        "control.text": [f"{texts / corpus.HELD_OUT_PARTS}"],
        "seed": seed,
    }
    return load_config(QUICKSTART, [f"{field}={json.dumps(value)}" for field, value in changes.items()])


def make_models(out: Path, seed: int) -> corpus.Truth:
    """Write the texts and train both models, each unless it stands there already.

    Args:
        out: gets `corpus/`, `models/base` and `models/target`.
        seed: of the texts and the training.

    Returns:
        What is known about the texts.
    """
    from pipelines.demo.train import BASE_TRAINING, TARGET_TRAINING, train_base, train_target

    texts, base, target = out / "corpus", out / "models" / "base", out / "models" / "target"
    if not (texts / corpus.TRUTH).exists():
        say("texts: writing a fictional bank's transcripts")
        corpus.write_corpus(texts, seed)
    public, transcripts = (corpus.read_texts(texts / name) for name in (corpus.PUBLIC, corpus.TRANSCRIPTS))
    settings = BASE_TRAINING.model_copy(update={"seed": seed})
    _once(base, lambda: _shown("train base", lambda step: train_base(public, base, settings, step)))
    settings = TARGET_TRAINING.model_copy(update={"seed": seed})
    _once(
        target,
        lambda: _shown("train target", lambda step: train_target(base, transcripts, target, settings, step)),
    )
    return corpus.read_truth(texts)


def _shown(label: str, train: Callable[[Any], None]) -> None:
    with step_progress(label) as on_step:
        train(on_step)


def _once(directory: Path, train: Callable[[], None]) -> None:
    """Train a model unless it is there whole; the marker is written after everything else."""
    marker = directory / "trained"
    if not marker.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        train()
        marker.touch()


def _claim(out: Path, seed: int) -> None:
    os.makedirs(out, mode=0o700, exist_ok=True)
    claim = out / "demo.json"
    if not claim.exists():
        if any(out.iterdir()):
            raise InputError(f"{out}: not empty and no demo; name a new directory with --out")
        write_json(str(claim), {"seed": seed})
    if json.loads(claim.read_text(encoding="utf-8")) != {"seed": seed}:
        raise InputError(f"{out}: holds a demo with another --seed; name another directory with --out")


def closing_lines(report: dict[str, Any], truth: corpus.Truth, run: Path) -> list[str]:
    """What came out, beside what is known to be true."""
    import pyarrow.parquet as pq

    texts = pq.read_table(run / "passages.parquet", columns=["text", "document_count"]).to_pylist()
    lines = in_words(report)
    for documents in sorted({call.documents for call in truth.calls}, reverse=True):
        planted = truth.planted(documents)
        found = sum(any(t["text"] in p.text or p.text in t["text"] for t in texts) for p in planted)
        lines.append(
            f"Planted in {documents:,} documents: {found} of {len(planted)} calls came out, in whole or in part."
        )
    control = report["control_text"]
    lines.append(
        f"Calls that were never trained on: {control['only_here']} windows came out "
        f"({control['also_in_corpus']:,} windows of disclaimers stand in both)."
    )
    return lines
