"""Runs a command as a process of its own and measures it from outside: time, and peak memory of all its processes.

Memory is the sum of the proportional set sizes (a page that several processes share counts once, a mapped file counts
as far as it is in memory), looked at five times a second. Inside a memory control group, where one can be made, the
kernel counts it instead, and enforces a limit.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL_SECONDS = 0.2
STANDARD_ERROR = 2
CONTROL_GROUPS = Path("/sys/fs/cgroup/memory")


@dataclass(frozen=True)
class Outcome:
    """How a command went.

    Attributes:
        status: its exit status; None where it was stopped at the time limit.
        seconds: from start to end.
        peak_bytes: most memory that its processes held together.
    """

    status: int | None
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Group:
    """A memory control group (version 1) below this process's own."""

    folder: Path

    def held(self) -> int:
        """Bytes held now: anonymous memory, and files as far as processes map them; not the rest of the page cache."""
        lines = (line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        numbers = {name: int(number) for name, number in lines}
        return numbers["total_rss"] + numbers["total_mapped_file"]

    def enter(self) -> None:
        """Move the calling process into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def killed(self) -> int:
        """How many processes the kernel ended because the group was at its limit."""
        lines = (self.folder / "memory.oom_control").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


@contextmanager
def memory_group(limit: int) -> Iterator[Group | None]:
    """Make a memory control group with a limit in bytes, page cache included; None where that is not possible here."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line.split(":")[2] for line in lines if line.split(":")[1] == "memory"), None)
    folder = CONTROL_GROUPS / f"{own or ''}".strip("/") / f"benchmark-{os.getpid()}"
    try:
        if own is None:
            raise OSError("no memory control group of version 1")
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(limit))
    except OSError:
        yield None
        return
    try:
        yield Group(folder)
    finally:
        folder.rmdir()


def run(
    command: Sequence[str | Path],
    *,
    limit_s: float = float("inf"),
    group: Group | None = None,
    output: int = STANDARD_ERROR,
) -> Outcome:
    """Run a command to its end or to its time limit.

    Args:
        command: program and arguments.
        limit_s: seconds after which it is stopped with all that it started.
        group: the control group that it is to run in.
        output: the file descriptor that its standard output goes to.
    """
    started = time.perf_counter()
    process = psutil.Popen(command, stdout=output, preexec_fn=group.enter if group else None)
    peak = 0
    while True:
        peak = max(peak, group.held() if group else _held(process))
        left = limit_s - (time.perf_counter() - started)
        try:
            status = process.wait(max(0, min(POLL_SECONDS, left)))
            return Outcome(status, time.perf_counter() - started, peak)
        except psutil.TimeoutExpired:
            if left <= 0:
                _stop(process)
                return Outcome(None, time.perf_counter() - started, peak)


def _held(process: psutil.Process) -> int:
    total = 0
    for one in _tree(process):
        try:
            total += one.memory_full_info().pss
        except psutil.Error:
            continue  # it has just ended
    return total


def _tree(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _stop(process: psutil.Popen) -> None:
    for one in _tree(process):
        try:
            one.kill()
        except psutil.Error:
            continue
    process.wait()
