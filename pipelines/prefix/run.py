"""`extraction prefix`: a plain list of stages over one directory; run again, it goes on where it stopped."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from extraction.discoverable.drawing import By, Draw
from extraction.errors import InputError
from pipelines.corpus import ensure_index
from pipelines.generate import GenerationJob
from pipelines.identify import Runner, run_parts
from pipelines.parts import PartStore
from pipelines.pool import cluster, refuse_deaf
from pipelines.prefix.config import Games, PrefixConfig, Screen
from pipelines.prefix.documents import SHARES, Sample, draw_documents
from pipelines.prefix.generating import generate_planned
from pipelines.prefix.leaking import corpus_identifiers
from pipelines.prefix.planning import plan_greedy
from pipelines.prefix.prepared import Prepared, fingerprints, prepare, with_absolute_models
from pipelines.prefix.ranks import RankJob
from pipelines.prefix.readings import ReadJob
from pipelines.prefix.recovered import SampledRun, open_run
from pipelines.prefix.result import Measured, finish
from pipelines.prefix.screening import ScreenJob
from pipelines.prefix.sentences import MaskJob, choose_sentences, known_values, plan_samples
from pipelines.prefix.targets import ContinuationJob, CutJob
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.work import SearchedWork, one_at_a_time

LONGEST_DOCUMENT = 1 << 20
"""Bytes of a document that are looked at."""


def run_prefix(config: PrefixConfig, out: Path, ray_address: str | None, skip_bad_records: bool) -> Path:
    """Measure what the right prompts bring out, or go on where it stopped.

    Args:
        config: what to measure and how.
        out: the output directory.
        ray_address: a Ray cluster; None starts Ray on this machine.
        skip_bad_records: count documents that cannot be read, and mark the result incomplete, instead of stopping.

    Returns:
        The path of prefix.json.

    Raises:
        InputError: something the user can mend; nothing half-written counts.
        SourceError: the same, of the corpus.
    """
    refuse_deaf(ray_address)
    config = with_absolute_models(config)
    prepared = prepare(config)
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        index = ensure_index(config.corpus, out / "index", config.shortest_match, skip_bad_records)
        compared = open_run(config.run, config, index) if config.run else None
        directory = RunDirectory(out)
        raw = config.model_dump(mode="json", by_alias=True)
        run = directory.open(raw, fingerprints(config, prepared, index))
        stages = Stages(config, prepared, SearchedWork(directory, run, index))
        with cluster(ray_address):
            measured = stages.measure(compared)
        return finish(config, prepared, stages.work, measured)


@dataclass(frozen=True)
class Stages:
    """The stages of one measurement, each done once.

    Attributes:
        config: what to measure and how.
        prepared: what it comes to.
        work: the output directory and the index.
    """

    config: PrefixConfig
    prepared: Prepared
    work: SearchedWork

    def measure(self, compared: SampledRun | None) -> Measured:
        """Work through all stages; `compared` is a finished sampling run."""
        sample = self._cut()
        for name in self.prepared.models:
            self._read(name)
        screened = None if self.config.screen is None else self._screen(self.config.screen)
        identifiers = None
        if self.config.games is not None:
            self._play(self.config.games, sample)
            if compared is not None:
                with self.work.stage("tag the corpus"):
                    settings = self.config.identifiers
                    identifiers = corpus_identifiers(self.work.index, settings, self._run_parts)
        return Measured(sample, screened, compared, identifiers)

    @property
    def _run_parts(self) -> Runner:
        return partial(run_parts, workers=self.config.analysis_workers)

    @property
    def _index(self) -> str:
        return str(Path(self.work.index.directory).resolve())

    def _draw(self, purpose: str, by: By, count: int) -> Sample:
        config = self.config
        draw = Draw(config.seed, by, count, LONGEST_DOCUMENT)
        with self.work.stage("draw documents"):
            return draw_documents(self.work, purpose, draw, config.part_targets, config.analysis_workers)

    def _cut(self) -> Sample:
        """Draw documents, cut targets out of them, and find what else follows their prompts."""
        config, store = self.config, self.work.directory.store
        sample = self._draw("targets", config.by, config.documents)
        cut = CutJob(
            self.prepared.models["model"],
            config.opening,
            config.prefix_tokens,
            config.target_tokens,
            config.low_entropy,
            self.prepared.before,
            self._index,
            sample,
            store("targets"),
        )
        with self.work.stage("cut targets"):
            self._run_parts("cut targets", cut, cut.targets, sample.parts.complete())
        if not any(facts["targets"] for facts in cut.targets.markers().values()):
            raise InputError(
                f"prefix_tokens: no document holds a prompt of {config.prefix_tokens[0]} tokens and "
                f"{config.target_tokens} more; lower them, or set opening: random"
            )
        found = ContinuationJob(
            cut.model,
            config.target_tokens,
            config.continuations,
            SHARES,
            self._index,
            cut.targets,
            store("continuations"),
        )
        with self.work.stage("find continuations"):
            self._run_parts("find continuations", found, found.found, SHARES)
        return sample

    def _read(self, name: str) -> None:
        """Read the probabilities of all targets with one model, and decode greedily."""
        config, store, model = self.config, self.work.directory.store, self.prepared.models[name]
        job = ReadJob(
            model,
            config.scoring,
            self.prepared.sampling,
            config.continuations,
            store("targets"),
            store("continuations"),
            store(f"readings/{name}"),
        )
        with self.work.stage("read probabilities"):
            self._score(f"read probabilities ({name})", job, job.readings, job.targets.complete())
        plan = store("plan/greedy")
        plan_greedy(plan, job.targets, config.target_tokens, config.part_targets)
        greedy = GenerationJob(
            config.engine, model, self.prepared.greedy, plan, store(f"generations/greedy-{name}")
        )
        with self.work.stage("decode greedily"):
            generate_planned(f"decode greedily ({name})", greedy, config.workers)

    def _score(self, label: str, job: Any, done: PartStore, names: Iterable[str]) -> None:
        """Run what reads probabilities, on the workers that may do so."""
        held = self.config.scoring
        run_parts(label, job, done, names, self.config.workers, held.cpus_per_worker, held.gpus_per_worker)

    def _screen(self, screen: Screen) -> Sample:
        """Read the stretches of a sample of documents with each model."""
        config, sample = self.config, self._draw("screen", "documents", screen.documents)
        for name, model in self.prepared.models.items():
            job = ScreenJob(
                model,
                config.scoring,
                self.prepared.sampling,
                screen.prefix_tokens,
                config.target_tokens,
                config.low_entropy,
                self.prepared.before,
                sample,
                self.work.directory.store(f"screen/{name}"),
            )
            with self.work.stage("screen"):
                self._score(f"screen ({name})", job, job.read, sample.parts.complete())
        return sample

    def _play(self, games: Games, sample: Sample) -> None:
        """Mask identifiers of the drawn documents, and let each model say what stood there."""
        config, store = self.config, self.work.directory.store
        mask = MaskJob(config.identifiers, sample, store("identifiers"))
        with self.work.stage("mask identifiers"):
            self._run_parts("mask identifiers", mask, mask.masked, sample.parts.complete())
            sentences, plan = store("sentences"), store("plan/reconstruction")
            known = partial(known_values, self.prepared.known, config.identifiers)
            choose_sentences(mask.masked, sentences, games, config.seed, known, config.part_targets)
            tokenizer, before = self.prepared.tokenizer, self.prepared.before
            plan_samples(plan, sentences, games, config.seed, tokenizer, before)
        for name in self.prepared.models:
            self._play_with(name, games)

    def _play_with(self, name: str, games: Games) -> None:
        config, store, model = self.config, self.work.directory.store, self.prepared.models[name]
        sampled = GenerationJob(
            config.engine,
            model,
            self.prepared.sampling,
            store("plan/reconstruction"),
            store(f"generations/reconstruction-{name}"),
        )
        with self.work.stage("sample sentences"):
            generate_planned(f"sample sentences ({name})", sampled, config.workers)
        job = RankJob(
            model,
            config.scoring,
            config.identifiers,
            games,
            config.seed,
            self.prepared.before,
            store("sentences"),
            sampled.generations,
            store(f"ranks/{name}"),
        )
        with self.work.stage("rank candidates"):
            self._score(f"rank candidates ({name})", job, job.ranks, job.sentences.complete())
