"""The generating stage: rounds of requests, pulled in parts by Ray workers that hold one engine each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from extraction.engines import Engine
from extraction.engines.settings import EngineSettings, ModelSettings
from extraction.errors import InputError
from extraction.prompts import Prompts
from extraction.records import GENERATION_SCHEMA, Generation, request_id, requests_of, to_table
from extraction.sampling import ResolvedSampling
from pipelines.config import RunConfig
from pipelines.metrics import GenerationMetrics
from pipelines.parts import PartStore
from pipelines.plan import Part, next_round, planned_parts, progress_of, read_requests, write_round
from pipelines.pool import ATTEMPTS, Facts, Pool, Resources
from pipelines.progress import LineProgress, progress, say
from pipelines.rerun import Rerun, is_sample


@dataclass(frozen=True)
class GenerationJob:
    """What a generating worker does: load the engine once, then answer the requests of one part after another.

    Attributes:
        engine: what generates.
        model: what it runs.
        sampling: how tokens are drawn.
        plan: what was planned.
        generations: where each part is published.
        again: the sample that is generated again after all parts; None: there is none.
    """

    engine: EngineSettings
    model: ModelSettings
    sampling: ResolvedSampling
    plan: PartStore
    generations: PartStore
    again: Rerun | None = None

    def start(self) -> Callable[[str], Facts]:
        """Load the engine in the worker's own process."""
        from extraction.engines import load_engine

        engine = load_engine(self.engine, self.model, self.sampling)
        parts: dict[str, Part] = {}

        def process(name: str) -> Facts:
            if self.again is not None and is_sample(name):
                self.again.compare(name, engine)
                return {"tokens": 0, "failed": []}  # nothing of it counts
            if (facts := self.generations.facts(name)) is not None:
                return facts
            if name not in parts:  # planned since the last look
                parts.update((part.name, part) for part in planned_parts(self.plan))
            return self._generate(engine, parts[name])

        return process

    def _generate(self, engine: Engine, part: Part) -> Facts:
        requests = requests_of(read_requests(self.plan, part))
        generations = engine.generate(requests)
        if [g.request_id for g in generations] != [r.request_id for r in requests]:
            raise RuntimeError("the engine did not answer each request once")
        return publish_generations(self.generations, part.name, generations, engine.settings_used())


def publish_generations(
    store: PartStore, name: str, generations: Sequence[Generation], engine: Mapping[str, Any] | None = None
) -> Facts:
    """Publish one part of generations with its facts: tokens, the requests that failed, and what really ran.

    A part that is published already stays as it is, and its facts are returned: a worker whose driver died, or
    whose node was cut off for a while, may have been faster.
    """
    if (before := store.facts(name)) is not None:
        return before
    failed = [g.request_id for g in generations if g.finish_reason == "failed"]
    facts: Facts = {
        "tokens": sum(len(g.token_ids) for g in generations),
        "failed": failed,
        "tokenised_again": sum(g.tokenised_again for g in generations),
        "engine": dict(engine or {}),
    }
    store.publish(name, to_table(generations, GENERATION_SCHEMA), facts)
    return facts


def publish_failed(job: GenerationJob, name: str) -> Facts:
    """Publish a part whose workers failed again and again: its requests count as failed, and no token counts."""
    part = next(part for part in planned_parts(job.plan) if part.name == name)
    lost = [
        Generation(r.request_id, r.family, r.number, r.prompt_token_ids, [], [], "failed")
        for r in requests_of(read_requests(job.plan, part))
    ]
    return publish_generations(job.generations, name, lost)


@dataclass
class Tally:
    """What the driver hears of its parts, told to the person who waits and to Prometheus. Counts and names only.

    Attributes:
        shown: progress in tokens.
        metrics: what Prometheus can ask.
        failed: requests of the run that failed so far.
    """

    shown: LineProgress
    metrics: GenerationMetrics
    failed: int

    def part_ended(self, name: str, facts: Facts) -> None:
        """Count a part that is published."""
        failed = facts["failed"]
        self.failed += len(failed)
        self.shown.advance(facts["tokens"], f"{self.failed:,} requests failed" if self.failed else "")
        self.metrics.part_ended(facts["tokens"], len(failed), self.shown)
        if failed:
            say(f"{name}: {len(failed)} requests failed: {', '.join(ranges(failed))}")


