"""The command `extraction`: one line for a fault, exit status 2; nothing heavy is imported before it is needed."""

import os
import sys
import traceback
from typing import Annotated

import typer

from extraction.errors import InputError
from index.errors import SourceError
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
from pipelines.progress import say

FAULT, INTERRUPTED = 2, 130
EPILOG = "Exit status: 0 done, 1 gate failed, 2 wrong use, a fault or an incomplete run, 3 hold, 130 stopped."

app = typer.Typer(
    name="extraction",
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
    sys.exit(_status())


def _status() -> int:
    try:
        app()
    except SystemExit as ended:  # how typer always ends, wrong use (2) included
        status = int(ended.code or 0)
    except Exception as error:
        if "--debug" in sys.argv:
            traceback.print_exception(error)
        return _end(_one_line(error), FAULT)
    if status == INTERRUPTED:  # Ctrl-C, which typer turns into this status
        return _end("stopped; the same command goes on from here", status)
    return status


def _one_line(error: Exception) -> str:
    """What to say of a fault. Messages of foreign exceptions can quote a text, so they are not printed."""
    if isinstance(error, InputError | SourceError):
        return " ".join(str(error).splitlines())
    if isinstance(error, OSError):
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return f"{place}{error.strerror or type(error).__name__}; mend it and run the same command again"
    return f"unexpected {type(error).__name__}; run again with `extraction --debug ...` to see where"


def _end(message: str, status: int) -> int:
    say(f"extraction: {message}")
    return status
