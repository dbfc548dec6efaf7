"""The generating stage: rounds of requests, pulled in parts by Ray workers that hold one engine each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from extraction.engines.settings import EngineSettings, ModelSettings
from extraction.prompts import Prompts
from extraction.records import GENERATION_SCHEMA, Generation, Request, requests_of, to_table
from extraction.sampling import ResolvedSampling
from pipelines.config import RunConfig
from pipelines.parts import PartStore
from pipelines.plan import Part, next_round, planned_parts, progress_of, read_requests, write_round
from pipelines.pool import Facts, Pool, Resources
from pipelines.progress import LineProgress, progress, say


@dataclass(frozen=True)
class GenerationJob:
    """What a generating worker does: load the engine once, then answer the requests of one part after another."""

    engine: EngineSettings
    model: ModelSettings
    sampling: ResolvedSampling
    plan: PartStore
    generations: PartStore
    parts: tuple[Part, ...]

    def start(self) -> Callable[[str], Facts]:
        """Load the engine in the worker's own process."""
        from extraction.engines import load_engine

        engine = load_engine(self.engine, self.model, self.sampling)
        by_name = {part.name: part for part in self.parts}

        def process(name: str) -> Facts:
            requests = requests_of(read_requests(self.plan, by_name[name]))
            return publish_generations(self.generations, name, engine.generate(requests))

        return process


def publish_generations(store: PartStore, name: str, generations: Sequence[Generation]) -> Facts:
    """Publish one part of generations with its facts: tokens, and the requests that failed."""
    failed = [g.request_id for g in generations if g.finish_reason == "failed"]
    facts: Facts = {"tokens": sum(len(g.token_ids) for g in generations), "failed": failed}
    store.publish(name, to_table(generations, GENERATION_SCHEMA), facts)
    return facts


def publish_failed(store: PartStore, name: str, requests: Sequence[Request]) -> Facts:
    """Publish a part whose workers failed again and again: its requests count as failed, and no token counts."""
    lost = [
        Generation(r.request_id, r.family, r.number, r.prompt_token_ids, [], [], "failed") for r in requests
    ]
    return publish_generations(store, name, lost)


def generate(
    config: RunConfig,
    job: Callable[[tuple[Part, ...]], GenerationJob],
    prompts: Prompts,
    longest: Mapping[str, int],
) -> None:
    """Plan and generate until every budget is reached or no request is left.

    Args:
        config: the run's configuration.
        job: makes the workers' job for the parts of a round.
        prompts: makes a family's requests.
        longest: the most tokens that one request of each family can return.
    """
    empty = job(())
    while True:
        parts = planned_parts(empty.plan)
        facts = empty.generations.markers()
        pending = [p for p in parts if p.name not in facts]
        if not pending:
            done = progress_of(parts, facts)
            wanted = next_round(config, longest, done)
            if not wanted:
                return
            pending = write_round(empty.plan, prompts, wanted, done, config.part_requests)
        _generate_parts(config, job(tuple(pending)))


def _generate_parts(config: RunConfig, job: GenerationJob) -> None:
    """Generate the pending parts of one round."""
    by_name = {part.name: part for part in job.parts}
    total = sum(part.requests for part in job.parts)
    with progress("generate", "requests", total) as shown:
        pool = Pool(
            job,
            Resources(config.workers, job.engine.cpus_per_worker, job.engine.gpus_per_worker),
            on_done=partial(_done, shown, by_name),
            on_failed=partial(_give_up, job, by_name),
        )
        pool.run(list(by_name))


def _done(shown: LineProgress, by_name: Mapping[str, Part], name: str, facts: Facts) -> None:
    shown.tokens += facts["tokens"]
    shown.advance(by_name[name].requests, f"{shown.tokens:,} tokens")
    if facts["failed"]:
        say(f"{name}: {len(facts['failed'])} requests failed, first {facts['failed'][0]}")


def _give_up(job: GenerationJob, by_name: Mapping[str, Part], name: str) -> None:
    requests = requests_of(read_requests(job.plan, by_name[name]))
    publish_failed(job.generations, name, requests)
    say(f"{name}: given up; its {len(requests)} requests count as failed")


def failed_requests(generations: PartStore) -> list[str]:
    """Every request that failed, in order."""
    facts: dict[str, dict[str, Any]] = generations.markers()
    return [request for name in sorted(facts) for request in facts[name]["failed"]]
