"""The stages between generating and counting: match, tag identifiers, look them up; each part once, on Ray."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.entropy import LowEntropyRule
from extraction.identifiers.settings import IdentifierSettings
from extraction.model import ModelSettings
from pipelines.finish import ControlText
from pipelines.identify import TaggingJob, distinct_values, run_parts
from pipelines.match import MatchJob, MatchStores
from pipelines.parts import PartStore
from pipelines.values import LookupJob, Lookups, chance_values, look_up
from pipelines.work import SearchedWork

if TYPE_CHECKING:
    from index import Index


MATCH_TABLES = 2  # which tables a matched part has; a directory with others cannot be counted


@dataclass(frozen=True)
class Analysis:
    """How generations are matched and tagged.

    Attributes:
        model: whose tokenizer gives tokens their bytes.
        min_tokens: tokens of the shortest match that counts.
        min_bytes: bytes of the shortest match that the index is asked for.
        private_documents: the most documents that a private window stands in.
        low_entropy: what counts as filler.
        identifiers: how names and numbers are tagged.
        workers: how many workers run side by side, a core each.
    """

    model: ModelSettings
    min_tokens: int
    min_bytes: int
    private_documents: int
    low_entropy: LowEntropyRule
    identifiers: IdentifierSettings
    workers: int

    def fingerprints(self) -> dict[str, Any]:
        """What of it would change a result, by name."""
        return {
            "match_tables": MATCH_TABLES,
            "min_tokens": self.min_tokens,
            "min_bytes": self.min_bytes,
            "private_documents": self.private_documents,
            "low_entropy": self.low_entropy.model_dump(mode="json"),
            "identifiers": self.identifiers.model_dump(mode="json"),
        }


def analyse(work: SearchedWork, rules: Analysis, text: ControlText | None) -> Lookups:
    """Match the generations of a run, tag their identifiers, and look those up in the corpus.

    Args:
        work: the run.
        rules: how.
        text: text that the model never saw, matched the same way.

    Returns:
        The counts of the identifiers in the corpus.
    """
    names = work.generations.complete()
    tagged = work.directory.store("identifiers")
    with work.stage("match"):
        _match(work, rules, work.index, MatchStores.of(work.directory), names)
        if text:
            _match(work, rules, text.index, MatchStores.of_control_text(work.directory), names)
    with work.stage("tag identifiers"):
        tagging = TaggingJob(rules.identifiers, rules.model, work.generations, tagged)
        run_parts("tag identifiers", tagging, tagged, names, rules.workers)
    with work.stage("look up identifiers"):
        return _look_up(work, rules, tagged, text)


def _match(
    work: SearchedWork, rules: Analysis, index: "Index", stores: MatchStores, names: list[str]
) -> None:
    job = MatchJob(
        rules.model,
        str(Path(index.directory).resolve()),
        rules.min_tokens,
        rules.min_bytes,
        rules.private_documents,
        rules.low_entropy,
        work.index.key,
        work.generations,
        stores,
    )
    run_parts("match", job, stores.spans, names, rules.workers)


def _look_up(work: SearchedWork, rules: Analysis, tagged: PartStore, text: ControlText | None) -> Lookups:
    """Look up every distinct value; a run that has grown since is looked up anew."""
    state, values = f"{len(tagged.complete()):05d}", distinct_values(tagged)
    names = ("corpus", "chance", "control_text")
    stores = {name: work.directory.store(f"identifiers/{name}-{state}") for name in names}
    run = partial(run_parts, workers=rules.workers)
    look_up(
        LookupJob(
            values,
            rules.identifiers,
            str(Path(work.index.directory).resolve()),
            stores["corpus"],
            tuple(chance_values(values)),
            stores["chance"],
        ),
        run,
    )
    if text:
        index = str(Path(text.index.directory).resolve())
        look_up(LookupJob(values, rules.identifiers, index, stores["control_text"]), run)
    return Lookups(stores["corpus"], stores["chance"], stores["control_text"] if text else None)
