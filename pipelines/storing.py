"""Tags a corpus and stores its identifiers in the index: `index build --identifiers`, and `index add` after it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from extraction.identifiers.settings import IdentifierSettings
from index import open_index
from index.lock import folder_lock
from pipelines.identify import Runner, distinct_values
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.stored import FOLDER, description, misfit, stored_settings, write_stored
from pipelines.values import SHARES, LookupJob, merge_lookup

PART_BYTES = 4 << 20  # a minute of tagging or two
VALUE_SCHEMA = pa.schema([("type", pa.string()), ("value", pa.string())])


@dataclass(frozen=True)
class CorpusTagging:
    """Tags one part of a corpus after another; keeps the distinct values.

    Attributes:
        settings: how.
        index: the folder of the corpus' index.
        first_segment: segments in front of this one were tagged before.
        parts: how many parts the others are cut into.
        tagged: where the values go.
    """

    settings: IdentifierSettings
    index: str
    first_segment: int
    parts: int
    tagged: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the tagger in the worker's own process."""
        from extraction.identifiers import Tagger

        tagger = Tagger(self.settings)
        shards = open_index(self.index).shards(self.parts, self.first_segment)

        def process(name: str) -> Facts:
            shard = shards[int(name.rpartition("-")[2])]
            texts = (text.decode("utf-8", "replace") for _, text in shard)
            values = sorted({(one.type, one.value) for found in tagger.tag(texts) for one in found})
            rows = [{"type": type_, "value": value} for type_, value in values]
            self.tagged.publish(name, pa.Table.from_pylist(rows, schema=VALUE_SCHEMA), {})
            return {}

        return process


def store_identifiers(index: Path, settings: IdentifierSettings, run: Runner) -> None:
    """Store the identifiers of a corpus with its index, or bring them up to date; killed, it goes on from there.

    Documents that were tagged before are not tagged again.

    Args:
        index: the folder.
        settings: how identifiers are tagged; with others than before, everything is tagged anew.
        run: works through the parts.
    """
    index = index.resolve()
    with folder_lock(index):
        described = description(index)
        if described is not None and stored_settings(index) != settings:
            shutil.rmtree(index / FOLDER)
            described = None
        if described is None or misfit(index):
            (index / FOLDER).mkdir(mode=0o700, exist_ok=True)
            _store(index, settings, run, described or {})


def _store(index: Path, settings: IdentifierSettings, run: Runner, before: dict[str, int]) -> None:
    info = open_index(index).info
    folder, state = index / FOLDER, info.fingerprint[:16]
    tagged = PartStore(str(folder / "tagged"))
    parts = max(1, (info.text_bytes - before.get("text_bytes", 0)) // PART_BYTES)
    job = CorpusTagging(settings, str(index), before.get("segments", 0), parts, tagged)
    run("tag the corpus", job, tagged, [f"{state}-{number:06d}" for number in range(parts)])
    counted = PartStore(str(folder / f"counted-{state}"))
    counting = LookupJob(distinct_values(tagged), settings, str(index), counted)
    run("count the identifiers", counting, counted, SHARES)
    write_stored(index, settings, merge_lookup(counted, settings.document_ids))
    for left in folder.glob("counted-*"):
        shutil.rmtree(left)
