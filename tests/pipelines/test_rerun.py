"""The rerun-agreement rate: a sample of the requests is generated again, and the share with equal tokens is told."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from extraction.engines import load_engine
from extraction.records import requests_of
from pipelines import sample
from pipelines.generate import GenerationJob, publish_generations
from pipelines.plan import Part, planned_parts, read_requests, write_round
from pipelines.rerun import Rerun, choose
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
def job(folder, tmp_path):
    """What the workers do of a run that has generated 60 requests, a third of them unlike what its engine gives."""
    config = small_config(folder, part_requests=16)
    generator = prepare(config)
    directory = RunDirectory(tmp_path / "run")
    plan, generations, reruns = (directory.store(name) for name in ("plan", "generations", "reruns"))
    write_round(plan, generator.prompts, {"empty": 30, "public": 30}, {}, config.part_requests)
    engine = load_engine(config.engine, config.model, generator.sampling)
    for part in planned_parts(plan):
        made = engine.generate(requests_of(read_requests(plan, part)))
        publish_generations(generations, part.name, [altered(g) for g in made])
    again = Rerun(60, config.seed, plan, generations, reruns)
    return GenerationJob(config.engine, config.model, generator.sampling, plan, generations, again)


def generated_again(job, requests):
    """The sample, once it was generated again by a worker of that job."""
    again = replace(job.again, requests=requests)
    work = replace(job, again=again).start()
    for name in again.left():
        work(name)
    assert again.left() == []
    return again


def test_requests_that_give_other_tokens_are_told(job):
    agreed = generated_again(job, 60).agreement()
    assert agreed == {"requests": 58, "agreed": 38, "share": 38 / 58}  # two failed, 20 differ


def test_no_text_is_kept_of_the_second_generation(job):
    again = generated_again(job, 32)
    assert again.agreement()["requests"] in range(28, 33)
    assert again.reruns.complete() == [again.name]
    assert again.reruns.read(again.name).schema.names == ["request_id", "same"]


def test_a_measured_rate_is_not_measured_again_and_none_is_where_none_was_asked_for(job):
    generated_again(job, 32)
    (file,) = Path(job.again.reruns.root).glob("*.parquet")
    before = file.stat().st_mtime_ns
    generated_again(job, 32)
    assert file.stat().st_mtime_ns == before
    none = generated_again(job, 0)
    assert none.agreement() is None and len(none.reruns.complete()) == 1


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


@dataclass(frozen=True)
class CountedJob(GenerationJob):
    """Leaves a file for each engine that is loaded."""

    def start(self):
        Path(self.plan.root).parent.joinpath(f"loaded-{os.getpid()}-{os.urandom(4).hex()}").touch()
        return super().start()


def test_the_sample_is_generated_by_an_engine_that_is_loaded_already(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "GenerationJob", CountedJob)
    directory = RunDirectory(tmp_path / "run")
    directory.open({}, {})
    work = Work(directory, directory.read())
    config = small_config(folder, budgets=[3000], workers=1, rerun_requests=0)
    sample.sample(config, work, prepare(config))
    assert directory.read()["rerun_agreement"] is None
    larger = config.model_copy(update={"budgets": (3000, 6000), "rerun_requests": 9})
    sample.sample(larger, work, prepare(larger))
    assert directory.read()["rerun_agreement"] == {"requests": 9, "agreed": 9, "share": 1.0}
    assert len(list(directory.path.glob("loaded-*"))) == 2  # one for each driver
