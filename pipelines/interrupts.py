"""Remembers Ctrl-C: Ray can swallow the KeyboardInterrupt that the signal raises inside its own code."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def remembered_interrupt() -> Iterator[threading.Event]:
    """Within the block Ctrl-C raises KeyboardInterrupt as ever, and sets the event that this gives.

    Nothing is changed where another handler is in place, or outside the main thread, which alone hears signals.
    """
    seen = threading.Event()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield seen
        return

    def note(number: int, frame: FrameType | None) -> None:
        seen.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
