"""`python -m pipelines.gmint.small`: the published table of gMINT in the small, beside the paper's own figures."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pipelines.ending import status_of
from pipelines.gmint.small.experiment import Experiment, run_experiment
from pipelines.gmint.table import in_markdown
from pipelines.parts import write_file

TABLE = "table.md"


def small(
    out: Annotated[Path, typer.Option("--out", help="Where everything is written.")] = Path(
        "runs/gmint-table"
    ),
    processes: Annotated[int, typer.Option("--processes", min=1, help="Models at a time, a core each.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the texts, the models and the audits.")] = 0,
) -> None:
    """Make data, train the paper's kinds of models on it in small sizes, audit them, and print the table.

    Run again, it goes on after the last finished model.

    Example: python -m pipelines.gmint.small --out runs/gmint-table
    """
    os.umask(0o077)
    written = in_markdown(run_experiment(Experiment(seed=seed), out, processes))
    write_file(str(out / TABLE), written.encode())
    typer.echo(written)
    typer.echo(out / TABLE)


if __name__ == "__main__":
    sys.exit(status_of(partial(typer.run, small), "gmint-table"))
