"""Killed without warning in its stages, the prefix test goes on and ends with the result of an undisturbed one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import load_settings
from pipelines.prefix.config import PrefixConfig
from pipelines.prefix.run import run_prefix
from tests.pipelines.prefix_cases import Cases, make, write_prefix

STAGES = (
    "documents/targets-shares/share-*.done",
    "targets/part-*.done",
    "continuations/share-*.done",
    "readings/model/part-*.done",
    "generations/greedy-model/part-*.done",
    "screen/model/part-*.done",
    "identifiers/part-*.done",
    "generations/reconstruction-model/part-*.done",
    "ranks/model/part-*.done",
)


def whole_config(cases: Cases) -> Path:
    games = {"sentences": 8, "samples": 4, "sample_tokens": 8, "candidates": 4}
    screen = {"documents": 50, "prefix_tokens": 16}
    return write_prefix(cases, cases.folder / "whole.yaml", screen=screen, games=games, part_targets=2)


def start(config: Path, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines", "prefix", str(config), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


def kill_at(config: Path, out: Path, pattern: str) -> None:
    """Start the test and kill the driver and all its workers as soon as a file of that pattern stands there."""
    before = set(out.glob(pattern)) if out.exists() else set()
    process = start(config, out)
    deadline = time.monotonic() + 240
    while not set(out.glob(pattern)) - before:
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        assert time.monotonic() < deadline, "the stage was never reached"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def published(out: Path) -> dict[Path, tuple[int, int]]:
    parts = [path for path in out.rglob("*.parquet") if path.with_suffix(".done").exists()]
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in parts}


def result(out: Path) -> dict[str, Any]:
    """What the test says, without what differs between any two."""
    record: dict[str, Any] = json.loads((out / "prefix.json").read_text(encoding="utf-8"))
    del record["run"], record["method"]["stages"], record["method"]["versions"]
    return record


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    return make(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def expected(cases: Cases, ray_cluster: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    config = load_settings(PrefixConfig, whole_config(cases))
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    run_prefix(config, out, None, skip_bad_records=False)
    return result(out)


def finish_after_kills(cases: Cases, out: Path, stages: tuple[str, ...], expected: dict[str, Any]) -> None:
    config, seen = whole_config(cases), dict[Path, tuple[int, int]]()
    for pattern in stages:
        kill_at(config, out, pattern)
        now = published(out)
        assert {path: now[path] for path in seen} == seen, "a published part was made again"
        seen = now
    last = start(config, out)
    output, _ = last.communicate(timeout=240)
    assert last.returncode == 0, output
    assert {path: facts for path, facts in published(out).items() if path in seen} == seen
    assert result(out) == expected


def test_killed_in_some_stages_the_result_is_identical(
    cases: Cases, expected: dict[str, Any], tmp_path: Path
) -> None:
    finish_after_kills(cases, tmp_path / "out", (STAGES[3], STAGES[7]), expected)


@pytest.mark.slow
def test_killed_in_each_stage_the_result_is_identical(
    cases: Cases, expected: dict[str, Any], tmp_path: Path
) -> None:
    finish_after_kills(cases, tmp_path / "out", STAGES, expected)
