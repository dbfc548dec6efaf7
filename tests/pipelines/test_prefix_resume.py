"""Killed without warning in its stages, the prefix test goes on and ends with the result of an undisturbed one."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import load_settings
from pipelines.prefix.config import PrefixConfig
from pipelines.prefix.run import run_prefix
from tests.pipelines.killing import finish, kill_at, published
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
        kill_at(out, pattern, "prefix", config, "--out", out)
        now = published(out.rglob("*.parquet"))
        assert {path: now[path] for path in seen} == seen, "a published part was made again"
        seen = now
    finish("prefix", config, "--out", out)
    now = published(out.rglob("*.parquet"))
    assert {path: now[path] for path in seen} == seen
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
