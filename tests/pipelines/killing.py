"""A command that is killed without warning in its middle, and what it had published by then."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

SECONDS = 240


def start(*arguments: object) -> "subprocess.Popen[str]":
    """Start `extraction ARGUMENTS` as the leader of a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


def kill_at(out: Path, pattern: str, *arguments: object) -> None:
    """Start it, and kill the driver and all of its group as soon as another file of a pattern stands in a folder."""
    before = set(out.glob(pattern)) if out.exists() else set()
    process = start(*arguments)
    deadline = time.monotonic() + SECONDS
    while not set(out.glob(pattern)) - before:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the stage was never reached"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def finish(*arguments: object) -> None:
    """Start it, and see it end well."""
    last = start(*arguments)
    output, _ = last.communicate(timeout=SECONDS)
    assert last.returncode == 0, output


def published(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """When the parts among some files were written, and where they lie."""
    parts = [path for path in paths if path.with_suffix(".done").exists()]
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in parts}
