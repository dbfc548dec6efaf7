"""`extraction prefix`: what the true openings of training documents bring out, and the games on identifiers."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pipelines.commands.run import RayAddress
from pipelines.progress import inert


def prefix(
    config: Annotated[Path, typer.Argument(help="A YAML file; copy configs/prefix.yaml.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Output directory; default: runs/<name of the config>.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: --set documents=5000")
    ] = None,
    ray_address: RayAddress = None,
    skip_bad_records: Annotated[
        bool,
        typer.Option(
            help="Count documents that cannot be read instead of stopping; the result is incomplete."
        ),
    ] = False,
) -> None:
    """Give a model the true openings of training documents and measure what it goes on with; play three games.

    Run again, it goes on where it stopped. Writes prefix.json and prefix.html.

    Example: extraction prefix configs/prefix.yaml --out runs/prefix --set run=runs/audit
    """
    from pipelines.config import load_settings
    from pipelines.prefix.config import PrefixConfig
    from pipelines.prefix.run import run_prefix

    loaded = load_settings(PrefixConfig, config, settings or [])
    target = out or loaded.out or Path("runs") / loaded.name
    close(run_prefix(loaded, target, ray_address, skip_bad_records), skip_bad_records)


def close(result: Path, skip_bad_records: bool) -> None:
    """Print what was found and where it stands.

    Args:
        result: the path of prefix.json.
        skip_bad_records: whether the user asked that bad records do not count as a fault.

    Raises:
        typer.Exit: with status 2, for a result that is incomplete.
    """
    from pipelines.commands.closing import only_skipped
    from pipelines.prefix.page import headline, sentences

    record = json.loads(result.read_text(encoding="utf-8"))
    for line in (headline(record)[2], *sentences(record)):
        typer.echo(line)
    for path in (result.with_name("prefix.html"), result):
        typer.echo(inert(str(path)))
    if record["status"] == "incomplete" and not (skip_bad_records and only_skipped(record)):
        raise typer.Exit(2)
