"""The rerun-agreement rate: a sample of the requests is generated again, and the share with equal tokens is told."""

import json
from dataclasses import replace

import pytest

from extraction.engines import load_engine
from extraction.records import requests_of
from pipelines.generate import publish_generations
from pipelines.plan import Part, planned_parts, read_requests, write_round
from pipelines.rerun import choose, measure_agreement
from pipelines.run import run_pipeline
from pipelines.rundir import RunDirectory
from pipelines.sample import prepare
from pipelines.work import Work
from tests.pipelines.small_run import small_config, write_inputs

pytestmark = pytest.mark.usefixtures("ray_cluster")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


def altered(generation):
    """What another batch could have given for one request in three: another last token, or no generation at all."""
    if generation.number % 3 == 0:
        return replace(generation, token_ids=[*generation.token_ids[:-1], 5])
    if generation.number == 7:
        return replace(generation, token_ids=[], logprobs=[], finish_reason="failed")
    return generation


@pytest.fixture
def work(folder, tmp_path):
    """A run that has generated 60 requests, a third of them unlike what its engine gives."""
    config = small_config(folder, part_requests=16)
    generator = prepare(config)
    directory = RunDirectory(tmp_path / "run")
    directory.open({}, {})
    made = Work(directory, directory.read())
    plan = directory.store("plan")
    write_round(plan, generator.prompts, {"empty": 30, "public": 30}, {}, config.part_requests)
    engine = load_engine(config.engine, config.model, generator.sampling)
    for part in planned_parts(plan):
        generations = engine.generate(requests_of(read_requests(plan, part)))
        publish_generations(made.generations, part.name, [altered(g) for g in generations])
    return config, made, generator.sampling


def test_requests_that_give_other_tokens_are_told(work):
    config, made, sampling = work
    measure_agreement(config.model_copy(update={"rerun_requests": 60}), made, sampling)
    expected = {"requests": 58, "agreed": 38, "share": 38 / 58}  # two failed, 20 differ
    assert made.run["rerun_agreement"] == expected
    assert made.directory.read()["rerun_agreement"] == expected


def test_no_text_is_kept_of_the_second_generation(work):
    config, made, sampling = work
    measure_agreement(config, made, sampling)
    assert made.run["rerun_agreement"]["requests"] in range(28, 33)
    (name,) = made.directory.store("reruns").complete()
    assert made.directory.store("reruns").read(name).schema.names == ["request_id", "same"]


def test_a_measured_rate_is_not_measured_again(work):
    config, made, sampling = work
    measure_agreement(config, made, sampling)
    (file,) = (made.directory.path / "reruns").glob("*.parquet")
    before = file.stat().st_mtime_ns
    measure_agreement(config, made, sampling)
    assert file.stat().st_mtime_ns == before
    measure_agreement(config.model_copy(update={"rerun_requests": 0}), made, sampling)
    assert made.run["rerun_agreement"] is None and len(made.directory.store("reruns").complete()) == 1


def test_the_sample_is_drawn_uniformly_over_all_parts():
    parts = [Part(f"part-{n:05d}", 0, n, "empty", 0, size) for n, size in enumerate((1, 100, 50, 3))]
    drawn = [0, 0, 0, 0]
    for seed in range(400):
        sample = choose(parts, 20, seed)
        assert sum(len(rows) for _, rows in sample) == 20
        for part, rows in sample:
            assert len(set(rows)) == len(rows) and 0 <= min(rows) and max(rows) < part.requests
            drawn[part.group] += len(rows)
    for part, count in zip(parts, drawn, strict=True):
        assert count / 8000 == pytest.approx(part.requests / 154, rel=0.15, abs=0.004)
    whole = choose(parts, 1000, 0)
    assert [(part, len(rows)) for part, rows in whole] == [(part, part.requests) for part in parts]


def test_a_run_reports_the_rate_with_its_sample(folder, tmp_path):
    out = tmp_path / "run"
    config = small_config(folder, budgets=[3000], rerun_requests=9)
    report = json.loads(run_pipeline(config, out, None, skip_bad_records=False).read_text())
    assert json.loads((out / "run.json").read_text())["rerun_agreement"] == {
        "requests": 9,
        "agreed": 9,
        "share": 1.0,
    }
    assert (report["method"]["rerun_agreement"], report["method"]["rerun_requests"]) == (1.0, 9)
    assert "100\u202f% of 9 gave the same tokens again" in (out / "report.html").read_text()
