"""Killed without warning in every stage, a run goes on and ends with the counts of an undisturbed one."""

import json
import os
import signal
import time

import pyarrow.parquet as pq
import pytest
import yaml

from pipelines.config import parse_config
from pipelines.run import run_pipeline
from tests.pipelines.killing import finish, kill_at, published, start
from tests.pipelines.small_run import raw_config, write_inputs

STAGES = {
    "generate": "generations/part-*.done",
    "match": "spans/part-*.done",
    "tag identifiers": "identifiers/part-*.done",
    "look up identifiers": "identifiers/corpus-*/share-*.done",
    "count": "windows/part-*.done",
}
PUBLISHED = ("plan/*.parquet", "generations/*.parquet", "spans/*.parquet", "identifiers/*.parquet")


def parts_of(out):
    return published(path for pattern in PUBLISHED for path in out.glob(pattern))


def results(out):
    """What a run says, without what differs between any two runs."""
    report = json.loads((out / "report.json").read_text())
    for name in ("run",):
        del report[name]
    for name in ("stages", "versions"):
        del report["method"][name]
    passages = pq.read_table(out / "passages.parquet").to_pylist()
    windows = pq.read_table(out / "windows" / "part-00000.parquet").to_pylist()
    return report, passages, windows


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, ray_cluster):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    raw = raw_config(folder, part_requests=4, budgets=[2000, 8000])
    raw["corpus"] = {"sources": [str(folder / "corpus.jsonl")], "index": str(folder / "index")}
    out = tmp_path_factory.mktemp("undisturbed") / "small"
    run_pipeline(parse_config(raw, "small"), out, None, skip_bad_records=False)
    config = folder / "small.yaml"
    config.write_text(yaml.safe_dump(raw))
    return config, results(out)


def test_killed_in_each_stage_the_final_counts_are_identical(undisturbed, tmp_path):
    config, expected = undisturbed
    out = tmp_path / "small"
    seen = {}
    for pattern in STAGES.values():
        kill_at(out, pattern, "run", config, "--out", out)
        now = parts_of(out)
        assert {path: now[path] for path in seen} == seen, "a published part was made again"
        seen = now
    finish("run", config, "--out", out)
    assert {path: facts for path, facts in parts_of(out).items() if path in seen} == seen
    assert results(out) == expected


def test_ctrl_c_ends_within_seconds_and_the_same_command_goes_on(listening, undisturbed, tmp_path):
    config, expected = undisturbed
    out = tmp_path / "small"
    process = start("run", config, "--out", out)
    while not list(out.glob("generations/part-*.done")):
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert "the same command goes on from here" in output
    assert "Traceback" not in output
    finish("run", config, "--out", out)
    assert results(out) == expected


def test_a_second_process_in_one_run_directory_is_refused(undisturbed, tmp_path):
    config, _ = undisturbed
    out = tmp_path / "small"
    first = start("run", config, "--out", out)
    while not (out / "run.json").exists():
        assert first.poll() is None
        time.sleep(0.01)
    second = start("run", config, "--out", out)
    output, _ = second.communicate(timeout=60)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert second.returncode == 2
    assert output.strip().endswith("another process works here; wait for it or name another --out")


def test_killed_while_the_index_is_built_the_same_command_goes_on(undisturbed, tmp_path):
    config, expected = undisturbed
    raw = yaml.safe_load(config.read_text())
    with open(tmp_path / "long.jsonl", "w") as handle:  # what takes seconds to index, and matches nothing
        for number in range(8000):
            handle.write(json.dumps({"id": f"long-{number}", "text": os.urandom(5000).hex()}) + "\n")
    raw["corpus"] = {"sources": [*raw["corpus"]["sources"], str(tmp_path / "long.jsonl")]}
    own, out = tmp_path / "small.yaml", tmp_path / "small"
    own.write_text(yaml.safe_dump(raw))
    kill_at(out, "index/key", "run", own, "--out", out)
    assert not (out / "index" / "index.json").exists()
    finish("run", own, "--out", out)
    report, _, _ = results(out)
    assert report["budgets"] == expected[0]["budgets"]
