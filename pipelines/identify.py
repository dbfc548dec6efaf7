"""The identifier stages: tag names and numbers in every generation, then look each distinct value up in the corpus."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import chain
from typing import Any

import pyarrow as pa

from extraction.engines.settings import ModelSettings
from extraction.errors import InputError
from extraction.identifiers.lookup import MOST_IDS, CorpusLookup
from extraction.identifiers.records import IDENTIFIER_SCHEMA, LOOKUP_SCHEMA, group_of
from extraction.identifiers.settings import IdentifierSettings
from extraction.records import Generation, generations_of
from pipelines.parts import PartStore
from pipelines.pool import Facts, Pool, Resources
from pipelines.progress import progress

LOOKUP_PARTS = 16
Value = tuple[str, str]


@dataclass(frozen=True)
class TaggingJob:
    """Tags the generated text of one part after another; prompts are not looked at, filler is."""

    settings: IdentifierSettings
    model: ModelSettings
    generations: PartStore
    tagged: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the tagger and the tokenizer in the worker's own process."""
        from extraction.identifiers import Tagger
        from extraction.model import load_tokenizer
        from extraction.token_bytes import TokenBytes

        tagger = Tagger(self.settings)
        token_bytes = TokenBytes.from_tokenizer(load_tokenizer(self.model))

        def process(name: str) -> Facts:
            generations = generations_of(self.generations.read(name))
            findings = tagger.tag(token_bytes.decode(g.token_ids) for g in generations)
            rows = list(chain.from_iterable(map(_rows, generations, findings)))
            self.tagged.publish(
                name, pa.Table.from_pylist(rows, schema=IDENTIFIER_SCHEMA), {"findings": len(rows)}
            )
            return {"findings": len(rows)}

        return process


def _rows(generation: Generation, findings: Iterable[Any]) -> Iterator[dict[str, Any]]:
    request = {"request_id": generation.request_id, "family": generation.family, "number": generation.number}
    return (request | asdict(finding) for finding in findings)


@dataclass(frozen=True)
class LookupJob:
    """Passes over one share of the corpus after another, looking for every value at once."""

    values: tuple[Value, ...]
    settings: IdentifierSettings
    index: str
    found: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Compile the values in the worker's own process."""
        from index import open_index

        lookup = CorpusLookup(self.values, self.settings)
        shards = open_index(self.index).shards(LOOKUP_PARTS)

        def process(name: str) -> Facts:
            counts = lookup.scan(shards[int(name.rpartition("-")[2])])
            self.found.publish(name, _lookup_table(self.values, counts), {})
            return {}

        return process


def _lookup_table(values: tuple[Value, ...], counts: Any) -> pa.Table:
    """One row for each value that stands in this share of the corpus."""
    rows = [
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
    return pa.Table.from_pylist(rows, schema=LOOKUP_SCHEMA)


def run_parts(label: str, job: Any, done: PartStore, names: Iterable[str], workers: int) -> None:
    """Process every part that is not complete yet, on Ray.

    Args:
        label: what the progress says.
        job: what each worker does.
        done: where the parts are published.
        names: all parts of the stage.
        workers: how many workers run side by side, a core each.

    Raises:
        InputError: a part failed three times; the stage is not complete.
    """
    complete = set(done.complete())
    pending = [name for name in names if name not in complete]
    if not pending:
        return
    failed: list[str] = []
    with progress(label, "parts", len(pending)) as shown:
        Pool(job, Resources(workers), lambda _name, _facts: shown.advance(1), failed.append).run(pending)
    if failed:
        raise InputError(
            f"{done.root}: {label} failed three times on {len(failed)} parts, first {failed[0]}; "
            "see the lines above, then run the same command again"
        )


def distinct_values(tagged: PartStore) -> tuple[Value, ...]:
    """Every distinct (type, value) of a run, in order."""
    table = tagged.read_all(IDENTIFIER_SCHEMA, ["type", "value"])
    groups = table.group_by(["type", "value"]).aggregate([])
    return tuple(sorted(zip(groups["type"].to_pylist(), groups["value"].to_pylist(), strict=True)))


def merge_lookup(found: PartStore) -> pa.Table:
    """Add the counts of all shares of the corpus: one row of `LOOKUP_SCHEMA` for each value that stands in it."""
    table = found.read_all(LOOKUP_SCHEMA)
    merged: dict[Value, dict[str, Any]] = {}
    for row in table.to_pylist():
        empty = row | {"documents": 0, "occurrences": 0, "example_ids": []}
        known = merged.setdefault((row["type"], row["value"]), empty)
        known["documents"] += row["documents"]
        known["occurrences"] += row["occurrences"]
        known["example_ids"] = nsmallest(MOST_IDS, {*known["example_ids"], *row["example_ids"]})
    return pa.Table.from_pylist([merged[key] for key in sorted(merged)], schema=LOOKUP_SCHEMA)
