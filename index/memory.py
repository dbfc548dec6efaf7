"""How much memory a process may use: of what is free on the machine, what its control groups let it have."""

import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that are free on the machine, or that a control group of this process is limited to, if that is less."""
    return min([_free_on_the_machine(), *_limits()])


def _free_on_the_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _limits() -> Iterator[int]:
    """Of this process' groups and of all above them, of either version of control groups."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            yield from _limits_above(GROUPS / "memory", path, "memory.limit_in_bytes")
        elif not controllers:
            yield from _limits_above(GROUPS, path, "memory.max")


def _limits_above(root: Path, path: str, name: str) -> Iterator[int]:
    own = root / path.strip("/")
    for folder in (own, *own.parents):
        if not folder.is_relative_to(root):
            return
        try:
            said = (folder / name).read_text(encoding="ascii").strip()
        except OSError:  # seen from inside a container, its own group is the root
            continue
        if said.isdigit():  # or `max`
            yield int(said)
