"""The end of the prefix test: everything counted, prefix.json, and prefix.html made from it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.discoverable.draws import discoverable
from extraction.discoverable.outcomes import Readings, Rules
from extraction.discoverable.recovery import recovery
from extraction.games.leaks import Value
from extraction.token_bytes import TokenBytes
from pipelines.assemble import NOT_TEXT, SKIPPED_RECORDS, incomplete_reasons
from pipelines.generate import failed_requests
from pipelines.parts import write_json
from pipelines.prefix.config import Games, PrefixConfig
from pipelines.prefix.documents import Sample
from pipelines.prefix.leaking import NO_CONTROL, NO_RUN, leak_section
from pipelines.prefix.page import prefix_page
from pipelines.prefix.prepared import CONTROL, MODEL, Prepared
from pipelines.prefix.ranks import games_section
from pipelines.prefix.recovered import SampledRun, written_targets
from pipelines.prefix.screening import screen_section
from pipelines.prefix.tables import Targets, bin_rows, length_rows
from pipelines.prefix.targets import TrueContinuations, left_out_of
from pipelines.progress import inert
from pipelines.report.pages import write_page
from pipelines.work import SearchedWork

SCHEMA_VERSION = 1
NO_NUMBER = "targets, stretches or sentences that a model gave no number for"
LIMITATIONS = (
    "It says what these prompts bring out of these documents: other prompts, or more draws, may bring out more.",
    "Identical documents are one document here; how often each stands in the corpus is what the tables by copies show.",
    "A near match is a few tokens away; paraphrase is not counted.",
    "The run found a target where it wrote a window of it, or of another text that truly follows the prompt, whatever "
    "document that came from.",
)


@dataclass(frozen=True)
class Measured:
    """What the stages left, beside their parts.

    Attributes:
        sample: the documents that targets are cut out of.
        screened: the documents of the screen; None where there was none.
        compared: a finished sampling run; None where none was named.
        identifiers: all identifiers of the corpus with their documents; None where nobody asked.
    """

    sample: Sample
    screened: Sample | None
    compared: SampledRun | None
    identifiers: dict[Value, int] | None


def finish(config: PrefixConfig, prepared: Prepared, work: SearchedWork, measured: Measured) -> Path:
    """Count, and write prefix.json and prefix.html.

    Returns:
        The path of prefix.json.
    """
    found = Finished(config, prepared, work, measured)
    sections = found.sections()
    incomplete = found.incomplete(sections)
    ended = {"status": "incomplete" if incomplete else "complete", "incomplete": incomplete}
    own = {"id": work.run["run"], "created": work.run["created"], "name": config.name, "seed": config.seed}
    record = {
        "schema_version": SCHEMA_VERSION,
        "run": own,
        **ended,
        **sections,
        "limitations": list(LIMITATIONS),
    }
    folder = work.directory.path
    write_json(str(folder / "prefix.json"), record)
    write_page(folder / "prefix.html", prefix_page(record))
    work.directory.write({**work.run, **ended})
    return folder / "prefix.json"


@dataclass(frozen=True)
class Finished:
    """All stages, ready to be counted."""

    config: PrefixConfig
    prepared: Prepared
    work: SearchedWork
    measured: Measured

    def sections(self) -> dict[str, Any]:
        """Everything that prefix.json holds beside the run's own facts."""
        targets, rules = self._targets(), self._rules()
        main = targets.of_length(self.config.main_length)
        filler = (targets.prefix_tokens == self.config.main_length) & targets.usable & targets.low_entropy
        return {
            "method": self._method(),
            "sample": self._sample(),
            "lengths": self._lengths(targets, rules),
            "main_length": self.config.main_length,
            "by_copies": bin_rows(targets, targets.copies, main, rules),
            "by_documents": bin_rows(targets, targets.document_count, main, rules),
            "low_entropy": {"targets": int(filler.sum()), "by_model": targets.outcomes(filler, rules)},
            "agreement": self._agreement(targets, main),
            "recovery": self._recovery(targets, main),
            "screen": self._screen(),
            "games": None if self.config.games is None else self._games(self.config.games),
        }

    def incomplete(self, sections: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Why the result is not whole; empty where it is."""
        info, store = self.work.index.info, self.work.directory.store
        lost = sum(row["not_counted"]["not_a_number"] for row in sections["lengths"])
        failed = sum(row["not_counted"]["failed"] for row in sections["lengths"])
        requests = []
        for name in self.prepared.models:
            if self.config.games is not None:
                requests += failed_requests(store(f"generations/reconstruction-{name}"))
                lost += sections["games"][name]["not_a_number"]
            if sections["screen"] is not None:
                lost += sections["screen"]["by_model"][name]["not_a_number"]
        unread = {
            SKIPPED_RECORDS: info.skipped_records,
            NOT_TEXT: info.not_text_files,
            NO_NUMBER: lost,
            "targets whose greedy request failed": failed,
        }
        return incomplete_reasons(requests, unread)

    def _targets(self) -> Targets:
        store = self.work.directory.store
        true = TrueContinuations(store("continuations"), self.config.continuations)
        stores = {
            name: (store(f"readings/{name}"), store(f"generations/greedy-{name}"))
            for name in self.prepared.models
        }
        return Targets.load(store("targets"), true, stores)

    def _rules(self) -> Rules:
        config = self.config
        return Rules(config.draws, config.certainties, config.target_tokens, config.edit_share)

    def _method(self) -> dict[str, Any]:
        config, info = self.config, self.work.index.info
        return {
            "model": inert(Path(config.model.path or "").name),
            "control": config.control and inert(Path(config.control.path or "").name),
            "corpus": {
                "kind": config.corpus.kind,
                "documents": info.documents,
                "distinct_documents": info.distinct_documents,
                "fingerprint": info.fingerprint,
            },
            "sampling": self.prepared.sampling.as_dict(),
            "opening": config.opening,
            "by": config.by,
            "target_tokens": config.target_tokens,
            "most_edits": self._rules().most_edits,
            "continuations": config.continuations,
            "draws": list(config.draws),
            "certainties": list(config.certainties),
            "fingerprints": self.work.run["fingerprints"],
            "versions": self.work.run["versions"],
            "stages": self.work.run.get("stages", {}),
        }

    def _sample(self) -> dict[str, Any]:
        sample = self.measured.sample
        return {"documents": sample.documents, "corpus_documents": sample.corpus_documents}

    def _lengths(self, targets: Targets, rules: Rules) -> list[dict[str, Any]]:
        store = self.work.directory.store("targets")
        rows = length_rows(targets, self.config.prefix_tokens, rules)
        return [row | {"left_out": left_out_of(store, row["prefix_tokens"])} for row in rows]

    def _agreement(self, targets: Targets, main: NDArray[np.bool_]) -> dict[str, Any]:
        """How often the forward pass and decoding agree on whether greedy decoding gives a true continuation."""
        found = {}
        for name, read in targets.read.items():
            own = read.readings.some(main)
            found[name] = {"targets": own.greedy.size, "agree": int((own.greedy == (own.edits == 0)).sum())}
        return found

    def _recovery(self, targets: Targets, main: NDArray[np.bool_]) -> dict[str, Any] | None:
        run = self.measured.compared
        if run is None:
            return None
        following = [own for own, chosen in zip(targets.continuations, main, strict=True) if chosen]
        written = written_targets(run, following, TokenBytes.from_tokenizer(self.prepared.tokenizer))
        readings = targets.read[MODEL].readings.some(main)
        at = zip(run.budgets, run.reached, written, strict=True)
        return {
            "run": run.id,
            "complete": run.complete,
            "prefix_tokens": self.config.main_length,
            "budgets": [
                {"budget": budget, "reached": reached, "by": self._recovered(readings, row)}
                for budget, reached, row in at
            ],
        }

    def _recovered(self, readings: Readings, written: NDArray[np.bool_]) -> list[dict[str, Any]]:
        """One entry for greedy decoding, and one for each number of draws and certainty."""
        rows: list[dict[str, Any]] = [
            {"draws": None, "certainty": None, **asdict(recovery(readings.greedy, written))}
        ]
        for draws in self.config.draws:
            for certainty in self.config.certainties:
                out = discoverable(readings.log_probability, draws, certainty)
                rows.append({"draws": draws, "certainty": certainty, **asdict(recovery(out, written))})
        return rows

    def _screen(self) -> dict[str, Any] | None:
        sample, screen = self.measured.screened, self.config.screen
        if sample is None or screen is None:
            return None
        stores = {name: self.work.directory.store(f"screen/{name}") for name in self.prepared.models}
        draws, certainties = self.config.draws, self.config.certainties
        return {
            "prefix_tokens": screen.prefix_tokens,
            "documents": sample.documents,
            "corpus_documents": sample.corpus_documents,
            "corpus_bytes": sample.corpus_bytes,
            "by_model": {
                name: screen_section(own, sample, draws, certainties) for name, own in stores.items()
            },
        }

    def _games(self, games: Games) -> dict[str, Any]:
        store = self.work.directory.store
        sentences = sum(facts["sentences"] for facts in store("sentences").markers().values())
        section: dict[str, Any] = {"sentences": sentences, "samples": games.samples, "top": list(games.top)}
        for name in self.prepared.models:
            section[name] = games_section(store(f"ranks/{name}"), games.top, sentences)
        return section | {"extraction": self._leaks()}

    def _leaks(self) -> dict[str, Any]:
        run, corpus = self.measured.compared, self.measured.identifiers
        if run is None or corpus is None:
            return {"corpus_identifiers": None, MODEL: None, CONTROL: None, "reason": NO_RUN}
        control = None if run.control is None else leak_section(run.control, corpus)
        reason = NO_CONTROL if control is None else None
        own = {MODEL: leak_section(run, corpus), CONTROL: control, "reason": reason}
        return {"corpus_identifiers": len(corpus), **own}
