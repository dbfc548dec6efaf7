"""The whole test, from a configuration to a report: a plain list of stages over one run directory."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from pipelines.analyse import Analysis, analyse
from pipelines.config import Control, Corpus, RunConfig
from pipelines.corpus import ensure_index
from pipelines.count import Rules, window_hashes
from pipelines.finish import Analysed, ControlRun, ControlText, finish
from pipelines.generate import GenerationJob, generate
from pipelines.mend import forget_damaged
from pipelines.method import method_section
from pipelines.paths import with_absolute_paths
from pipelines.plan import check_reachable
from pipelines.pool import cluster, refuse_deaf
from pipelines.progress import inert, say
from pipelines.repetition import find_repetitions
from pipelines.rerun import measure_agreement
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.work import Work, one_at_a_time

if TYPE_CHECKING:
    from index import Index


@dataclass(frozen=True)
class Generator:
    """What generating needs beside the configuration, resolved from the model's own files."""

    tokenizer: Any
    sampling: ResolvedSampling
    prompts: Prompts
    longest: dict[str, int]


def run_pipeline(config: RunConfig, out: Path, ray_address: str | None, skip_bad_records: bool) -> Path:
    """Run the whole test, or go on where it stopped.

    Args:
        config: what to test and how.
        out: the run directory.
        ray_address: a Ray cluster; None starts Ray on this machine.
        skip_bad_records: count documents that cannot be read, and mark the run incomplete, instead of stopping.

    Returns:
        The path of report.json.

    Raises:
        InputError: something the user can mend; nothing half-written counts.
        SourceError: the same, of the corpus.
    """
    refuse_deaf(ray_address)
    config = with_absolute_paths(config)
    generator = prepare(config)
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        index = ensure_index(config.corpus, out / "index", config.shortest_match, skip_bad_records)
        text = _control_text(config, out)
        work = open_work(config, out, index, fingerprints(config, generator, index, text))
        with cluster(ray_address):
            analysed = measure(config, work, generator, text)
            control = _control_run(config, work)
            return finish(analysed, control, text)


def measure(config: RunConfig, work: Work, generator: Generator, text: ControlText | None) -> Analysed:
    """Generate, match, tag and look up: everything of one run but the counting."""
    forget_damaged(work.directory)
    with work.stage("generate"):
        job = generation_job(config, work, generator.sampling)
        generate(config, job, generator.prompts, generator.longest)
    measure_agreement(config, work, generator.sampling)
    find_repetitions(config, work, generator.prompts.asked_words())
    lookup = analyse(work, analysis_of(config), text)
    rules = Rules(
        shares=config.prompts.shares(),
        budgets=sorted(config.budgets),
        longest=generator.longest,
        min_tokens=config.min_tokens,
        private_documents=config.private_documents,
        cluster_threshold=config.cluster_threshold,
    )
    return Analysed(
        directory=work.directory,
        run=work.run,
        index=work.index,
        rules=rules,
        identifiers=config.identifiers,
        lookup=lookup,
        method=method_section(config, work.run, generator.sampling, work.index, generator.tokenizer),
        seed=config.seed,
        command=inert(f"extraction run {config.name}.yaml --out {work.directory.path.name}"),
    )


def prepare(config: RunConfig) -> Generator:
    """Resolve sampling and prompts, and refuse what cannot work before anything is written."""
    tokenizer = load_tokenizer(config.model)
    needs_model = not isinstance(config.engine, DeterministicSettings | EndpointSettings)
    path = model_path(config.model) if needs_model or config.model.path else None
    sampling = resolve_sampling(config.sampling, path, tokenizer.eos_token_id)
    check_engine(config.engine, config.model, sampling)
    engine_fingerprint(config.engine)
    prompts = load_prompts(config.prompts, tokenizer, config.seed, sampling.max_tokens)
    check_reachable(config, prompts.longest())
    return Generator(tokenizer, sampling, prompts, prompts.longest())


