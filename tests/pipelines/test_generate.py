"""What one worker publishes: each part once, with the facts that later stages and the report read."""

from dataclasses import replace

import pytest

from extraction import engines
from extraction.records import GENERATION_SCHEMA, Generation, requests_of
from pipelines.generate import GenerationJob, engine_used, publish_failed, publish_generations
from pipelines.parts import PartStore
from pipelines.plan import planned_parts, read_requests, write_round
from pipelines.sample import prepare
from tests.pipelines.small_run import small_config, write_inputs


@pytest.fixture
def job(tmp_path):
    write_inputs(tmp_path)
    config = small_config(tmp_path, part_requests=4)
    generator = prepare(config)
    plan, generations = PartStore(str(tmp_path / "plan")), PartStore(str(tmp_path / "generations"))
    write_round(plan, generator.prompts, {"empty": 8, "public": 4}, {}, config.part_requests)
    return GenerationJob(config.engine, config.model, generator.sampling, plan, generations)


def generations_of(store):
    return store.read_all(GENERATION_SCHEMA).to_pylist()


def test_a_part_that_is_there_stays_whoever_comes_later(job):
    work = job.start()
    facts = work("part-00001")
    before = generations_of(job.generations)
    part = planned_parts(job.plan)[1]
    requests = requests_of(read_requests(job.plan, part))
    late = [Generation(r.request_id, r.family, r.number, [0], [5], [-1.0], "length") for r in requests]
    assert publish_generations(job.generations, "part-00001", late) == facts
    assert publish_failed(job, "part-00001") == facts
    assert work("part-00001") == facts
    assert generations_of(job.generations) == before


def test_an_engine_that_leaves_a_request_out_publishes_nothing(job, monkeypatch):
    engine = engines.load_engine(job.engine, job.model, job.sampling)
    generate = engine.generate
    monkeypatch.setattr(engine, "generate", lambda requests: generate(requests)[1:])
    monkeypatch.setattr(engines, "load_engine", lambda *_: engine)
    with pytest.raises(RuntimeError, match="did not answer each request once"):
        job.start()("part-00000")
    assert job.generations.complete() == []


def test_what_really_ran_is_told_with_what_differs_between_workers(job):
    job.start()("part-00000")
    assert engine_used(job.generations) == {
        "kind": "deterministic", "passages": 10, "passage_share": 0.2, "exact_repeats": True,
    }  # fmt: skip
    made = Generation("empty-000000004", "empty", 4, [0], [5], [], "length", tokenised_again=True)
    told = {"kind": "deterministic", "dtype": "float32"}
    publish_generations(job.generations, "part-00001", [made, replace(made, number=5)], told)
    publish_generations(job.generations, "part-00002", [made], {**told, "dtype": "bfloat16"})
    used = engine_used(job.generations)
    assert (used["dtype"], used["kind"], used["tokenised_again"]) == (
        ["bfloat16", "float32"],
        "deterministic",
        3,
    )
