"""The whole test, from a configuration to a report: a plain list of stages over one run directory."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.engines.settings import DeterministicSettings, EndpointSettings
from extraction.errors import InputError
from extraction.model import load_tokenizer, model_fingerprint, model_path, tokenizer_fingerprint
from extraction.prompts import Prompts, load_prompts
from extraction.sampling import ResolvedSampling, resolve_sampling
from pipelines.config import Control, Corpus, RunConfig
from pipelines.corpus import ensure_index
from pipelines.cost import stage_cost
from pipelines.count import Rules
from pipelines.finish import Analysed, ControlRun, ControlText, finish
from pipelines.generate import GenerationJob, generate
from pipelines.identify import LOOKUP_PARTS, LookupJob, TaggingJob, distinct_values, run_parts
from pipelines.match import MatchJob, MatchStores
from pipelines.method import method_section
from pipelines.parts import PartStore
from pipelines.plan import Part, check_reachable
from pipelines.pool import cluster
from pipelines.progress import say
from pipelines.rundir import RunDirectory

if TYPE_CHECKING:
    from index import Index


@dataclass(frozen=True)
class Work:
    """One run while it goes on: the configuration, resolved, and where its stages stand.

    Attributes:
        config: what was asked for.
        directory: where everything is written.
        index: the open index of the corpus.
        run: the content of run.json, kept up to date.
    """

    config: RunConfig
    directory: RunDirectory
    index: "Index"
    run: dict[str, Any] = field(default_factory=dict)

    @property
    def generations(self) -> PartStore:
        """The parts of `generations/`."""
        return self.directory.store("generations")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run one stage and add what it cost to run.json."""

        def record(seconds: float, peak: int) -> None:
            stages = self.run.setdefault("stages", {})
            before = stages.get(name, {"seconds": 0.0, "peak_memory_bytes": 0})
            stages[name] = {
                "seconds": round(before["seconds"] + seconds, 3),
                "peak_memory_bytes": max(before["peak_memory_bytes"], peak),
            }
            self.directory.write(self.run)

        with stage_cost(record):
            yield


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
    generator = prepare(config)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        index = ensure_index(config.corpus, out / "index", config.shortest_match, skip_bad_records)
        text = _control_text(config, out)
        work = open_work(config, out, index, fingerprints(config, generator, index, text))
        with cluster(ray_address):
            analysed = measure(work, generator, text)
            control = _control_run(work)
            return finish(analysed, control, text)


def measure(work: Work, generator: Generator, text: ControlText | None) -> Analysed:
    """Generate, match, tag and look up: everything of one run but the counting."""
    config = work.config
    with work.stage("generate"):
        generate(config, partial(_generation_job, work, generator), generator.prompts, generator.longest)
    lookup = analyse(work, text)
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
        command=f"extraction run run.yaml --out {work.directory.path.name}",
    )


def prepare(config: RunConfig) -> Generator:
    """Resolve sampling and prompts, and refuse what cannot work before anything is written."""
    tokenizer = load_tokenizer(config.model)
    needs_model = not isinstance(config.engine, DeterministicSettings | EndpointSettings)
    path = model_path(config.model) if needs_model or config.model.path else None
    sampling = resolve_sampling(config.sampling, path, tokenizer.eos_token_id)
    prompts = load_prompts(config.prompts, tokenizer, config.seed, sampling.max_tokens)
    check_reachable(config, prompts.longest())
    return Generator(tokenizer, sampling, prompts, prompts.longest())


def open_work(config: RunConfig, out: Path, index: "Index", prints: dict[str, Any]) -> Work:
    """Open the run directory, or refuse it if another configuration made it."""
    directory = RunDirectory(out)
    run = directory.open(config.model_dump(mode="json", by_alias=True), prints)
    return Work(config, directory, index, run)


