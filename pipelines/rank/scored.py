"""The scored parts of a ranking: how one is made from generations, on Ray or here, and how its columns are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extraction.ranking.scores import SCORES
from extraction.records import Generation, generations_of
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.rank.models import Ranker, RankingModels

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]

AHEAD = 32_768  # generations whose tokens are read at once

SCORE_SCHEMA = pa.schema(
    [
        ("generation_id", pa.string()),
        ("family", pa.string()),
        ("prompt_token_ids", pa.list_(pa.int32())),
        ("token_ids", pa.list_(pa.int32())),
        *((name, pa.float64()) for name in SCORES),
    ]
)


@dataclass(frozen=True)
class ScoreJob:
    """Scores one part of a run's generations after another, under the name that it has there."""

    models: RankingModels
    generations: PartStore
    scores: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the models in the worker's own process."""
        ranker = self.models.load()

        def process(name: str) -> Facts:
            return publish_scores(self.scores, name, generations_of(self.generations.read(name)), ranker)

        return process


def publish_scores(store: PartStore, name: str, generations: Sequence[Generation], ranker: Ranker) -> Facts:
    """Score some generations and publish them as one part."""
    records = [
        {
            "generation_id": g.request_id,
            "family": g.family,
            "prompt_token_ids": g.prompt_token_ids,
            "token_ids": g.token_ids,
            **found,
        }
        for g, found in zip(generations, ranker.score(generations), strict=True)
    ]
    facts: Facts = {"generations": len(records)}
    store.publish(name, pa.Table.from_pylist(records, schema=SCORE_SCHEMA), facts)
    return facts


@dataclass(frozen=True)
class ScoreColumns:
    """Families and scores of all generations, 68 bytes for each; no text and no tokens.

    Attributes:
        families: the names of the families, sorted.
        family: int32[n], the place of each generation's in `families`.
        scores: by name float64[n], NaN where there is none.
        missing: by name, how many generations have no such score.
        not_a_number: by name, how many have one that is no finite number.
    """

    families: list[str]
    family: NDArray[np.int32]
    scores: dict[str, Floats]
    missing: dict[str, int]
    not_a_number: dict[str, int]

    @classmethod
    def read(cls, store: PartStore) -> "ScoreColumns":
        """Read the columns of every complete part, in the order of their names."""
        table = store.read_all(SCORE_SCHEMA, ["family", *SCORES])
        families = sorted(pc.unique(table["family"]).to_pylist())
        family = pc.index_in(table["family"], value_set=pa.array(families, pa.string()))
        return cls(
            families=families,
            family=np.asarray(family.to_numpy(), dtype=np.int32),
            scores={name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in SCORES},
            missing={name: table[name].null_count for name in SCORES},
            not_a_number={name: int(pc.sum(pc.is_nan(table[name])).as_py() or 0) for name in SCORES},
        )

    def __len__(self) -> int:
        """How many generations there are."""
        return len(self.family)


class ScoredRows:
    """Single generations of the scored parts, by their number over all parts. Each part is read once for many."""

    def __init__(self, store: PartStore) -> None:
        """List the parts.

        Args:
            store: scored parts.
        """
        self._store = store
        markers = sorted(store.markers().items())
        self._names = [name for name, _ in markers]
        self._ends = np.cumsum([facts["generations"] for _, facts in markers])
        self._kept: dict[int, Ids] = {}

    def keep(self, rows: Sequence[int]) -> None:
        """Read the tokens of some generations, and keep them."""
        self._kept |= self._read_tokens(rows)

    def tokens(self, rows: NDArray[np.int64]) -> Iterator[list[int]]:
        """Token ids of generations, in the order given.

        Those that are not kept are read some at a time, and forgotten again: a model can write the same text a million
        times, and then all of it is looked at.
        """
        read: dict[int, Ids] = {}
        for place, row in enumerate(map(int, rows)):
            if row not in self._kept and row not in read:
                read = self._read_tokens(rows[place : place + AHEAD])
            yield (self._kept[row] if row in self._kept else read[row]).tolist()

    def records(self, rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Whole generations, of `SCORE_SCHEMA`."""
        found: dict[int, dict[str, Any]] = {}
        for numbers, table in self._parts(rows, SCORE_SCHEMA.names):
            found |= zip(numbers, table.to_pylist(), strict=True)
        return found

    def _read_tokens(self, rows: Sequence[int] | NDArray[np.int64]) -> dict[int, Ids]:
        found: dict[int, Ids] = {}
        for numbers, table in self._parts(rows, ["token_ids"]):
            lists = table["token_ids"].combine_chunks()
            values, ends = lists.values.to_numpy(), lists.offsets.to_numpy()[1:-1]
            found |= zip(numbers, np.split(values, ends), strict=True)
        return found

    def _parts(
        self, rows: Sequence[int] | NDArray[np.int64], columns: list[str]
    ) -> Iterator[tuple[list[int], pa.Table]]:
        """The numbers and the rows of each part that holds some of the generations."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        parts = np.searchsorted(self._ends, wanted, side="right")
        for part in np.unique(parts).tolist():
            own = wanted[parts == part]
            first = int(self._ends[part - 1]) if part else 0
            yield own.tolist(), self._store.read(self._names[part], columns).take(pa.array(own - first))
