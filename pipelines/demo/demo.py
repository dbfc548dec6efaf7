"""The demo from start to end: make the texts, train both models, run the whole test, compare, say what came out."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from extraction.errors import InputError
from extraction.windows import STRETCH_SCHEMA
from pipelines.commands.closing import in_words
from pipelines.config import RunConfig, load_config
from pipelines.demo import corpus
from pipelines.demo.verdicts import answer
from pipelines.match import MatchStores
from pipelines.parts import write_json
from pipelines.progress import inert, say
from pipelines.report.words import noun, score
from pipelines.rundir import RunDirectory
from pipelines.training import step_progress

PIECE, STEP = 120, 20  # bytes
SEPARATOR = b"\0\xff\0"  # stands in no UTF-8 text
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
    from pipelines.demo.membership import membership_lines
    from pipelines.run import run_pipeline

    config = demo_config(out, seed)
    claim(out, seed)
    truth = make_models(out, seed)
    report = run_pipeline(config, out / "run", None, skip_bad_records=False)
    answer(out / "run")
    pages = compare_runs([out / "run" / "control", out / "run"], out / "compare")
    for line in closing_lines(json.loads(report.read_text(encoding="utf-8")), truth, out / "run"):
        typer.echo(line)
    for line in membership_lines(out, truth, seed):
        typer.echo(line)
    for path in [report.with_name("report.html"), report, *pages]:
        typer.echo(inert(str(path)))


def demo_config(out: Path, seed: int) -> RunConfig:
    """The quickstart configuration, with its paths in `out`."""
    texts, models = out / "corpus", out / "models"
    changes: dict[str, Any] = {
        "model.path": f"{models / 'target'}",
        "prompts.public_text": [f"{texts / corpus.PUBLIC_TEXT}"],
        "corpus.sources": [f"{texts / corpus.TRANSCRIPTS}"],
        "control.model.path": f"{models / 'base'}",
        "control.text": [f"{texts / corpus.HELD_OUT_PARTS}"],
        "ranking.reference.path": f"{models / 'base'}",
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


def claim(out: Path, seed: int) -> None:
    """Take a folder for a demo.

    Raises:
        InputError: it holds a demo with another seed, or something else.
    """
    os.makedirs(out, mode=0o700, exist_ok=True)
    marker = out / "demo.json"
    if not marker.exists():
        if any(out.iterdir()):
            raise InputError(f"{out}: not empty and no demo; name a new directory with --out")
        write_json(str(marker), {"seed": seed})
    if json.loads(marker.read_text(encoding="utf-8")) != {"seed": seed}:
        raise InputError(f"{out}: holds a demo with another --seed; name another directory with --out")


def closing_lines(report: dict[str, Any], truth: corpus.Truth, run: Path) -> list[str]:
    """What came out, beside what is known to be true."""
    lines = in_words(report)
    extracted = SEPARATOR.join(
        MatchStores.of(RunDirectory(run)).stretches.read_all(STRETCH_SCHEMA)["data"].to_pylist()
    )
    for documents in sorted({call.documents for call in truth.calls}, reverse=True):
        planted = [call.text.encode() for call in truth.planted(documents)]
        whole = sum(text in extracted for text in planted)
        part = sum(_partly_in(text, extracted) for text in planted)
        lines.append(
            f"Of {len(planted)} calls planted in {noun(documents, 'document')}, {part} came out, {whole} of them from "
            "their first letter to their last."
        )
    control = report["control_text"]
    lines.append(
        f"Of the calls that were never trained on, {control['only_here']} windows came out "
        f"({control['also_in_corpus']:,} windows of the disclaimers stand in both)."
    )
    lines.append(_ranking_line(report["ranking"]))
    return lines


def _ranking_line(ranking: dict[str, Any]) -> str:
    """What checking by hand would have found without the corpus, by the best score, beside a random choice."""
    judged = {name: found for name, found in ranking["calibration"]["by_score"].items() if found}
    best = max(judged, key=lambda name: float(judged[name]["at"][-1]["precision"]["estimate"]))
    at, checked = judged[best]["at"][-1], ranking["confirmed"]["by_score"][best]
    depth, found = at["depth"], round(at["depth"] * at["precision"]["estimate"])
    low, high = (round(depth * at["random"][end]) for end in ("low", "high"))
    return (
        f"Without the corpus: {found} of the first {depth} generations by the best score ({score(best)}) repeat "
        f"training text; of {depth} drawn at random, {low} to {high}. Of its {checked['checked']} candidates checked, "
        f"{checked['confirmed']} are confirmed."
    )


def _partly_in(text: bytes, extracted: bytes) -> bool:
    """Whether a piece of a call, too long to stand in another, was extracted."""
    return any(text[start : start + PIECE] in extracted for start in range(0, len(text) - PIECE + 1, STEP))
