"""Empties the columns of a file that hold text or tokens: of Parquet files and of candidates.csv.

What is not known to be harmless is emptied: a new text column needs no line here.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from pipelines.parts import MARKER, PartStore, write_file
from pipelines.review.items import identifier_id

PURGED = {b"purged": b"yes"}
DAMAGED = "damaged"
CANDIDATES = "candidates.csv"
TEXT_FIELDS = ("prompt", "text")  # of candidates.csv
# Columns of words that are names of things and never text. Document ids stay: they are what is left to act on.
NAMES = frozenset(
    "passage_id kind cluster_id families request_id request_ids generation_id candidate_id family picked_by type "
    "group identifier_types document_ids example_ids finish_reason recogniser".split()
)


def text_columns(path: Path) -> list[str]:
    """The columns of a file that may hold text or tokens; none once it was emptied, or where it is no table."""
    if path.name == CANDIDATES:
        return [name for name in _header(path) if name in TEXT_FIELDS]
    if path.suffix != ".parquet":
        return []
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        _refuse_other_faults(error)
        return [DAMAGED]
    if (schema.metadata or {}).get(b"purged"):
        return []
    return [field.name for field in schema if not _is_harmless(field)]


def texts_in(path: Path, columns: Sequence[str]) -> Iterator[str]:
    """The texts of a Parquet file's columns, as far as they can be read; tokens are not decoded."""
    try:
        with pq.ParquetFile(path) as file:
            plain = [c for c in columns if _is_text(file.schema_arrow.field(c).type)]
            for batch in file.iter_batches(columns=plain) if plain else ():
                yield from (text for column in batch.columns for text in column.to_pylist() if text)
    except (OSError, pa.ArrowException) as error:
        _refuse_other_faults(error)


def row_count(path: Path) -> int:
    """How many rows a table has; 0 where that is not known."""
    return int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else 0


def empty(path: Path, key: bytes) -> None:
    """Write a file anew without its texts; row groups stay, and so does what its marker says.

    A damaged file is deleted.

    Args:
        path: of a table.
        key: of the hashes that take the place of identifiers.
    """
    if path.suffix != ".parquet":
        _drop_fields(path)
        return
    try:
        _empty_parquet(path, key)
    except (OSError, pa.ArrowException) as error:
        _refuse_other_faults(error)
        path.unlink()


def _refuse_other_faults(error: Exception) -> None:
    """Pass over what is the file's own fault; a full disk or a file that may not be read is not."""
    if isinstance(error, OSError) and error.errno:
        raise error


def _empty_parquet(path: Path, key: bytes) -> None:
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow.with_metadata(PURGED)
        groups = [_emptied(file.read_row_group(n), key) for n in range(file.num_row_groups)]
    if path.with_suffix(MARKER).exists():
        store = PartStore(str(path.parent.resolve()))
        store.publish_groups(path.stem, groups, schema, store.facts(path.stem) or {})
        return
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group)
    write_file(str(path), sink.getvalue())


def _is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def _is_harmless(field: pa.Field) -> bool:
    kind = field.type
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind):
        return True
    if kinds.is_fixed_size_binary(kind):
        return True  # a keyed hash
    return field.name in NAMES


def _emptied(table: pa.Table, key: bytes) -> pa.Table:
    for number, field in enumerate(table.schema):
        if _is_harmless(field):
            continue
        values = [_nothing(field.type)] * table.num_rows
        if field.name == "value" and "type" in table.column_names:
            # verdicts on identifiers know them by this
            pairs = zip(table["type"].to_pylist(), table["value"].to_pylist(), strict=True)
            values = [identifier_id(key, kind, value) for kind, value in pairs]
        table = table.set_column(number, field, pa.array(values, field.type))
    return table


def _nothing(kind: pa.DataType) -> Any:
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return []
    if kinds.is_binary(kind) or kinds.is_large_binary(kind):
        return b""
    return "" if _is_text(kind) else None


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as handle:
        return next(csv.reader(handle), [])


def _drop_fields(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    kept = [name for name in _header(path) if name not in TEXT_FIELDS]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, kept, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_file(str(path), out.getvalue().encode())
