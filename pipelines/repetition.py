"""The families that ask to repeat a word: which generations leave the repetition, and what is found behind it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extraction.counts import Counter, Found
from extraction.engines.settings import ModelSettings
from extraction.repetition import REPETITION_SCHEMA, AskedWords, find_repetition
from extraction.token_bytes import TokenBytes
from extraction.windows import KINDS, LOW_ENTROPY, PRIVATE
from pipelines.config import RunConfig
from pipelines.count import Rules
from pipelines.identify import run_parts
from pipelines.parts import PartStore
from pipelines.plan import planned_parts
from pipelines.pool import Facts
from pipelines.work import Work

STORE = "repetitions"


@dataclass(frozen=True)
class RepetitionJob:
    """Finds where the repetition ends in one part of generations after another.

    Attributes:
        model: whose tokenizer gives tokens their bytes.
        asked: the words that each family asks for.
        generations: what was generated.
        found: where the result is published.
    """

    model: ModelSettings
    asked: Mapping[str, AskedWords]
    generations: PartStore
    found: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Read the tokenizer in the worker's own process."""
        from extraction.model import load_tokenizer

        token_bytes = TokenBytes.from_tokenizer(load_tokenizer(self.model))

        def process(name: str) -> Facts:
            table = self.generations.read(name, ["family", "number", "token_ids"])
            self.found.publish(name, self._repetitions(table, token_bytes), {})
            return {}

        return process

    def _repetitions(self, table: pa.Table, token_bytes: TokenBytes) -> pa.Table:
        (family,) = table["family"].unique().to_pylist()
        words = self.asked[family].of(table["number"].to_numpy())
        tokens = table["token_ids"].to_pylist()
        found = [vars(find_repetition(t, w, token_bytes)) for t, w in zip(tokens, words, strict=True)]
        columns = [table["family"], table["number"]]
        columns += [pa.array([f[name] for f in found]) for name in REPETITION_SCHEMA.names[2:]]
        return pa.table(columns, names=REPETITION_SCHEMA.names).cast(REPETITION_SCHEMA)


def find_repetitions(config: RunConfig, work: Work, asked: Mapping[str, AskedWords]) -> None:
    """Find the end of the repetition in every generation of the families that ask for one."""
    parts = [p.name for p in planned_parts(work.directory.store("plan")) if p.family in asked]
    if not parts:
        return
    found = work.directory.store(STORE)
    with work.stage("find repetitions"):
        job = RepetitionJob(config.model, asked, work.generations, found)
        run_parts("find repetitions", job, found, parts, config.analysis_workers)


def count_repetitions(found: Found, rules: Rules, repetitions: pa.Table) -> dict[str, list[dict[str, int]]]:
    """Count, for each family that asks for a repetition and at each budget, who left it and what came behind.

    Args:
        found: all that the run found.
        rules: the run's rules.
        repetitions: a table of `REPETITION_SCHEMA`.

    Returns:
        For each family, by budget: `repeated` and `diverged`, both requests, and the distinct windows that begin
        behind the repetition, `windows_after` and of these `private_windows_after`.
    """
    families = repetitions["family"].unique().to_pylist()
    if not families:
        return {}
    counter = Counter(found, rules.shares, rules.budgets)
    return {
        family: _counts(counter, family, repetitions.filter(pc.equal(repetitions["family"], family)))
        for family in families
    }


def _counts(counter: Counter, family: str, rows: pa.Table) -> list[dict[str, int]]:
    order = np.argsort(rows["number"].to_numpy())
    times, end, diverged = (rows[name].to_numpy()[order] for name in REPETITION_SCHEMA.names[2:])
    places, levels = counter.found.places, counter.levels
    own = np.flatnonzero(places.family == counter.families.index(family))
    number = places.number[own]
    after = own[diverged[number] & (places.start[own] >= end[number])]
    first = levels.first(places.window[after], counter.window_levels[after], len(places.hashes))
    text = levels.totals(first[places.kinds != KINDS.index(LOW_ENTROPY)])
    private = levels.totals(first[places.kinds == KINDS.index(PRIVATE)])
    return [
        {
            "repeated": int((times[:requests] > 0).sum()),
            "diverged": int(diverged[:requests].sum()),
            "windows_after": int(text[place]),
            "private_windows_after": int(private[place]),
        }
        for place, requests in enumerate(counter.cutoffs[family].requests.tolist())
    ]


def add_repetitions(
    families: dict[str, list[dict[str, Any]]], counts: dict[str, list[dict[str, int]]]
) -> None:
    """Put the counts into the report's `families`, as `repetition` of each budget."""
    for family, rows in counts.items():
        for row, own in zip(families[family], rows, strict=True):
            row["repetition"] = own
