"""Reports and run directories for the tests of the pages."""

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FIXTURE = Path(__file__).parent / "fixtures" / "report.json"


def report() -> dict[str, Any]:
    """A target with three budgets, three families and a control; every number is made up."""
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


def nothing_found() -> dict[str, Any]:
    """The same run with nothing extracted."""
    made = report()
    for counts in (*made["budgets"], *(c for rows in made["families"].values() for c in rows)):
        clear(counts)
    made["passages_by_document_count"] = []
    for curve in made["growth"].values():
        curve |= {key: [] for key in curve if key != "observed"}
        for point in curve["observed"]:
            point |= {k: 0 for k in point if k.startswith(("distinct", "private"))}
    for counts in (*made["control"]["shared"], *made["control"]["not_in_control"]):
        counts |= {k: 0 for k in counts if k != "budget"}
    return made


def clear(counts: dict[str, Any]) -> None:
    zero = ("extracted_tokens", "extracted_share", "distinct_windows", "private_windows", "distinct_passages")
    more = (
        "private_passages",
        "clusters",
        "requests_with_extraction",
        "extracted_bytes",
        "distinct_byte_windows",
    )
    counts |= dict.fromkeys((*zero, *more), 0)
    counts |= {"identifiers_in_corpus": 0, "identifiers_by_chance": 0, "identifiers": {}}
    none = {"estimate": None, "reason": "no request gave back training text"}
    estimates = ("unseen_mass", "chao2_windows", "unseen_mass_passages", "chao2_passages")
    counts |= dict.fromkeys(estimates, none)
    high = {"estimate": 0.0, "low": 0.0, "high": 0.0023, "flag": "few requests hit"}
    counts["extracted_share_interval"] = high


def incomplete(made: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(made)
    made["status"] = "incomplete"
    made["incomplete"] = [{"reason": "corpus records that could not be read", "count": 37}]
    return made


def write_run(
    path: Path, made: dict[str, Any], passages: list[tuple[str, str, str, int]], run_id: str | None = None
) -> Path:
    """Write a run directory: passages are (id, kind, text, tokens)."""
    path.mkdir(parents=True)
    made = copy.deepcopy(made)
    made["run"]["id"] = run_id or path.name
    rows = [
        {
            "passage_id": i,
            "kind": kind,
            "text": text,
            "tokens": tokens,
            "bytes": len(text.encode()),
            "first_budget": 1,
        }
        for i, kind, text, tokens in passages
    ]
    schema = pa.schema(
        [
            ("passage_id", pa.string()),
            ("kind", pa.string()),
            ("text", pa.string()),
            ("tokens", pa.int64()),
            ("bytes", pa.int64()),
            ("first_budget", pa.int64()),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path / "passages.parquet")
    (path / "report.json").write_text(json.dumps(made), encoding="utf-8")
    (path / "run.json").write_text(json.dumps({"run": made["run"]["id"], "config": {"model": {"path": "m"}}}))
    return path
