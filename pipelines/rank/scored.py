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
        self._tokens: dict[int, NDArray[np.int32]] = {}

    def load(self, rows: Sequence[int]) -> None:
        """Read the tokens of some generations and keep them; those that are kept already are not read again."""
        for row, record in self._read([row for row in rows if row not in self._tokens], ["token_ids"]):
            self._tokens[row] = np.array(record["token_ids"], dtype=np.int32)

    def tokens(self, rows: Sequence[int]) -> list[list[int]]:
        """Token ids of some generations."""
        self.load(rows)
        return [self._tokens[row].tolist() for row in rows]

    def records(self, rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Whole generations, of `SCORE_SCHEMA`."""
        return dict(self._read(rows, SCORE_SCHEMA.names))

    def _read(self, rows: Sequence[int], columns: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        parts = np.searchsorted(self._ends, wanted, side="right")
        for part in np.unique(parts).tolist():
            own = wanted[parts == part]
            first = int(self._ends[part - 1]) if part else 0
            table = self._store.read(self._names[part], columns).take(pa.array(own - first))
            yield from zip(own.tolist(), table.to_pylist(), strict=True)