def open_work(config: RunConfig, out: Path, index: "Index", prints: dict[str, Any]) -> Work:
    """Open the run directory, or refuse it if another configuration made it."""
    directory = RunDirectory(out)
    run = directory.open(config.model_dump(mode="json", by_alias=True), prints)
    return Work(directory, index, run)


def fingerprints(
    config: RunConfig, generator: Generator, index: "Index", text: ControlText | None
) -> dict[str, Any]:
    """What would change a result, by name; budgets, workers and output places are not part of it."""
    control = config.control.model
    return {
        "model": _fingerprint(config.model),
        "tokenizer": tokenizer_fingerprint(config.model),
        "dtype": config.model.dtype,
        "engine": engine_fingerprint(config.engine),
        "corpus": index.info.fingerprint,
        "corpus_kind": config.corpus.kind,
        "corpus_columns": [config.corpus.text_column, config.corpus.id_column],
        "seed": config.seed,
        "sampling": {name: item["value"] for name, item in generator.sampling.as_dict().items()},
        "prompts": generator.prompts.fingerprint,
        "control_model": _fingerprint(control) if control else None,
        "control_text": text.index.info.fingerprint if text else None,
        "cluster_threshold": config.cluster_threshold,
        **analysis_of(config).fingerprints(),
    }


def engine_fingerprint(engine: EngineSettings) -> dict[str, Any]:
    """What of an engine would change a result.

    Raises:
        InputError: the passages of the deterministic engine cannot be read.
    """
    told = engine.model_dump(
        include={"kind", "quantization", "base_url", "model_name", "protocol", "system", "passage_share"}
    )
    if isinstance(engine, DeterministicSettings) and engine.passages:
        from extraction.engines.deterministic_engine import read_passages

        told["passages"] = hashlib.sha256("\n\n".join(read_passages(engine.passages)).encode()).hexdigest()
    return told


def _fingerprint(model: ModelSettings) -> str | None:
    """The weights' fingerprint; engines that need no weights have none."""
    return model_fingerprint(model) if model.path else None


def analysis_of(config: RunConfig) -> Analysis:
    """The part of a configuration that says how generations are matched and tagged."""
    return Analysis(
        config.model,
        config.min_tokens,
        config.shortest_match,
        config.private_documents,
        config.low_entropy,
        config.identifiers,
        config.analysis_workers,
    )


def generation_job(config: RunConfig, work: Work, sampling: ResolvedSampling) -> GenerationJob:
    """What the workers of a run do to generate."""
    plan = work.directory.store("plan")
    return GenerationJob(config.engine, config.model, sampling, plan, work.generations)


def _control_run(config: RunConfig, work: Work) -> ControlRun | None:
    """Run the same plan on the control model, in a run directory of its own inside this one."""
    control = config.control.model
    if control is None:
        return None
    corpus = Corpus(index=work.index.directory, kind=config.corpus.kind)
    changes = {
        "name": f"{config.name}-control",
        "model": control,
        "control": Control(),
        "corpus": corpus,
    }
    own_config = config.model_copy(update=changes)
    generator = prepare(own_config)
    prints = fingerprints(own_config, generator, work.index, None)
    own = open_work(own_config, work.directory.path / "control", work.index, prints)
    say(f"control: {control.path}")
    analysed = measure(own_config, own, generator, None)
    report = finish(analysed, None, None)
    return ControlRun(window_hashes(own.directory), json.loads(report.read_text(encoding="utf-8")))


def _control_text(config: RunConfig, out: Path) -> ControlText | None:
    """Index the text that the model was never trained on."""
    if not config.control.text:
        return None
    corpus = Corpus(
        sources=config.control.text,
        text_column=config.corpus.text_column,
        id_column=config.corpus.id_column,
    )
    index = ensure_index(corpus, out / "control_text", config.shortest_match, skip_bad_records=False)
    return ControlText(inert(", ".join(Path(source).name for source in config.control.text)), index)
