"""The whole test, from a configuration to a report: a plain list of stages over one run directory."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.engines import check_environment
from extraction.errors import InputError
from pipelines.analyse import Analysis, analyse
from pipelines.config import Control, Corpus, RunConfig
from pipelines.corpus import ensure_index
from pipelines.count import Rules, window_hashes
from pipelines.finish import Analysed, ControlRun, ControlText, finish
from pipelines.method import method_section
from pipelines.paths import with_absolute_paths
from pipelines.pool import cluster, refuse_deaf
from pipelines.progress import inert, say
from pipelines.rank.stage import rank_run
from pipelines.repetition import find_repetitions
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.sample import (
    Generator,
    engines_of,
    prepare,
    sample,
    sampling_fingerprints,
    weights_fingerprint,
    workers_of,
)
from pipelines.unsearched import run_unsearched
from pipelines.work import SearchedWork, one_at_a_time

if TYPE_CHECKING:
    from index import Index


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
    control = _control_of(config, generator)
    if ray_address is None:  # workers run in this environment
        for engine in engines_of(config):
            check_environment(engine)
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        if config.corpus.kind == "unsearchable":
            return run_unsearched(config, out, ray_address, generator)
        index = ensure_index(config.corpus, out / "index", config.shortest_match, skip_bad_records)
        _refuse_prompts_of(index, config)
        text = _control_text(config, out)
        work = open_work(config, out, index, fingerprints(config, generator, index, text))
        with cluster(ray_address, workers_of(config)):
            analysed = measure(config, work, generator, text)
            return finish(analysed, _control_run(control, work) if control else None, text)


def measure(
    config: RunConfig, work: SearchedWork, generator: Generator, text: ControlText | None
) -> Analysed:
    """Generate, match, tag and look up, and rank if asked: everything of one run but the counting."""
    sample(config, work, generator)
    find_repetitions(config, work, generator.prompts.asked_words())
    lookup = analyse(work, analysis_of(config), text)
    ranking = rank_run(config, config.ranking, work, generator.tokenizer) if config.ranking else None
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
        ranking=ranking,
    )


def open_work(config: RunConfig, out: Path, index: "Index", prints: dict[str, Any]) -> SearchedWork:
    """Open the run directory, or refuse it if another configuration made it."""
    directory = RunDirectory(out)
    run = directory.open(config.model_dump(mode="json", by_alias=True), prints)
    return SearchedWork(directory, run, index)


def fingerprints(
    config: RunConfig, generator: Generator, index: "Index", text: ControlText | None
) -> dict[str, Any]:
    """What would change a result, by name; budgets, workers and output places are not part of it."""
    control = config.control.model
    return {
        **sampling_fingerprints(config, generator),
        "corpus": index.info.fingerprint,
        "corpus_kind": config.corpus.kind,
        "corpus_columns": [config.corpus.text_column, config.corpus.id_column],
        "control_model": weights_fingerprint(control) if control else None,
        "control_text": text.index.info.fingerprint if text else None,
        "cluster_threshold": config.cluster_threshold,
        **analysis_of(config).fingerprints(),
    }


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


def _refuse_prompts_of(index: "Index", config: RunConfig) -> None:
    """An index that exists says itself what it was built from."""
    if name := config.prompts.taken_from(index.info.sources):
        raise InputError(
            f"prompts.public_text: {name} is part of what the index {index.directory} was built from; name other text, "
            "or set public_text_is_corpus: true"
        )


def _control_of(config: RunConfig, generator: Generator) -> tuple[RunConfig, Generator] | None:
    """The same plan and the same sampling settings for the control model; what is wrong with it is said at once."""
    model = config.control.model
    if model is None:
        return None
    changes = {
        "name": f"{config.name}-control",
        "model": model,
        "sampling": generator.sampling.stated(),
        "control": Control(),
        "ranking": None,
    }
    own = config.model_copy(update=changes)
    return own, prepare(own)


def _control_run(control: tuple[RunConfig, Generator], work: SearchedWork) -> ControlRun:
    """Run it in a run directory of its own inside this one."""
    config, generator = control
    corpus = Corpus(index=work.index.directory, kind=config.corpus.kind)
    own_config = config.model_copy(update={"corpus": corpus})
    prints = fingerprints(own_config, generator, work.index, None)
    own = open_work(own_config, work.directory.path / "control", work.index, prints)
    say(f"control: {own_config.model.path}")
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
