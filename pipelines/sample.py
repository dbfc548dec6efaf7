"""Samples a model as a configuration says: resolved, planned, generated, and a part of it generated again."""

import hashlib
from dataclasses import dataclass
from typing import Any

from extraction.engines import check_engine
from extraction.engines.settings import DeterministicSettings, EndpointSettings, EngineSettings
from extraction.model import (
    ModelSettings,
    load_tokenizer,
    model_fingerprint,
    model_path,
    tokenizer_fingerprint,
)
from extraction.prompts import Prompts, load_prompts
from extraction.sampling import ResolvedSampling, resolve_sampling
from pipelines.config import RunConfig
from pipelines.generate import GenerationJob, engine_used, generate
from pipelines.mend import forget_damaged
from pipelines.plan import check_reachable
from pipelines.pool import Resources
from pipelines.rerun import Rerun
from pipelines.work import Work


@dataclass(frozen=True)
class Generator:
    """What generating needs beside the configuration, resolved from the model's own files."""

    tokenizer: Any
    sampling: ResolvedSampling
    prompts: Prompts
    longest: dict[str, int]


def prepare(config: RunConfig) -> Generator:
    """Resolve sampling and prompts, and refuse what cannot work before anything is written."""
    tokenizer = load_tokenizer(config.model)
    needs_model = not isinstance(config.engine, DeterministicSettings | EndpointSettings)
    path = model_path(config.model) if needs_model or config.model.path else None
    sampling = resolve_sampling(config.sampling, path, tokenizer.eos_token_id)
    check_engine(config.engine, config.model, sampling)
    engine_fingerprint(config.engine)
    if config.ranking and config.ranking.reference:
        model_path(config.ranking.reference)
    prompts = load_prompts(config.prompts, tokenizer, config.seed, sampling.max_tokens)
    check_reachable(config, prompts.longest())
    return Generator(tokenizer, sampling, prompts, prompts.longest())


def sample(config: RunConfig, work: Work, generator: Generator) -> None:
    """Generate until every budget is reached, and generate a sample of the requests again."""
    forget_damaged(work.directory)
    plan, reruns = work.directory.store("plan"), work.directory.store("reruns")
    again = Rerun(config.rerun_requests, config.seed, plan, work.generations, reruns)
    job = GenerationJob(config.engine, config.model, generator.sampling, plan, work.generations, again)
    with work.stage("generate"):
        generate(config, job, generator.prompts, generator.longest)
    work.run.update({"rerun_agreement": again.agreement(), "engine": engine_used(work.generations)})
    work.directory.write(work.run)


def sampling_fingerprints(config: RunConfig, generator: Generator) -> dict[str, Any]:
    """What would change the generations, by name; budgets, workers and output places are not part of it."""
    return {
        "model": weights_fingerprint(config.model),
        "tokenizer": tokenizer_fingerprint(config.model),
        "dtype": config.model.dtype,
        "engine": engine_fingerprint(config.engine),
        "seed": config.seed,
        "sampling": {name: item["value"] for name, item in generator.sampling.as_dict().items()},
        "prompts": generator.prompts.fingerprint,
    }


def engine_fingerprint(engine: EngineSettings) -> dict[str, Any]:
    """What of an engine would change a result.

    Raises:
        InputError: the passages of the deterministic engine cannot be read.
    """
    told = engine.model_dump(
        include={"kind", "quantization", "max_model_len", "base_url", "model_name", "protocol", "system"}
        | {"passage_share"}
    )
    if isinstance(engine, DeterministicSettings) and engine.passages:
        from extraction.engines.deterministic_engine import read_passages

        told["passages"] = hashlib.sha256("\n\n".join(read_passages(engine.passages)).encode()).hexdigest()
    return told


def weights_fingerprint(model: ModelSettings) -> str | None:
    """The weights' fingerprint; engines that need no weights have none."""
    return model_fingerprint(model) if model.path else None


def engines_of(config: RunConfig) -> list[EngineSettings]:
    """Every engine that workers of a run load: to generate, and to rank."""
    return [config.engine, *([config.ranking.engine] if config.ranking else [])]


def workers_of(config: RunConfig) -> list[Resources]:
    """What each of those workers holds."""
    return [Resources(1, e.cpus_per_worker, e.gpus_per_worker) for e in engines_of(config)]
