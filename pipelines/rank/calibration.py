"""Judges the ranking by the exact matches of the same run, where its corpus was searched."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from extraction.ranking.calibration import calibrate
from extraction.ranking.scores import SCORES
from extraction.records import request_id
from pipelines.match import MatchStores
from pipelines.parts import PartStore
from pipelines.rank.candidates import SCORED, floats
from pipelines.rundir import RunDirectory

NOT_SEARCHED = "no run directory whose corpus was searched: nothing is known of what these candidates hold"
CAVEAT = (
    "Measured where the corpus could be searched. Text that cannot be searched may rank otherwise: take the "
    "precision to expect there from the same score and depth, as an indication."
)


def calibration(source: Path, store: PartStore) -> dict[str, Any]:
    """Precision and recall of every score, beside a random choice.

    Args:
        source: what was ranked.
        store: its scores.

    Returns:
        `by_score` and `caveat`, or `reason` where nothing can be said.
    """
    stores = MatchStores.of(RunDirectory(source)) if source.is_dir() else None
    parts = stores.requests.complete() if stores else []
    if stores is None or not parts:
        return {"by_score": None, "reason": NOT_SEARCHED}
    extracted: set[str] = set()
    for name in parts:
        rows = stores.requests.read(name, ["family", "number", "extracted_tokens"]).to_pylist()
        extracted |= {request_id(row["family"], row["number"]) for row in rows if row["extracted_tokens"]}
    table = store.read_all(SCORED, SCORED.names)
    hits = np.array([name in extracted for name in table["generation_id"].to_pylist()], dtype=np.bool_)
    found = {name: calibrate(floats(table[name]), hits) for name in SCORES}
    return {"by_score": {name: one and asdict(one) for name, one in found.items()}, "caveat": CAVEAT}
