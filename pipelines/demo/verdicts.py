"""Answers for the reviewer: the demo has the training text that people would have to know by heart."""

import csv
from pathlib import Path

from extraction.records import request_id
from pipelines.match import MatchStores
from pipelines.rank.confirm import NO, YES, confirm
from pipelines.rundir import RunDirectory


def answer(run: Path) -> Path:
    """Fill in the verdicts on a run's candidates by what was found in its corpus, and bring them back.

    Args:
        run: a run directory with candidates.csv.

    Returns:
        The table with the verdicts: yes for a generation that repeats training text, else no.
    """
    requests = MatchStores.of(RunDirectory(run)).requests
    repeating = {
        request_id(row["family"], row["number"])
        for name in requests.complete()
        for row in requests.read(name, ["family", "number", "extracted_tokens"]).to_pylist()
        if row["extracted_tokens"]
    }
    with (run / "candidates.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    filled = run / "verdicts.csv"
    with filled.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"verdict": YES if row["generation_id"] in repeating else NO})
    confirm(run, filled)
    return filled
