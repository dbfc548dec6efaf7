"""How a command ends: one line for a fault, exit status 2; 130 after Ctrl-C."""

import sys
import traceback
from collections.abc import Callable

from extraction.errors import InputError
from index.errors import SourceError
from pipelines.progress import say
from pipelines.raised import place_of

FAULT, INTERRUPTED = 2, 130


def status_of(command: Callable[[], object], name: str) -> int:
    """Run a command line of typer's to its end.

    Args:
        command: what runs it; it ends by SystemExit.
        name: of the command, put in front of what is said.

    Returns:
        The exit status.
    """
    try:
        command()
    except SystemExit as ended:  # how typer always ends, wrong use (2) included
        status = int(ended.code or 0)
    except Exception as error:
        if "--debug" in sys.argv:
            traceback.print_exception(error)
        say(f"{name}: {_one_line(error)}")
        return FAULT
    else:
        status = 0
    if status == INTERRUPTED:  # Ctrl-C, which typer turns into this status
        say(f"{name}: stopped; the same command goes on from here")
    return status


def _one_line(error: Exception) -> str:
    """What to say of a fault. Messages of foreign exceptions can quote a text, so they are not printed."""
    if isinstance(error, InputError | SourceError):
        return " ".join(str(error).splitlines())
    if isinstance(error, OSError):
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return f"{place}{error.strerror or type(error).__name__}; mend it and run the same command again"
    return f"unexpected {type(error).__name__} at {place_of(error)}; `extraction --debug ...` shows all of it"