def fingerprints(
    config: RunConfig, generator: Generator, index: "Index", text: ControlText | None
) -> dict[str, Any]:
    """What would change a result, by name; budgets, workers and output places are not part of it."""
    engine = config.engine.model_dump(
        include={"kind", "quantization", "base_url", "model_name", "passage_share"}
    )
    control = config.control.model
    return {
        "model": model_fingerprint(config.model) if config.model.path else None,
        "tokenizer": tokenizer_fingerprint(config.model),
        "dtype": config.model.dtype,
        "engine": engine,
        "corpus": index.info.fingerprint,
        "corpus_kind": config.corpus.kind,
        "prompts": generator.prompts.fingerprint,
        "sampling": {name: item["value"] for name, item in generator.sampling.as_dict().items()},
        "seed": config.seed,
        "control_model": model_fingerprint(control) if control else None,
        "control_text": text.index.info.fingerprint if text else None,
        **rule_fingerprints(config),
    }


def rule_fingerprints(config: Any) -> dict[str, Any]:
    """The rules of matching and counting, by name."""
    return {
        "min_tokens": config.min_tokens,
        "min_bytes": config.shortest_match,
        "private_documents": config.private_documents,
        "low_entropy": config.low_entropy.model_dump(mode="json"),
        "cluster_threshold": config.cluster_threshold,
        "identifiers": config.identifiers.model_dump(mode="json"),
    }


def analyse(work: Work, text: ControlText | None) -> PartStore:
    """Match the generations, tag identifiers, look them up.

    Returns:
        The counts of the identifiers in the corpus.
    """
    names = work.generations.complete()
    tagged = work.directory.store("identifiers")
    with work.stage("match"):
        _match(work, work.index, MatchStores.of(work.directory), names)
        if text:
            _match(work, text.index, MatchStores.of_control_text(work.directory), names)
    with work.stage("tag identifiers"):
        tagging = TaggingJob(work.config.identifiers, work.config.model, work.generations, tagged)
        run_parts("tag identifiers", tagging, tagged, names, work.config.analysis_workers)
    with work.stage("look up identifiers"):
        return _look_up(work, tagged)


def _match(work: Work, index: "Index", stores: MatchStores, names: list[str]) -> None:
    config = work.config
    job = MatchJob(
        config.model,
        str(index.directory),
        config.min_tokens,
        config.shortest_match,
        config.private_documents,
        config.low_entropy,
        work.index.key,
        work.generations,
        stores,
    )
    run_parts("match", job, stores.spans, names, config.analysis_workers)


def _look_up(work: Work, tagged: PartStore) -> PartStore:
    """Look up every distinct value; a run that has grown since is looked up anew."""
    found = work.directory.store(f"identifiers/corpus-{len(tagged.complete()):05d}")
    job = LookupJob(distinct_values(tagged), work.config.identifiers, str(work.index.directory), found)
    names = [f"share-{number:02d}" for number in range(LOOKUP_PARTS)]
    run_parts("look up identifiers", job, found, names, work.config.analysis_workers)
    return found


def _generation_job(work: Work, generator: Generator, parts: tuple[Part, ...]) -> GenerationJob:
    config = work.config
    plan = work.directory.store("plan")
    return GenerationJob(config.engine, config.model, generator.sampling, plan, work.generations, parts)


def _control_run(work: Work) -> ControlRun | None:
    """Run the same plan on the control model, in a run directory of its own inside this one."""
    control = work.config.control.model
    if control is None:
        return None
    corpus = Corpus(index=work.index.directory, kind=work.config.corpus.kind)
    changes = {
        "name": f"{work.config.name}-control",
        "model": control,
        "control": Control(),
        "corpus": corpus,
    }
    config = work.config.model_copy(update=changes)
    generator = prepare(config)
    prints = fingerprints(config, generator, work.index, None)
    own = open_work(config, work.directory.path / "control", work.index, prints)
    say(f"control: {control.path}")
    analysed = measure(own, generator, None)
    report = finish(analysed, None, None)
    return ControlRun(analysed.found(), json.loads(report.read_text(encoding="utf-8")))


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
    return ControlText(", ".join(Path(source).name for source in config.control.text), index)


@contextmanager
def one_at_a_time(out: Path) -> Iterator[None]:
    """Hold the run directory; a second process in it is refused.

    Raises:
        InputError: another process works in the directory.
    """
    with open(out / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{out}: another process works here; wait for it or name another --out"
            ) from None
        yield
