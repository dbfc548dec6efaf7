"""Picks candidates from scored parts, and writes them for people: Parquet with text, CSV without unless asked."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.ranking.candidates import Picking, pick
from extraction.ranking.scores import SCORES
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore, write_file

Floats = NDArray[np.float64]

FIRST_LOOK = 4  # times as many of the top are read as are wanted, and more where most of them are copies

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
SCORED = pa.schema(
    [("generation_id", pa.string()), ("family", pa.string()), *((name, pa.float64()) for name in SCORES)]
)
CSV_COLUMNS = ("candidate_id", "generation_id", "family", "picked_by", "ranks", *SCORES, "tokens", "verdict")
# A spreadsheet runs a cell that begins so as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Chosen:
    """What was picked.

    Attributes:
        table: of `CANDIDATE_SCHEMA`, each generation once, by its best rank.
        generations: how many were ranked.
        picked: candidates by score.
        unscored: generations that a score leaves out, by score.
    """

    table: pa.Table
    generations: int
    picked: dict[str, int]
    unscored: dict[str, int]


def candidates_of(store: PartStore, picking: Picking, table: TokenBytes) -> Chosen:
    """Pick candidates by every score, families apart.

    Args:
        store: scored parts.
        picking: how many of each score.
        table: bytes of the model's tokens.
    """
    columns = store.read_all(SCORED, SCORED.names)
    families = np.array(columns["family"].to_pylist(), dtype=object)
    scores = {name: floats(columns[name]) for name in SCORES}
    rows = _Rows(store)
    ranks: dict[int, dict[str, int]] = {}
    for name, values in scores.items():
        for family in sorted(set(families.tolist())):
            inside = np.flatnonzero(families == family)
            for rank, row in enumerate(_picked(values, inside, rows, picking), 1):
                ranks.setdefault(row, {})[name] = rank
    order = sorted(ranks, key=lambda row: (min(ranks[row].values()), row))
    described = [_described(row, ranks[row], rows, table) for row in order]
    return Chosen(
        table=pa.Table.from_pylist(described, schema=CANDIDATE_SCHEMA),
        generations=columns.num_rows,
        picked={name: sum(name in by for by in ranks.values()) for name in SCORES},
        unscored={name: int(np.isnan(values).sum()) for name, values in scores.items()},
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


class _Rows:
    """Single rows of the scored parts, by their number over all parts; the part read last is kept."""

    def __init__(self, store: PartStore) -> None:
        self._store = store
        markers = sorted(store.markers().items())
        self._names = [name for name, _ in markers]
        self._ends = np.cumsum([facts["generations"] for _, facts in markers])
        self._open: tuple[int, list[dict[str, Any]]] = (-1, [])

    def __getitem__(self, row: int) -> dict[str, Any]:
        part = int(np.searchsorted(self._ends, row, side="right"))
        if self._open[0] != part:
            self._open = (part, self._store.read(self._names[part]).to_pylist())
        return self._open[1][row - (int(self._ends[part - 1]) if part else 0)]

    def tokens(self, wanted: NDArray[np.int64]) -> dict[int, list[int]]:
        """Token ids of some rows, read in the order of the parts."""
        return {row: self[row]["token_ids"] for row in sorted(wanted.tolist())}


def _picked(values: Floats, inside: NDArray[np.int64], rows: _Rows, picking: Picking) -> list[int]:
    """Rows of one family picked by one score: only the top is read, and more of it where copies fell away."""
    order = inside[np.argsort(-values[inside], kind="stable")]
    order = order[~np.isnan(values[order])]
    wanted = max(picking.count, picking.among or 0)
    size = FIRST_LOOK * wanted
    while True:
        top = order[:size]
        tokens = rows.tokens(top)
        found = pick(values[top], [tokens[row] for row in top.tolist()], picking)
        if len(found) >= picking.count or size >= order.size:
            return [int(top[n]) for n in found]
        size *= FIRST_LOOK


def _described(row: int, ranks: dict[str, int], rows: _Rows, table: TokenBytes) -> dict[str, Any]:
    record = rows[row]
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


def floats(column: Any) -> Floats:
    """A score column as float64[n], NaN where there is none."""
    return np.asarray(column.to_numpy(), dtype=np.float64)
