"""Draws documents from the corpus: each shard's smallest keys on Ray, then the smallest of all, in parts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from heapq import nsmallest
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from extraction.discoverable.drawing import Draw, Drawn
from extraction.errors import InputError
from index import open_index
from pipelines.identify import run_parts
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.work import SearchedWork

SHARES = tuple(f"share-{number:02d}" for number in range(16))
DRAWN_SCHEMA = pa.schema(
    [
        ("key", pa.float64()),
        ("fraction", pa.float64()),
        ("copies", pa.int64()),
        ("text", pa.binary()),
        ("whole", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class DrawJob:
    """Draws from one share of the corpus after another.

    Attributes:
        draw: how.
        index: the folder of the corpus' index.
        shares: where the drawn documents go.
    """

    draw: Draw
    index: str
    shares: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Open the index in the worker's own process."""
        shards = open_index(self.index).shards(len(SHARES))

        def process(name: str) -> Facts:
            seen = _Seen(self.draw.most)
            drawn = self.draw.smallest(seen.over(shards[SHARES.index(name)]))
            self.shares.publish(name, _table(drawn), {"documents": seen.documents, "bytes": seen.size})
            return {}

        return process


@dataclass
class _Seen:
    """Counts the documents that it hands on, and their bytes as far as each is looked at."""

    most: int
    documents: int = 0
    size: int = 0

    def over(self, documents: Iterable[tuple[list[str], bytes]]) -> Iterator[tuple[list[str], bytes]]:
        for ids, text in documents:
            if text:
                self.documents += 1
                self.size += min(len(text), self.most)
                yield ids, text


@dataclass(frozen=True)
class Sample:
    """A drawn sample.

    Attributes:
        parts: its documents in the order of their keys, in parts of `DRAWN_SCHEMA`.
        corpus_documents: different documents that it was drawn from.
        corpus_bytes: their bytes, as far as each is looked at.
    """

    parts: PartStore
    corpus_documents: int
    corpus_bytes: int

    def read(self, name: str) -> list[Drawn]:
        """The documents of one part."""
        return [Drawn(**row) for row in self.parts.read(name).to_pylist()]

    @property
    def documents(self) -> int:
        """How many were drawn."""
        return sum(facts["documents"] for facts in self.parts.markers().values())


def draw_documents(work: SearchedWork, purpose: str, draw: Draw, part_documents: int, workers: int) -> Sample:
    """Draw a sample, once.

    Args:
        work: the output directory and the index.
        purpose: names the sample's folder.
        draw: how.
        part_documents: documents in one part.
        workers: how many work side by side, a core each.

    Raises:
        InputError: the corpus holds no text.
    """
    shares = work.directory.store(f"documents/{purpose}-shares")
    job = DrawJob(draw, str(Path(work.index.directory).resolve()), shares)
    run_parts(f"draw documents ({purpose})", job, shares, SHARES, workers)
    facts = shares.markers().values()
    totals = {name: sum(one[name] for one in facts) for name in ("documents", "bytes")}
    if not totals["documents"]:
        raise InputError(f"{work.index.directory}: no document with text in it; check the corpus")
    parts = work.directory.store(f"documents/{purpose}")
    drawn = _merged(shares, draw.count)
    for start in range(0, len(drawn), part_documents):
        name = f"part-{start // part_documents:05d}"
        if parts.facts(name) is None:
            own = drawn[start : start + part_documents]
            parts.publish(name, _table(own), {"documents": len(own), "first": start})
    return Sample(parts, totals["documents"], totals["bytes"])


def _merged(shares: PartStore, count: int) -> list[Drawn]:
    """The documents with the smallest keys of all shares; keys are read first, for texts are large."""
    keys = [key for name in shares.complete() for key in shares.read(name, ["key"])["key"].to_pylist()]
    least = nsmallest(count, keys)
    if not least:
        return []
    rows = (
        row
        for name in shares.complete()
        for row in shares.read(name).filter(pc.field("key") <= least[-1]).to_pylist()
    )
    return sorted((Drawn(**row) for row in rows), key=lambda drawn: (drawn.key, drawn.text))[:count]


def _table(drawn: list[Drawn]) -> pa.Table:
    return pa.Table.from_pylist([asdict(one) for one in drawn], schema=DRAWN_SCHEMA)
