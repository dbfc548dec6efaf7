"""Progress: a line a minute whatever happens, a bar on a terminal, and counts alone."""

import time

import pytest

from pipelines import progress as module
from pipelines.progress import BarProgress, LineProgress, duration, progress


def test_a_line_comes_every_minute_whether_or_not_anything_moved(monkeypatch, capfd):
    monkeypatch.setattr(module, "LINE_SECONDS", 0.02)
    with progress("generate", "tokens", 1000):
        deadline = time.monotonic() + 10
        lines = []
        while len(lines) < 3:
            lines += capfd.readouterr().err.splitlines()
            assert time.monotonic() < deadline
    assert set(lines) == {"generate: 0 of 1,000 tokens, 0 tokens/s"}


def test_a_line_tells_done_of_planned_rate_time_left_and_failures(capfd):
    shown = LineProgress("generate", "tokens", 50_000_000, done=10_000_000, started=time.monotonic() - 1000)
    shown.advance(10_000_000, "3 requests failed")
    shown.stop()
    line = "generate: 20,000,000 of 50,000,000 tokens, 10,000 tokens/s, 50 min left, 3 requests failed\n"
    assert capfd.readouterr().err == line


def test_no_time_is_left_when_all_is_done(capfd):
    with progress("match", "parts", 2) as shown:
        shown.advance(2)
    assert "2 of 2 parts" in (line := capfd.readouterr().err)
    assert "left" not in line


def test_the_bar_tells_the_same(capfd):
    shown = BarProgress("generate", "tokens", 100, started=time.monotonic() - 10)
    shown.start()
    shown.advance(50, "1 requests failed")
    shown.stop()
    told = capfd.readouterr().err
    assert all(
        part in told for part in ("generate", "50/100", "tokens", "5/s", "10 s left", "1 requests failed")
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.4, "3 s"), (99, "99 s"), (720, "12 min"), (5940, "99 min"), (12000, "3 h 20 min")],
)
def test_times_are_written_for_people(seconds, words):
    assert duration(seconds) == words
