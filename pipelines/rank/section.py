"""What a ranking puts forward, and what is said of it: candidates as Parquet and CSV, and the report's `ranking`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.model import ModelSettings
from extraction.ranking.candidates import Picking
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore
from pipelines.progress import inert
from pipelines.rank.calibration import Hits, calibration
from pipelines.rank.candidates import candidates_of, write_csv
from pipelines.rank.confirm import confirmed_of
from pipelines.rank.scored import ScoreColumns
from pipelines.rundir import RunDirectory

DIRECTION = "higher is more suspicious in every score"
LIMITATIONS = (
    "A candidate is only suspicious: what people confirm among those checked is no share of all text.",
    "Memorised text that every model finds likely, boilerplate above all, ranks low by the ratios.",
)


@dataclass(frozen=True)
class Ranked:
    """Generations that are scored, ready to be picked from.

    Attributes:
        scores: scored parts.
        table: bytes of the model's tokens.
        reference: the model that they were compared with.
        picking: how many candidates of each score, and from where.
        hits: bool[n], which generations repeat text of the corpus; None where it was not searched.
        include_text: whether candidates.csv carries prompts and texts.
        skipped_records: generations that could not be read.
    """

    scores: PartStore
    table: TokenBytes
    reference: ModelSettings | None
    picking: Picking
    hits: Hits | None
    include_text: bool = False
    skipped_records: int = 0


def put_forward(ranked: Ranked, directory: RunDirectory) -> dict[str, Any]:
    """Pick candidates, write them to `candidates/` and candidates.csv, and sum up the ranking.

    Args:
        ranked: the scored generations.
        directory: where the candidates go.

    Returns:
        The report's `ranking`.

    Raises:
        InputError: there is no generation.
    """
    columns = ScoreColumns.read(ranked.scores)
    if not len(columns):
        raise InputError(f"{directory.path}: no generation that can be ranked; check what was generated")
    chosen = candidates_of(ranked.scores, columns, ranked.picking, ranked.table)
    directory.store("candidates").publish("part-00000", chosen.table, {"candidates": chosen.table.num_rows})
    write_csv(directory.path / "candidates.csv", chosen.table, ranked.include_text)
    reference, picking = ranked.reference, ranked.picking
    return {
        "reference": None if reference is None else inert(Path(reference.path or "").name),
        "generations": len(columns),
        "skipped_records": ranked.skipped_records,
        "candidates": chosen.table.num_rows,
        "picked_by_score": {name: len(rows) for name, rows in chosen.by_score.items()},
        "without_score": columns.missing,
        "not_a_number": columns.not_a_number,
        "picking": {"count": picking.count, "among": picking.among, "seed": picking.seed},
        "direction": DIRECTION,
        "calibration": calibration(columns, chosen.by_score, ranked.hits),
        "confirmed": confirmed_of(directory.path, chosen.table),
        "limitations": list(LIMITATIONS),
    }
