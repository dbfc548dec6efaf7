"""`extraction run` and `extraction demo`: the whole test."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.commands.closing import close

RayAddress = Annotated[
    str | None, typer.Option("--ray-address", help="A Ray cluster, host:port; default: Ray on this machine.")
]


def run(
    config: Annotated[Path, typer.Argument(help="A YAML file; copy one from configs/.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Run directory; default: runs/<name of the config>.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: --set sampling.temperature=0.7")
    ] = None,
    ray_address: RayAddress = None,
    skip_bad_records: Annotated[
        bool,
        typer.Option(help="Count documents that cannot be read instead of stopping; the run is incomplete."),
    ] = False,
) -> None:
    """Run the whole test; run again, it goes on where it stopped.

    Plans prompts, generates, matches against the corpus, tags and looks up identifiers, counts and reports.

    Example: extraction run configs/local_model.yaml --out runs/audit --set seed=1
    """
    from pipelines.config import load_config
    from pipelines.run import run_pipeline

    loaded = load_config(config, settings or [])
    target = out or loaded.out or Path("runs") / loaded.name
    close(run_pipeline(loaded, target, ray_address, skip_bad_records), skip_bad_records)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where everything is written.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the texts, the training and the sampling.")] = 0,
) -> None:
    """Show on known truth that the instrument works: train a small model on made-up letters, and test it.

    Makes a fictional bank's transcripts, trains a base model and a target that memorises them, runs the whole test
    on both, and compares. Takes 3 to 5 minutes and 2 GiB on 2 cores; needs no network and no accelerator.

    Example: extraction demo --out runs/demo
    """
    from pipelines.demo.demo import run_demo

    run_demo(out, seed)