def generate(config: RunConfig, job: GenerationJob, prompts: Prompts, longest: Mapping[str, int]) -> None:
    """Plan and generate until every budget is reached or no request is left, and a sample of it again.

    Args:
        config: the run's configuration.
        job: what each worker does.
        prompts: makes a family's requests.
        longest: the most tokens that one request of each family can return.

    Raises:
        InputError: no worker can start, or what workers publish is not seen here.
        OSError: the disk is full or may not be written.
    """
    pending, facts = _next_parts(config, job, prompts, longest)
    if not pending and not _left_again(job):
        return
    tokens, failed = sum(f["tokens"] for f in facts.values()), sum(len(f["failed"]) for f in facts.values())
    with progress("generate", "tokens", max(config.budgets), tokens) as shown:
        tally = Tally(shown, GenerationMetrics(config.name), failed)
        pool = Pool(
            job,
            Resources(config.workers, job.engine.cpus_per_worker, job.engine.gpus_per_worker),
            on_done=tally.part_ended,
            on_failed=partial(_give_up, job, tally),
        )
        pool.run_rounds(_rounds(config, job, prompts, longest, pending))


def _rounds(
    config: RunConfig,
    job: GenerationJob,
    prompts: Prompts,
    longest: Mapping[str, int],
    pending: list[Part],
) -> Iterator[list[str]]:
    """Names of the parts of one round after another, each planned when the one before is generated; then the sample."""
    while pending:
        names = [part.name for part in pending]
        yield names
        pending, facts = _next_parts(config, job, prompts, longest)
        _refuse_unseen(job.generations, names, facts)
    if sample := _left_again(job):
        yield sample


def _left_again(job: GenerationJob) -> list[str]:
    return [] if job.again is None else job.again.left()


def _next_parts(
    config: RunConfig, job: GenerationJob, prompts: Prompts, longest: Mapping[str, int]
) -> tuple[list[Part], dict[str, Facts]]:
    """The parts that are to be generated, newly planned ones if need be, and the facts of those that are."""
    parts, facts = planned_parts(job.plan), job.generations.markers()
    pending = [part for part in parts if part.name not in facts]
    if not pending:
        done = progress_of(parts, facts)
        wanted = next_round(config, longest, done)
        if wanted:
            pending = write_round(job.plan, prompts, wanted, done, config.part_requests)
    return pending, facts


def _give_up(job: GenerationJob, tally: Tally, name: str) -> None:
    say(f"{name}: given up after {ATTEMPTS} attempts")
    if is_sample(name):
        return  # whether requests repeat is then not known; what they gave counts all the same
    tally.part_ended(name, publish_failed(job, name))


def _refuse_unseen(store: PartStore, generated: Sequence[str], facts: Mapping[str, Facts]) -> None:
    """Workers on nodes without the shared folder publish into one of their own, and would do so for ever."""
    unseen = [name for name in generated if name not in facts]
    if unseen:
        raise InputError(
            f"{store.root}: {len(unseen)} parts that workers published are not here, first {unseen[0]}; "
            "let --out be a folder that every node sees"
        )


def failed_requests(generations: PartStore) -> list[str]:
    """Every request that failed, in order."""
    facts: dict[str, dict[str, Any]] = generations.markers()
    return [request for name in sorted(facts) for request in facts[name]["failed"]]


def engine_used(generations: PartStore) -> dict[str, Any]:
    """What really generated, by name, as the workers said; a list where they differed.

    `tokenised_again` counts the generations that a server gave as text alone, where there are any.
    """
    facts = generations.markers().values()
    told: dict[str, set[Any]] = {}
    for name, value in (item for part in facts for item in part.get("engine", {}).items()):
        told.setdefault(name, set()).add(value)
    used = {n: next(iter(v)) if len(v) == 1 else sorted(map(str, v)) for n, v in told.items()}
    again = sum(part.get("tokenised_again", 0) for part in facts)
    return used | ({"tokenised_again": again} if again else {})


def ranges(requests: Sequence[str]) -> list[str]:
    """Sum up request ids, those that follow each other as `public-000000007 to public-000000012`."""
    runs: list[tuple[str, list[int]]] = []
    for family, number in sorted(_split(request) for request in requests):
        if runs and runs[-1][0] == family and runs[-1][1][-1] == number - 1:
            runs[-1][1].append(number)
        else:
            runs.append((family, [number]))
    # A run of one has one end, which a dictionary keeps once.
    return [" to ".join({request_id(f, n): None for n in (ns[0], ns[-1])}) for f, ns in runs]


def _split(request: str) -> tuple[str, int]:
    family, _, number = request.rpartition("-")
    return family, int(number)
