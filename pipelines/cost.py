"""What a stage cost: wall time, and the most memory that this process and everything below it held."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LOOKS = 0.5


@contextmanager
def stage_cost(record: Callable[[float, int], None]) -> Iterator[None]:
    """Measure the block and hand over what it cost.

    Args:
        record: called after the block, also when it fails, with wall seconds and peak resident bytes: the sum over
            the process tree of this machine, sampled twice a second, so short peaks can be missed.
    """
    peak = [_resident_bytes()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            peak[0] = max(peak[0], _resident_bytes())

    started = time.monotonic()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        record(time.monotonic() - started, max(peak[0], _resident_bytes()))


def _resident_bytes() -> int:
    """Memory of this process and its descendants, pages that they share counted once."""
    import psutil

    own = psutil.Process()
    total = 0
    for process in [own, *own.children(recursive=True)]:
        try:
            memory = process.memory_info()
        except psutil.Error:
            continue  # it ended while we looked
        total += memory.rss - memory.shared
    return total
