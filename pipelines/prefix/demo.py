"""`python -m pipelines.prefix.demo`: the prefix test on the demo's two models, made for 10 minutes on 2 cores.

Takes the texts, the models and the sampling run of `extraction demo`, or makes them first.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.commands.prefix import close
from pipelines.config import load_settings
from pipelines.demo import corpus
from pipelines.demo.demo import demo_config, make_models
from pipelines.ending import status_of
from pipelines.prefix.config import PrefixConfig
from pipelines.prefix.run import run_prefix

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "prefix.yaml"


def prefix_config(out: Path, seed: int) -> PrefixConfig:
    """The configuration of configs/, with its paths in `out`."""
    changes: dict[str, Any] = {
        "model.path": f"{out / 'models' / 'target'}",
        "control.path": f"{out / 'models' / 'base'}",
        "corpus.index": f"{out / 'run' / 'index'}",
        "run": f"{out / 'run'}",
        "games.known": [f"{out / 'corpus' / corpus.PUBLIC_TEXT}"],
        "seed": seed,
    }
    return load_settings(
        PrefixConfig, CONFIG, [f"{field}={json.dumps(value)}" for field, value in changes.items()]
    )


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the demo is, or is to be.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Of the texts, the training and the sampling.")] = 0,
) -> None:
    """Measure what true openings bring out of the demo's models; run again, it goes on where it stopped."""
    from pipelines.demo.demo import claim
    from pipelines.run import run_pipeline

    claim(out, seed)
    make_models(out, seed)
    run_pipeline(demo_config(out, seed), out / "run", None, skip_bad_records=False)
    close(run_prefix(prefix_config(out, seed), out / "prefix", None, False), False)


if __name__ == "__main__":
    sys.exit(status_of(partial(typer.run, demo), "demo-prefix"))
