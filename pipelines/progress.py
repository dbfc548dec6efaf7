"""Progress of long work: a bar on a terminal, a line a minute elsewhere. Standard error only, counts only."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LINE_SECONDS = 60.0


def inert(text: str) -> str:
    """Show control characters instead of sending them: a file's name must not steer a terminal or a page."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(message: str) -> None:
    """Print one line of news for the person who waits."""
    print(inert(message), file=sys.stderr, flush=True)


@dataclass
class LineProgress:
    """A line a minute: done of total, rate, time left."""

    label: str
    unit: str
    total: int
    done: int = 0
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)
    last_line: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Say nothing before there is something to say."""

    def advance(self, amount: int, note: str = "") -> None:
        """Count `amount` more units as done."""
        self.done += amount
        if time.monotonic() - self.last_line >= LINE_SECONDS:
            self.last_line = time.monotonic()
            self.line(note)

    def line(self, note: str = "") -> None:
        """Print where the work stands."""
        elapsed = max(time.monotonic() - self.started, 1e-9)
        rate = self.done / elapsed
        left = f", {(self.total - self.done) / rate:,.0f} s left" if 0 < self.done < self.total else ""
        tail = f", {note}" if note else ""
        say(
            f"{self.label}: {self.done:,} of {self.total:,} {self.unit}, {rate:,.0f} {self.unit}/s{left}{tail}"
        )


class BarProgress(LineProgress):
    """The same on a terminal, as a bar."""

    def start(self) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]} {task.fields[note]}"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task(self.label, total=self.total, unit=self.unit, note="")
        self._bar.start()

    def advance(self, amount: int, note: str = "") -> None:
        """Count `amount` more units as done."""
        self.done += amount
        rate = self.done / max(time.monotonic() - self.started, 1e-9)
        self._bar.update(self._task, completed=self.done, note=f"{rate:,.0f}/s {note}".rstrip())

    def line(self, note: str = "") -> None:
        """Leave the finished bar standing."""
        self._bar.stop()


@contextmanager
def progress(label: str, unit: str, total: int) -> Iterator[LineProgress]:
    """Show progress while the block runs, and a closing line after it.

    Args:
        label: what is being done, a few words.
        unit: what is counted, plural.
        total: how many there are.
    """
    kind = BarProgress if sys.stderr.isatty() else LineProgress
    shown = kind(label, unit, total)
    shown.start()
    try:
        yield shown
    finally:
        shown.line()
