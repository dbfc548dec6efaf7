"""A run while it goes on: its directory, the index it is matched against, and what its stages cost."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.errors import InputError
from pipelines.cost import stage_cost
from pipelines.parts import PartStore
from pipelines.rundir import RunDirectory

if TYPE_CHECKING:
    from index import Index


@dataclass(frozen=True)
class Work:
    """One run while it goes on.

    Attributes:
        directory: where everything is written.
        run: the content of run.json, kept up to date.
    """

    directory: RunDirectory
    run: dict[str, Any]

    @property
    def generations(self) -> PartStore:
        """The parts of `generations/`."""
        return self.directory.store("generations")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run one stage and add what it cost to run.json."""

        def record(seconds: float, peak: int) -> None:
            stages = self.run.setdefault("stages", {})
            before = stages.get(name, {"seconds": 0.0, "peak_memory_bytes": 0})
            stages[name] = {
                "seconds": round(before["seconds"] + seconds, 3),
                "peak_memory_bytes": max(before["peak_memory_bytes"], peak),
            }
            self.directory.write(self.run)

        with stage_cost(record):
            yield


@dataclass(frozen=True)
class SearchedWork(Work):
    """A run whose generations are matched against a corpus.

    Attributes:
        index: the open index of the corpus.
    """

    index: "Index"


@contextmanager
def one_at_a_time(out: Path) -> Iterator[None]:
    """Hold the run directory; a second process in it is refused.

    Raises:
        InputError: another process works in the directory.
    """
    with open(os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{out}: another process works here; wait for it or name another --out"
            ) from None
        try:
            yield
        finally:
            if os.listdir(out) == [".lock"]:  # nothing came of it: leave nothing behind
                os.unlink(out / ".lock")
                out.rmdir()
