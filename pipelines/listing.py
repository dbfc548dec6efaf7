"""`identifiers/in_corpus.parquet`: every identifier that came out and stands in the corpus, with its documents.

It is what a person needs to scrub them: the value, where it stands, and how often it came out.
"""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.identifiers.records import IDENTIFIER_SCHEMA
from pipelines.identify import Value
from pipelines.parts import write_file
from pipelines.rundir import RunDirectory
from pipelines.values import Lookups, documents_of, merge_lookup

LISTING_SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("value", pa.string()),
        ("group", pa.string()),
        ("documents", pa.int64()),
        ("occurrences", pa.int64()),
        ("document_ids", pa.list_(pa.string())),
        ("control_text_documents", pa.int64()),
        ("requests", pa.int64()),
    ]
)
"""One row for each value, those in the fewest documents first; `requests` gave it, in all budgets together."""


def write_listing(directory: RunDirectory, lookup: Lookups, most_ids: int) -> None:
    """Write the list.

    Args:
        directory: the run.
        lookup: the counts of its identifiers.
        most_ids: how many document ids are listed for each.
    """
    requests = _requests(directory)
    unseen = None if lookup.control_text is None else documents_of(lookup.control_text)
    rows = [
        _row(row, requests, unseen)
        for row in merge_lookup(lookup.corpus, most_ids).to_pylist()
        if (row["type"], row["value"]) in requests
    ]
    rows.sort(key=lambda row: (row["documents"], row["type"], row["value"]))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=LISTING_SCHEMA), sink, compression="zstd")
    write_file(str(directory.path / "identifiers" / "in_corpus.parquet"), sink.getvalue())


def _row(row: dict[str, Any], requests: dict[Value, int], unseen: dict[Value, int] | None) -> dict[str, Any]:
    key = row["type"], row["value"]
    return {
        **{name: row[name] for name in ("type", "value", "group", "documents", "occurrences")},
        "document_ids": row["example_ids"],
        "control_text_documents": None if unseen is None else unseen.get(key, 0),
        "requests": requests[key],
    }


def _requests(directory: RunDirectory) -> dict[Value, int]:
    """How many requests gave each value."""
    tagged = directory.store("identifiers").read_all(IDENTIFIER_SCHEMA, ["request_id", "type", "value"])
    counted = tagged.group_by(["type", "value"]).aggregate([("request_id", "count_distinct")])
    return {(r["type"], r["value"]): r["request_id_count_distinct"] for r in counted.to_pylist()}
