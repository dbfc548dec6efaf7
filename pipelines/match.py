"""The matching stage: every generation against the index, part by part, on Ray workers that map the same index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.byte_windows import ByteWindowTable, byte_windows
from extraction.engines.settings import ModelSettings
from extraction.entropy import LowEntropyRule
from extraction.records import Generation, generations_of
from extraction.token_bytes import TokenBytes, TokenRun
from extraction.windows import MatchRule, MatchTables, analyse_generation
from pipelines.partitions import split
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.rundir import RunDirectory

Ints = NDArray[np.int64]
TABLES = (
    "requests",
    "windows",
    "byte_windows",
    "stretches",
    "spans",
)  # the marker of `spans` completes a part
PARTITIONED = ("windows", "byte_windows")


@dataclass(frozen=True)
class MatchStores:
    """Where the tables of a matched part are published.

    Attributes:
        requests: one row for each generation: generated, extracted and low-entropy tokens.
        windows: one row for each place of a window, in partitions.
        byte_windows: one row for each window in bytes, in partitions.
        stretches: one row for each stretch, with its bytes.
        spans: one row for each span.
    """

    requests: PartStore
    windows: PartStore
    byte_windows: PartStore
    stretches: PartStore
    spans: PartStore

    @classmethod
    def of(cls, directory: RunDirectory) -> "MatchStores":
        """The stores of a run directory, for matches against the corpus."""
        stores = {name: directory.store(f"matches/{name}") for name in TABLES[:-1]}
        return cls(**stores, spans=directory.store("spans"))

    @classmethod
    def of_control_text(cls, directory: RunDirectory) -> "MatchStores":
        """The stores of a run directory, for matches against text that the model never saw."""
        return cls(**{name: directory.store(f"control_matches/{name}") for name in TABLES})

    def publish(self, name: str, tables: dict[str, Any]) -> None:
        """Publish the tables of one part, that of the spans last."""
        tables = {**tables, "requests": tables["matches"]}
        for table in TABLES:
            store: PartStore = getattr(self, table)
            groups = split(tables[table]) if table in PARTITIONED else [tables[table]]
            store.publish_groups(name, groups, tables[table].schema, {})


@dataclass(frozen=True)
class MatchJob:
    """Finds spans, windows and stretches in one part of generations after another.

    Attributes:
        model: whose tokenizer gives tokens their bytes.
        index: the folder of the index.
        key: the key of all window hashes of the run.
        stores: where the result is published.
    """

    model: ModelSettings
    index: str
    min_tokens: int
    min_bytes: int
    private_documents: int
    low_entropy: LowEntropyRule
    key: bytes = field(repr=False)
    generations: PartStore
    stores: MatchStores

    def start(self) -> Callable[[str], Facts]:
        """Map the index and read the tokenizer in the worker's own process."""
        from extraction.model import load_tokenizer
        from index import open_index

        rule = MatchRule(self.min_tokens, self.private_documents, self.low_entropy, self.key)
        token_bytes = TokenBytes.from_tokenizer(load_tokenizer(self.model))
        matcher = Matcher(token_bytes, open_index(self.index), rule, self.min_bytes)

        def process(name: str) -> Facts:
            tables = matcher.tables(generations_of(self.generations.read(name)))
            self.stores.publish(name, tables)
            return {"spans": tables["spans"].num_rows}

        return process


@dataclass(frozen=True)
class Matcher:
    """Matches generations against an open index.

    Attributes:
        token_bytes: the bytes of the tokens that generated.
        index: an open index.
        rule: what makes a window and its kind.
        min_bytes: bytes of the shortest match asked for.
    """

    token_bytes: TokenBytes
    index: Any
    rule: MatchRule
    min_bytes: int

    def tables(self, generations: Sequence[Generation]) -> dict[str, Any]:
        """Match a part's generations and lay the result out as its tables."""
        runs = [self._runs(g) for g in generations]
        found = iter(self.index.find([run.data for own in runs for run in own], self.min_bytes))
        collected, in_bytes = MatchTables(self.rule), ByteWindowTable()
        for generation, own in zip(generations, runs, strict=True):
            ranges = [[(r.start, r.end) for r in next(found)] for _ in own]
            prompt = self._prompt(generation)
            match = analyse_generation(own, ranges, prompt, self.rule, self._count)
            collected.add(generation.family, generation.number, generation.token_ids, match)
            hashes = byte_windows(own, ranges, prompt, self.rule, self.min_bytes)
            in_bytes.add(generation.family, generation.number, hashes)
        return {**collected.tables(), "byte_windows": in_bytes.table()}

    def _runs(self, generation: Generation) -> list[TokenRun]:
        prompt = self.token_bytes.bytes_of(generation.prompt_token_ids)
        return list(self.token_bytes.runs(generation.token_ids, starts_text=not any(prompt)))

    def _prompt(self, generation: Generation) -> list[bytes]:
        return [run.data for run in self.token_bytes.runs(generation.prompt_token_ids, starts_text=True)]

    def _count(self, data: bytes, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        counts = self.index.count_windows(data, starts, ends)
        return counts.documents, counts.occurrences
