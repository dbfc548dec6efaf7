"""Which candidates are picked from scored parts: families, ranks, copies, and how much of them is read."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from extraction.ranking.candidates import Picking
from extraction.ranking.scores import SCORES
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore
from pipelines.rank import scored
from pipelines.rank.candidates import candidates_of
from pipelines.rank.scored import SCORE_SCHEMA, ScoreColumns, ScoredRows


def test_a_score_that_is_no_number_is_reported_and_never_put_forward(tmp_path: Path) -> None:
    rows = [
        {"generation_id": f"g{n}", "family": "f", "prompt_token_ids": [], "token_ids": [n, n + 1, n + 2]}
        | dict.fromkeys(SCORES, float(n))
        for n in range(5)
    ]
    rows[4] |= {"zlib": float("nan")}
    rows[3] |= {"zlib": None}
    store = PartStore(str(tmp_path))
    store.publish("part-00000", pa.Table.from_pylist(rows, schema=SCORE_SCHEMA), {"generations": 5})
    columns = ScoreColumns.read(store)
    assert (columns.missing["zlib"], columns.not_a_number["zlib"]) == (1, 1)
    assert (columns.missing["reference"], columns.not_a_number["reference"]) == (0, 0)
    table = TokenBytes([bytes([n]) for n in range(8)])
    chosen = candidates_of(store, columns, Picking(count=2, among=None), table)
    assert chosen.by_score["zlib"] == [2, 1]
    assert chosen.by_score["reference"] == [4, 3]


def test_rows_are_found_over_all_parts(tmp_path: Path) -> None:
    store = PartStore(str(tmp_path))
    for part, rows in enumerate(([0, 1, 2], [3], [4, 5])):
        records = [
            {"generation_id": f"g{n}", "family": "f", "prompt_token_ids": [], "token_ids": [n] * 3}
            for n in rows
        ]
        table = pa.Table.from_pylist(records, schema=SCORE_SCHEMA)
        store.publish(f"part-{part:05d}", table, {"generations": len(rows)})
    rows_of = ScoredRows(store)
    rows_of.keep([5, 1])
    assert list(rows_of.tokens(np.array([5, 0, 3]))) == [[5] * 3, [0] * 3, [3] * 3]
    assert list(rows_of.tokens(np.array([4, 5]))) == [[4] * 3, [5] * 3]
    assert {row: found["generation_id"] for row, found in rows_of.records([2, 3]).items()} == {
        2: "g2",
        3: "g3",
    }


def test_a_million_copies_are_looked_through_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a model repeats stands at the top and is nearly all there is: it must not be in memory all at once."""
    copies, parts = 400, 8
    rows = [
        {"generation_id": f"g{n}", "family": "f", "prompt_token_ids": [], "token_ids": [1, 2, 3, 4, 5, n % 7]}
        | dict.fromkeys(SCORES, -float(n))
        for n in range(copies)
    ]
    rows += [
        rows[0] | {"token_ids": [n, n + 1, n + 2]} | dict.fromkeys(SCORES, -1e6 - n) for n in (20, 30, 40)
    ]
    store = PartStore(str(tmp_path))
    size = -(-len(rows) // parts)
    for part in range(parts):
        own = rows[part * size : (part + 1) * size]
        table = pa.Table.from_pylist(own, schema=SCORE_SCHEMA)
        store.publish(f"part-{part:05d}", table, {"generations": len(own)})
    monkeypatch.setattr(scored, "AHEAD", 50)
    read, at_once = ScoredRows._read_tokens, []

    def counted(self: ScoredRows, wanted: object) -> object:
        found = read(self, wanted)  # type: ignore[arg-type]
        at_once.append(len(found))
        return found

    monkeypatch.setattr(ScoredRows, "_read_tokens", counted)
    table = TokenBytes([bytes([n]) for n in range(50)])
    chosen = candidates_of(store, ScoreColumns.read(store), Picking(count=4, among=None), table)
    assert chosen.by_score["zlib"] == [0, copies, copies + 1, copies + 2]
    assert max(at_once) == 50
    assert chosen.table["ranks"].to_pylist()[0] == [1] * len(SCORES)


def test_a_candidates_rank_is_its_place_in_the_ranking(tmp_path: Path) -> None:
    rows = [
        {"generation_id": f"g{n}", "family": "f", "prompt_token_ids": [], "token_ids": [n, n + 1, n + 2]}
        | dict.fromkeys(SCORES, -float(n))
        for n in range(40)
    ]
    store = PartStore(str(tmp_path))
    store.publish("part-00000", pa.Table.from_pylist(rows, schema=SCORE_SCHEMA), {"generations": 40})
    table = TokenBytes([bytes([n]) for n in range(50)])
    chosen = candidates_of(store, ScoreColumns.read(store), Picking(count=5, among=30), table)
    found = {row["generation_id"]: row["ranks"] for row in chosen.table.to_pylist()}
    assert len(found) == 5
    assert all(ranks == [int(name[1:]) + 1] * len(SCORES) for name, ranks in found.items())
    assert max(map(max, found.values())) > 5  # drawn from among 30, not the first five
