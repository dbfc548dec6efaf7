"""The command `extraction`; nothing heavy is imported before it is needed."""

import os
import sys
from typing import Annotated

import typer

from pipelines.commands import (
    canary,
    compare,
    dp_audit,
    gate,
    identifiers,
    index,
    match,
    membership,
    prefix,
    rank,
    report,
    review,
    run,
)
from pipelines.ending import status_of

NAME = "extraction"
EPILOG = "Exit status: 0 done, 1 gate failed, 2 wrong use, a fault or an incomplete run, 3 hold, 130 stopped."

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Add the traceback to a fault.")] = False,
) -> None:
    """Measure how much of its training text a language model gives back word for word.

    Start with `extraction demo`, then copy a file from configs/ and `extraction run` it.
    """
    os.umask(0o077)  # what is written holds training text: its owner alone may read it


app.command()(run.demo)
app.command()(run.run)
app.add_typer(index.app, name="index")
app.command()(match.match)
app.command()(identifiers.identifiers)
app.command()(rank.rank)
app.command()(rank.confirm)
app.command()(prefix.prefix)
app.add_typer(membership.app, name="membership")
app.add_typer(canary.app, name="canary")
app.add_typer(dp_audit.app, name="dp-audit")
app.command()(compare.compare)
app.command()(report.report)
app.command()(gate.gate)
app.command()(review.review)
app.command("audit-log")(review.audit_log)
app.command()(review.purge)


def main() -> None:
    """Run the command line; the entry point of `extraction`."""
    sys.exit(status_of(app, NAME))
