import os
import signal
import threading

import pytest

from pipelines.interrupts import remembered_interrupt

pytestmark = pytest.mark.usefixtures("listening")


def swallow_ctrl_c() -> None:
    """What Ray's own code can do."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt:
        pass


def test_a_swallowed_interrupt_is_remembered() -> None:
    with remembered_interrupt() as seen:
        assert not seen.is_set()
        swallow_ctrl_c()
        assert seen.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_ends_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), remembered_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_handlers_and_threads_are_left_alone() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered_interrupt():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    handlers = []

    def inside() -> None:
        with remembered_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
