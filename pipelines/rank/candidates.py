"""Picks candidates from scored parts, and writes them for people: Parquet with text, CSV without unless asked."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.ranking.candidates import Picking, different, draw, suspicious_first
from extraction.ranking.scores import SCORES
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore, write_file
from pipelines.rank.scored import ScoreColumns, ScoredRows

FIRST_LOOK = 4  # times as many of the top are read for all scores at once as are wanted of each

CANDIDATE_SCHEMA = pa.schema(
    [
        ("candidate_id", pa.string()),
        ("generation_id", pa.string()),
        ("family", pa.string()),
        ("picked_by", pa.list_(pa.string())),
        ("ranks", pa.list_(pa.int32())),
        *((name, pa.float64()) for name in SCORES),
        ("tokens", pa.int32()),
        ("prompt", pa.string()),
        ("text", pa.string()),
    ]
)
CSV_COLUMNS = ("candidate_id", "generation_id", "family", "picked_by", "ranks", *SCORES, "tokens", "verdict")
# A spreadsheet runs a cell that begins so as a formula; some take the full-width signs for the others.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


@dataclass(frozen=True)
class Chosen:
    """What was picked.

    Attributes:
        table: of `CANDIDATE_SCHEMA`, each generation once, by its best rank.
        by_score: for each score, the generations that it picked, by their number over all parts.
    """

    table: pa.Table
    by_score: dict[str, list[int]]


def candidates_of(store: PartStore, columns: ScoreColumns, picking: Picking, table: TokenBytes) -> Chosen:
    """Pick candidates by every score, families apart.

    Args:
        store: scored parts.
        columns: their families and scores.
        picking: how many of each score.
        table: bytes of the model's tokens.
    """
    rows = ScoredRows(store)
    orders, look = list(_orders(columns)), FIRST_LOOK * picking.wanted
    rows.keep([row for _, order in orders for row in order[:look].tolist()])  # each part is read once for all
    ranks: dict[int, dict[str, int]] = {}
    for name, order in orders:
        for rank, row in _picked(order, rows, picking):
            ranks.setdefault(row, {})[name] = rank
    best = sorted(ranks, key=lambda row: (min(ranks[row].values()), row))
    records = rows.records(best)
    described = [_described(row, ranks[row], records[row], table) for row in best]
    return Chosen(
        table=pa.Table.from_pylist(described, schema=CANDIDATE_SCHEMA),
        by_score={name: [row for row in best if name in ranks[row]] for name in SCORES},
    )


def write_csv(path: Path, candidates: pa.Table, include_text: bool) -> None:
    """Write candidates for a spreadsheet, with an empty column for verdicts.

    Args:
        path: where.
        candidates: of `CANDIDATE_SCHEMA`.
        include_text: add prompts and texts, made harmless to a spreadsheet.
    """
    columns = [*CSV_COLUMNS, *(("prompt", "text") if include_text else ())]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in candidates.to_pylist():
        row |= {
            "picked_by": " ".join(row["picked_by"]),
            "ranks": " ".join(map(str, row["ranks"])),
            "verdict": "",
        }
        writer.writerow([harmless(row[name]) for name in columns])
    write_file(str(path), out.getvalue().encode())


def harmless(value: Any) -> Any:
    """Text that a spreadsheet shows instead of running; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    shown = value.replace("\0", "\ufffd")
    return f"'{shown}" if shown.startswith(FORMULA) else shown


def _orders(columns: ScoreColumns) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """For each family and score, the generations that have the score, the most suspicious first."""
    for place in range(len(columns.families)):
        inside = np.flatnonzero(columns.family == place)
        for name, values in columns.scores.items():
            yield name, inside[suspicious_first(values[inside])]


def _picked(order: NDArray[np.int64], rows: ScoredRows, picking: Picking) -> Iterator[tuple[int, int]]:
    """Rows of one family picked by one score, each with its rank among the different texts, from 1."""
    kept = different(rows.tokens(order), picking.wanted)
    for place in draw(len(kept), picking):
        yield place + 1, int(order[kept[place]])


def _described(
    row: int, ranks: Mapping[str, int], record: Mapping[str, Any], table: TokenBytes
) -> dict[str, Any]:
    return {
        "candidate_id": f"c{row:09d}",
        "generation_id": record["generation_id"],
        "family": record["family"],
        "picked_by": list(ranks),
        "ranks": list(ranks.values()),
        **{name: record[name] for name in SCORES},
        "tokens": len(record["token_ids"]),
        "prompt": table.decode(record["prompt_token_ids"]),
        "text": table.decode(record["token_ids"]),
    }
