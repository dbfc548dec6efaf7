"""Judges the ranking by the exact matches of the same run, where its corpus was searched."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import wilson
from extraction.ranking.calibration import calibrate
from extraction.ranking.scores import SCORES
from pipelines.match import MatchStores
from pipelines.parts import PartStore
from pipelines.rank.scored import ScoreColumns
from pipelines.rundir import RunDirectory

Hits = NDArray[np.bool_]

KEY = ("family", "number")

NOT_SEARCHED = (
    "no corpus was searched for all of these generations, so nothing is known of what the candidates hold"
)
CAVEAT = (
    "Measured where the corpus could be searched. Text that cannot be searched may rank otherwise: take the share "
    "among the candidates as what to expect there, as an indication. Candidates are different texts: one that came out "
    "a hundred times counts once among them, and a hundred times among all generations."
)


def hits_in(run: RunDirectory, scores: PartStore) -> Hits | None:
    """Which generations repeat text of the corpus that a run was matched against.

    Args:
        run: the run.
        scores: its scored parts.

    Returns:
        bool[n], in the order of the scored parts; None where not all of them were matched.
    """
    matched, generations = MatchStores.of(run).requests, run.store("generations")
    names = scores.complete()
    if not names or not set(names) <= set(matched.complete()):
        return None
    return np.concatenate([_hits(matched, generations, name) for name in names])


def _hits(matched: PartStore, generations: PartStore, name: str) -> Hits:
    """By family and number: generations that were made elsewhere have ids of their own."""
    requests = matched.read(name, [*KEY, "extracted_tokens"]).to_pylist()
    extracted = {tuple(row[field] for field in KEY) for row in requests if row["extracted_tokens"]}
    rows = generations.read(name, [*KEY]).to_pylist()
    return np.array([tuple(row[field] for field in KEY) in extracted for row in rows], dtype=np.bool_)


def calibration(
    columns: ScoreColumns, picked: Mapping[str, Sequence[int]], hits: Hits | None
) -> dict[str, Any]:
    """Precision and recall of every score, beside a random choice, and how many of its candidates are hits.

    Args:
        columns: the scores of all generations.
        picked: for each score, the generations that it picked.
        hits: bool[n], which generations repeat training text; None where that is not known.

    Returns:
        `by_score` and `caveat`, or `reason` where nothing can be said.
    """
    if hits is None:
        return {"by_score": None, "reason": NOT_SEARCHED}
    return {
        "by_score": {name: _of_score(columns, name, picked[name], hits) for name in SCORES},
        "caveat": CAVEAT,
    }


def _of_score(columns: ScoreColumns, name: str, picked: Sequence[int], hits: Hits) -> dict[str, Any] | None:
    found = calibrate(columns.scores[name], hits)
    if found is None:
        return None
    repeating = int(hits[np.asarray(picked, dtype=np.int64)].sum())
    among = {
        "candidates": len(picked),
        "repeating": repeating,
        "share": asdict(wilson(repeating, len(picked))) if picked else None,
    }
    return asdict(found) | {"among_candidates": among}
