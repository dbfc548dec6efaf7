"""The command `extraction`: one line for a fault, exit status 2; nothing heavy is imported before it is needed."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from extraction.errors import InputError
from index.errors import SourceError
from pipelines.commands import compare, identifiers, index, match, report, run

EPILOG = "Exit status: 0 done, 1 gate failed, 2 wrong use, a fault or an incomplete run, 3 hold."

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
app.command()(compare.compare)
app.command()(report.report)


def main() -> None:
    """Run the command line; the entry point of `extraction`."""
    try:
        app(standalone_mode=False)
    except (InputError, SourceError) as error:
        sys.exit(_fault(error))


def _fault(error: Exception) -> int:
    if "--debug" in sys.argv:
        raise error
    print(f"extraction: {error}", file=sys.stderr)
    return 2
