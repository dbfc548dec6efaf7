"""The look-up stage: each distinct identifier of a run in the corpus, a random one of the same form beside it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.identifiers.chance import random_values
from extraction.identifiers.lookup import CorpusLookup, LookupCounts
from extraction.identifiers.records import LOOKUP_SCHEMA, group_of
from extraction.identifiers.settings import IdentifierSettings
from pipelines.identify import Runner, Value
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.stored import stored_rows

SHARES = tuple(f"share-{number:02d}" for number in range(16))
STORED = "stored"

# The same values have the same random ones beside them whenever they are looked up.
chance_values = partial(random_values, seed=0)


@dataclass(frozen=True)
class Lookups:
    """Where the counts of a run's identifiers stand, rows of `LOOKUP_SCHEMA`.

    Attributes:
        corpus: the values that stand in the corpus.
        chance: the random values that stand in the corpus.
        control_text: the values that stand in text the model never saw; None: there is no such text.
    """

    corpus: PartStore
    chance: PartStore
    control_text: PartStore | None = None


@dataclass(frozen=True)
class LookupJob:
    """Passes over one share of a corpus after another, looking for every value at once.

    Attributes:
        values: the run's own, (type, normalised value).
        settings: how they were tagged.
        index: the folder of the corpus' index.
        found: where the counts of the values go.
        twins: random values to look up beside them, in the same pass.
        chance: where the counts of those go; None where there are none.
    """

    values: tuple[Value, ...]
    settings: IdentifierSettings
    index: str
    found: PartStore
    twins: tuple[Value, ...] = ()
    chance: PartStore | None = None

    def start(self) -> Callable[[str], Facts]:
        """Compile the values in the worker's own process."""
        from index import open_index

        lookup = CorpusLookup(list(dict.fromkeys([*self.values, *self.twins])), self.settings)
        shards = open_index(self.index).shards(len(SHARES))

        def process(name: str) -> Facts:
            self.publish(name, _rows(lookup.values, lookup.scan(shards[SHARES.index(name)])))
            return {}

        return process

    def publish(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Publish counts; those of the values last, for their marker says that the part is done."""
        rows = list(rows)
        for store, values in ((self.chance, self.twins), (self.found, self.values)):
            if store is not None:
                chosen = set(values)
                own = [row for row in rows if (row["type"], row["value"]) in chosen]
                store.publish(name, pa.Table.from_pylist(own, schema=LOOKUP_SCHEMA), {})


def _rows(values: Sequence[Value], counts: LookupCounts) -> list[dict[str, Any]]:
    """One row for each value that stands in the documents that were counted."""
    return [
        {
            "type": type_,
            "value": value,
            "group": group_of(type_, value),
            "documents": int(counts.documents[i]),
            "occurrences": int(counts.occurrences[i]),
            "example_ids": list(counts.example_ids[i]),
        }
        for i, (type_, value) in enumerate(values)
        if counts.documents[i]
    ]


def look_up(job: LookupJob, run: Runner) -> None:
    """Look every value up: joined with what the index stores of them, in the corpus' text for the rest.

    Args:
        job: the values and where their counts go; run again after a kill, it goes on where it stopped.
        run: works through the shares of the corpus.
    """
    known = _joined(job)
    values, twins = (tuple(v for v in some if v not in known) for some in (job.values, job.twins))
    if values or twins:
        run("look up identifiers", replace(job, values=values, twins=twins), job.found, SHARES)


def _joined(job: LookupJob) -> set[Value]:
    """Publish what the index stores of the values, once; what was published then is what is known."""
    if STORED not in job.found.markers():
        job.publish(STORED, stored_rows(Path(job.index), job.settings, {*job.values, *job.twins}))
    stores = [store for store in (job.found, job.chance) if store is not None]
    rows = [row for store in stores for row in store.read(STORED, ["type", "value"]).to_pylist()]
    return {(row["type"], row["value"]) for row in rows}


def merge_lookup(found: PartStore, most_ids: int) -> pa.Table:
    """Add the counts of all shares of the corpus.

    Args:
        found: the parts of a look-up.
        most_ids: how many ids are kept for each value, the first in alphabetical order.

    Returns:
        One row of `LOOKUP_SCHEMA` for each value that stands in the corpus, in order.
    """
    merged: dict[Value, dict[str, Any]] = {}
    for row in found.read_all(LOOKUP_SCHEMA).to_pylist():
        empty = row | {"documents": 0, "occurrences": 0, "example_ids": []}
        known = merged.setdefault((row["type"], row["value"]), empty)
        known["documents"] += row["documents"]
        known["occurrences"] += row["occurrences"]
        known["example_ids"] = nsmallest(most_ids, {*known["example_ids"], *row["example_ids"]})
    return pa.Table.from_pylist([merged[key] for key in sorted(merged)], schema=LOOKUP_SCHEMA)


def documents_of(found: PartStore) -> dict[Value, int]:
    """How many documents hold each value that any does."""
    documents: dict[Value, int] = {}
    for row in found.read_all(LOOKUP_SCHEMA, ["type", "value", "documents"]).to_pylist():
        key = row["type"], row["value"]
        documents[key] = documents.get(key, 0) + row["documents"]
    return documents
