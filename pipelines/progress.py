"""Progress of long work: a bar on a terminal, a line a minute elsewhere. Standard error only, counts only."""

import sys
import threading
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
    # Line and end in one piece: threads that speak at once would be mixed up.
    print(f"{inert(message)}\n", end="", file=sys.stderr, flush=True)


@dataclass
class LineProgress:
    """A line a minute, whether or not anything moved: done of total, rate, time left.

    Attributes:
        label: what is being done, a few words.
        unit: what is counted, plural.
        total: how many there are.
        done: how many are done; those done before this began do not count in the rate.
        note: what else is worth saying, counts only.
    """

    label: str
    unit: str
    total: int
    done: int = 0
    note: str = ""
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._before = self.done
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._every_minute, daemon=True)

    @property
    def rate(self) -> float:
        """Units a second since this began."""
        return (self.done - self._before) / max(time.monotonic() - self.started, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all is done at this rate; None where nothing is left, or nothing was done yet."""
        left = self.total - self.done
        return left / self.rate if left > 0 and self.rate > 0 else None

    def start(self) -> None:
        """Begin to tell."""
        self._teller.start()

    def advance(self, amount: int, note: str = "") -> None:
        """Count `amount` more units as done."""
        self.done += amount
        self.note = note

    def stop(self) -> None:
        """Say where the work ended."""
        self._ended.set()
        if self._teller.is_alive():
            self._teller.join()  # no line of it comes after the closing one
        self._line()

    def _every_minute(self) -> None:
        while not self._ended.wait(LINE_SECONDS):
            self._line()

    def _line(self) -> None:
        facts = [f"{self.done:,} of {self.total:,} {self.unit}", f"{self.rate:,.0f} {self.unit}/s"]
        if self.seconds_left is not None:
            facts.append(f"{duration(self.seconds_left)} left")
        say(f"{self.label}: {', '.join([*facts, self.note] if self.note else facts)}")


class BarProgress(LineProgress):
    """The same on a terminal, as a bar."""

    def start(self) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]} {task.fields[note]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task(
            self.label, total=self.total, completed=self.done, unit=self.unit, note=""
        )
        self._bar.start()

    def advance(self, amount: int, note: str = "") -> None:
        """Count `amount` more units as done."""
        super().advance(amount, note)
        left = "" if self.seconds_left is None else f"{duration(self.seconds_left)} left"
        facts = " ".join(fact for fact in (f"{self.rate:,.0f}/s", left, note) if fact)
        self._bar.update(self._task, completed=self.done, note=facts)

    def stop(self) -> None:
        """Leave the finished bar standing."""
        self._bar.stop()


def duration(seconds: float) -> str:
    """Write a time for people: `40 s`, `12 min`, `3 h 20 min`."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def progress(label: str, unit: str, total: int, done: int = 0) -> Iterator[LineProgress]:
    """Show progress while the block runs, and a closing line after it.

    Args:
        label: what is being done, a few words.
        unit: what is counted, plural.
        total: how many there are.
        done: how many were done before.
    """
    kind = BarProgress if sys.stderr.isatty() else LineProgress
    shown = kind(label, unit, total, done)
    shown.start()
    try:
        yield shown
    finally:
        shown.stop()
