"""What a run lost is named: requests that no worker could answer, and files that were damaged after they were made."""

import json
import os

import pytest
import yaml

from extraction.errors import InputError
from extraction.records import GENERATION_SCHEMA
from pipelines import sample
from pipelines.config import parse_config
from pipelines.generate import ranges
from pipelines.parts import PartStore
from pipelines.run import run_pipeline
from tests.pipelines.faulty import SECRET, Faults, FaultyJob
from tests.pipelines.small_run import raw_config, write_inputs
from tests.pipelines.test_resume import results

pytestmark = pytest.mark.usefixtures("ray_cluster")

# One worker at a time, and no tagger of names: each takes seconds to start, and nothing here is about them.
SMALL = {
    "budgets": [2000],
    "part_requests": 4,
    "rerun_requests": 0,
    "identifiers": {"types": ["ACCOUNT_NUMBER"]},
    "workers": 1,
    "analysis_workers": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory, ray_cluster):
    """A finished run, its configuration, and what it found."""
    config, out = parse_config(raw_config(folder, **SMALL), "small"), tmp_path_factory.mktemp("run") / "small"
    run_pipeline(config, out, None, skip_bad_records=False)
    return config, out, results(out)


def written(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.done")}


def test_a_part_that_fails_three_times_is_given_up_and_the_run_ends_incomplete_with_the_list(
    command, folder, finished, tmp_path, monkeypatch
):
    config, out = tmp_path / "small.yaml", tmp_path / "run"
    corpus = {"index": str(finished[1] / "index")}
    config.write_text(yaml.safe_dump(raw_config(folder, **SMALL, corpus=corpus)))
    faults = Faults(str(tmp_path), poison="public-000000001")
    make = sample.GenerationJob
    monkeypatch.setattr(sample, "GenerationJob", lambda *given: FaultyJob(make(*given), faults))
    status, told, log = command("run", config, "--out", out)
    assert status == 2
    assert SECRET not in told + log
    assert "INCOMPLETE: requests that failed (4).\n  public-000000000 to public-000000003\n" in told
    assert log.count("a worker failed (RuntimeError, ") == 3
    assert "given up after 3 attempts" in log
    lost = {
        "reason": "requests that failed",
        "count": 4,
        "requests": ["public-000000000 to public-000000003"],
    }
    assert json.loads((out / "report.json").read_text())["incomplete"] == [lost]
    assert json.loads((out / "run.json").read_text())["status"] == "incomplete"
    rows = PartStore(str(out / "generations")).read_all(GENERATION_SCHEMA).to_pylist()
    failed = [row["request_id"] for row in rows if row["finish_reason"] == "failed"]
    assert failed == [f"public-00000000{number}" for number in range(4)]
    assert len(rows) == len({row["request_id"] for row in rows}) > 8
    before = written(out / "generations")
    assert (
        command("run", config, "--out", out)[0] == 2
    )  # incomplete stays so: no published part is made again
    assert written(out / "generations") == before


def test_what_came_from_a_part_that_was_cut_short_is_made_again_with_it(finished, capfd):
    config, out, expected = finished
    file = out / "generations" / "part-00001.parquet"
    os.truncate(file, file.stat().st_size - 1)
    before = written(out / "spans")
    run_pipeline(config, out, None, skip_bad_records=False)
    assert f"{file}: cut short since it was written" in capfd.readouterr().err
    after = written(out / "spans")
    assert {name for name in after if after[name] != before[name]} == {"part-00001.done"}
    assert results(out) == expected


def test_a_damaged_part_is_named_in_the_error(finished):
    config, out, expected = finished
    file = out / "generations" / "part-00000.parquet"
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    (out / "spans" / "part-00000.done").unlink()
    with pytest.raises(InputError, match=r"generations/part-00000\.parquet: damaged; restore it from a copy"):
        run_pipeline(config, out, None, skip_bad_records=False)
    file.write_bytes(whole)
    run_pipeline(config, out, None, skip_bad_records=False)
    assert results(out) == expected


def test_a_plan_that_was_cut_short_is_refused(finished):
    config, out, _ = finished
    file = out / "plan" / "round-00000.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(InputError, match=r"plan/round-00000\.parquet: cut short"):
        run_pipeline(config, out, None, skip_bad_records=False)
    file.write_bytes(whole)


def test_requests_are_summed_up_as_ranges():
    ids = ["public-000000007", "empty-000000002", "empty-000000001", "public-000000009", "empty-000000003"]
    assert ranges(ids) == ["empty-000000001 to empty-000000003", "public-000000007", "public-000000009"]
    assert ranges([]) == []
