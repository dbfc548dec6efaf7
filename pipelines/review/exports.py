"""Exports: verdicts, documents to act on, and verdicts on candidates as `extraction confirm` reads them.

They carry ids, keyed hashes and counts. Text, and the words of reviewers, which can quote it, only where asked for.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.rank.candidates import harmless
from pipelines.rank.confirm import NO, UNSURE, YES
from pipelines.review.items import CANDIDATE, Item
from pipelines.review.opened import Review
from pipelines.review.shown import visible
from pipelines.review.verdicts import DISAGREE, NONE

VERDICT_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("kind", pa.string()),
        ("document_count", pa.int64()),
        ("tokens", pa.int64()),
        ("requests", pa.int64()),
        ("families", pa.list_(pa.string())),
        ("first_budget", pa.int64()),
        ("identifier_types", pa.list_(pa.string())),
        ("cluster_id", pa.string()),
        ("in_control", pa.bool_()),
        ("outcome", pa.string()),
        ("reviewer", pa.string()),
        ("verdict", pa.string()),
        ("action", pa.string()),
        ("at", pa.string()),
    ]
)
"""One row for each verdict that stands; `outcome` is what all verdicts on the item come to."""

TEXT_FIELDS = [("note", pa.string()), ("evidence", pa.string()), ("text", pa.large_string())]

DOCUMENT_SCHEMA = pa.schema(
    [("document_id", pa.string()), ("action", pa.string()), ("item_id", pa.string()), ("all_ids", pa.bool_())]
)
"""One row for each document and item; `all_ids` is false where more documents hold the item than are listed."""

CONFIRM_SCHEMA = pa.schema([("candidate_id", pa.string()), ("verdict", pa.string())])
_CONFIRMED = {"private": YES, "public": YES, "boilerplate": YES, "not_memorised": NO, "unsure": UNSURE}
_ON_DOCUMENTS = ("remove", "deduplicate", "rescrub")

EXPORTS = {
    "verdicts.csv": "every verdict, as CSV",
    "verdicts.parquet": "every verdict, as Parquet",
    "documents.csv": "documents to remove, deduplicate or re-scrub",
    "candidates.csv": "verdicts on candidates, for extraction confirm",
}


def export(review: Review, kind: str, with_text: bool) -> tuple[bytes, str]:
    """Make one export.

    Args:
        review: the open review.
        kind: one of `EXPORTS`.
        with_text: add texts, notes and evidence to verdicts.

    Returns:
        The file and its media type.
    """
    review.standing.refresh()
    if kind == "documents.csv":
        return _csv(pa.Table.from_pylist(list(_documents(review)), schema=DOCUMENT_SCHEMA))
    if kind == "candidates.csv":
        return _csv(pa.Table.from_pylist(list(_confirmed(review)), schema=CONFIRM_SCHEMA))
    schema = pa.schema([*VERDICT_SCHEMA, *TEXT_FIELDS]) if with_text else VERDICT_SCHEMA
    table = pa.Table.from_pylist(list(_verdicts(review, with_text)), schema=schema)
    return _csv(table) if kind == "verdicts.csv" else _parquet(table)


def _verdicts(review: Review, with_text: bool) -> Iterator[dict[str, Any]]:
    for name, outcome, verdicts in review.standing.settled():
        item = review.listing.get(name)
        if item is None:
            continue
        text = {"text": review.texts.text(item)} if with_text else {}
        for given in verdicts:
            words = {"note": given.note, "evidence": given.evidence} if with_text else {}
            yield {
                **_facts(item),
                "outcome": outcome,
                "reviewer": given.reviewer,
                "verdict": given.verdict,
                "action": given.action,
                "at": given.at,
                **words,
                **text,
            }


def _facts(item: Item) -> dict[str, Any]:
    return {
        "item_id": item.id,
        "kind": item.kind,
        "document_count": item.documents,
        "tokens": item.tokens,
        "requests": item.requests,
        "families": list(item.families),
        "first_budget": item.first_budget,
        "identifier_types": list(item.types),
        "cluster_id": item.cluster,
        "in_control": item.in_control,
    }


def _documents(review: Review) -> Iterator[dict[str, Any]]:
    """Documents of the items on which all agree and an action is proposed; the last reviewer's action counts."""
    for name, outcome, verdicts in review.standing.settled():
        item, action = review.listing.get(name), verdicts[0].action
        if item is None or outcome in (NONE, DISAGREE) or action not in _ON_DOCUMENTS:
            continue
        ids = review.texts.all_document_ids(item)
        whole = len(ids) == item.documents
        yield from (
            {"document_id": document, "action": action, "item_id": item.id, "all_ids": whole}
            for document in ids
        )


def _confirmed(review: Review) -> Iterator[dict[str, str]]:
    for name, outcome, _ in review.standing.settled():
        item = review.listing.get(name)
        if item is not None and item.kind == CANDIDATE and outcome in _CONFIRMED:
            yield {"candidate_id": item.id, "verdict": _CONFIRMED[outcome]}


def _csv(table: pa.Table) -> tuple[bytes, str]:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([_cell(value) for value in row.values()])
    return out.getvalue().encode(), "text/csv; charset=utf-8"


def _cell(value: Any) -> Any:
    """A value that neither a spreadsheet nor a terminal acts on."""
    plain = " ".join(value) if isinstance(value, list) else value
    return harmless(visible(plain)) if isinstance(plain, str) else plain


def _parquet(table: pa.Table) -> tuple[bytes, str]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes(), "application/vnd.apache.parquet"
