"""How often the same request gives the same tokens again: a sample of a run's requests, generated once more.

An engine that batches requests may give another text for the same request, because the low bits of its sums depend
on the batch. What was counted stays what it is; the rate says how far a run can be made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.engines.settings import EngineSettings, ModelSettings
from extraction.records import Request, requests_of
from extraction.sampling import ResolvedSampling
from pipelines.config import RunConfig
from pipelines.parts import PartStore
from pipelines.plan import Part, planned_parts, read_requests
from pipelines.pool import Facts, Pool, Resources
from pipelines.progress import say
from pipelines.work import Work

# One row for each request of the sample. No text: `same` is all that is kept of the second generation.
RERUN_SCHEMA = pa.schema([("request_id", pa.string()), ("same", pa.bool_())])


@dataclass(frozen=True)
class RerunJob:
    """Generates a sample again, in a worker of its own.

    Attributes:
        sample: for each part that it touches, the rows of the sampled requests.
    """

    engine: EngineSettings
    model: ModelSettings
    sampling: ResolvedSampling
    plan: PartStore
    generations: PartStore
    reruns: PartStore
    sample: tuple[tuple[Part, tuple[int, ...]], ...]

    def start(self) -> Callable[[str], Facts]:
        """Load the engine in the worker's own process."""
        from extraction.engines import load_engine

        engine = load_engine(self.engine, self.model, self.sampling)

        def process(name: str) -> Facts:
            requests, first = self._sampled()
            again = [g.token_ids for g in engine.generate(requests)]
            same = [a == b for a, b in zip(first, again, strict=True)]
            table = pa.table([[r.request_id for r in requests], same], schema=RERUN_SCHEMA)
            self.reruns.publish(name, table, {"requests": len(same), "agreed": sum(same)})
            return {}

        return process

    def _sampled(self) -> tuple[list[Request], list[list[int]]]:
        """The sampled requests that did not fail, and the tokens that each gave."""
        requests: list[Request] = []
        tokens: list[list[int]] = []
        for part, rows in self.sample:
            planned = requests_of(read_requests(self.plan, part).take(list(rows)))
            table = self.generations.read(part.name, ["request_id", "token_ids", "finish_reason"])
            for request, row in zip(planned, table.take(list(rows)).to_pylist(), strict=True):
                if request.request_id != row["request_id"]:
                    raise ValueError(f"{part.name}: its requests and generations are in different orders")
                if row["finish_reason"] != "failed":
                    requests.append(request)
                    tokens.append(row["token_ids"])
        return requests, tokens


def measure_agreement(config: RunConfig, work: Work, sampling: ResolvedSampling) -> None:
    """Generate a sample of the run's requests again and put the share that agrees into run.json.

    `rerun_agreement` becomes `requests`, `agreed` and `share`; null where no request is sampled, or where the
    workers failed. A run that has grown since is sampled anew.
    """
    plan, reruns = work.directory.store("plan"), work.directory.store("reruns")
    parts = planned_parts(plan)
    name = f"parts-{len(parts):05d}-requests-{config.rerun_requests}"
    if config.rerun_requests and name not in reruns.markers():
        sample = choose(parts, config.rerun_requests, config.seed)
        job = RerunJob(config.engine, config.model, sampling, plan, work.generations, reruns, sample)
        with work.stage("rerun"):
            _run(job, name)
    found = reruns.markers().get(name)
    work.run["rerun_agreement"] = _agreement(found)
    work.directory.write(work.run)


def choose(parts: Sequence[Part], requests: int, seed: int) -> tuple[tuple[Part, tuple[int, ...]], ...]:
    """Draw requests uniformly over all parts, without replacement.

    Returns:
        The parts that hold one, each with the rows of its sampled requests, in order.
    """
    ends = np.cumsum([part.requests for part in parts])
    total = int(ends[-1])
    drawn = np.sort(np.random.default_rng(seed).choice(total, min(requests, total), replace=False))
    rows: dict[int, list[int]] = {}
    for request in drawn.tolist():
        place = int(np.searchsorted(ends, request, side="right"))
        rows.setdefault(place, []).append(request - int(ends[place]) + parts[place].requests)
    return tuple((parts[place], tuple(own)) for place, own in rows.items())


def _run(job: RerunJob, name: str) -> None:
    resources = Resources(1, job.engine.cpus_per_worker, job.engine.gpus_per_worker)
    Pool(job, resources, lambda *_: None, lambda _: say("rerun: given up; agreement is not measured")).run(
        [name]
    )


def _agreement(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    if facts is None or not facts["requests"]:
        return None
    return {**facts, "share": facts["agreed"] / facts["requests"]}
