"""Copies a Parquet or JSON lines file with records added at given places; all else stays as it was, in its order."""

import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.errors import InputError
from index.sources import kind_of


@dataclass(frozen=True)
class Insert:
    """A record to add.

    Attributes:
        place: the record of the file that it goes before; the number of records for the end.
        id: its id.
        text: its text.
    """

    place: int
    id: str
    text: str


def copy_file(
    source: Path, target: Path, inserts: Sequence[Insert], text_column: str, id_column: str
) -> None:
    """Copy a file, whole or not at all, readable by its owner alone.

    Args:
        source: Parquet or JSON lines, the latter plain, gzip or zstandard.
        target: the copy, of the same kind.
        inserts: in the order of their places.
        text_column: column or key of the text.
        id_column: the same of the id.

    Raises:
        InputError: a column must not be empty, and an added record has nothing for it.
    """
    os.makedirs(target.parent, mode=0o700, exist_ok=True)
    unfinished = target.with_name(f".unfinished-{target.name}")
    copy = _copy_parquet if kind_of(source) == "parquet" else _copy_lines
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        copy(source, unfinished, inserts, text_column, id_column)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _copy_lines(
    source: Path, target: Path, inserts: Sequence[Insert], text_column: str, id_column: str
) -> None:
    left, record, named = list(reversed(inserts)), 0, False
    with _open(source, reading=True) as lines, _open(target, reading=False) as copy:
        for line in lines:
            if line.strip():  # blank lines are no records
                # Where ids are numbers, one that is text would make the column unreadable for many.
                named = named or (not record and isinstance(json.loads(line).get(id_column), str))
                while left and left[-1].place == record:
                    copy.write(_line(left.pop(), text_column, id_column if named else None))
                record += 1
            copy.write(line if line.endswith(b"\n") else line + b"\n")
        for insert in reversed(left):
            copy.write(_line(insert, text_column, id_column if named else None))


def _open(path: Path, reading: bool) -> Any:
    name = path.name.lower()
    compression = "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else None
    if reading:
        return io.BufferedReader(pa.input_stream(str(path), compression=compression))
    return pa.output_stream(str(path), compression=compression)


def _line(insert: Insert, text_column: str, id_column: str | None) -> bytes:
    record = ({id_column: insert.id} if id_column else {}) | {text_column: insert.text}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _copy_parquet(
    source: Path, target: Path, inserts: Sequence[Insert], text_column: str, id_column: str
) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        schema, before = file.schema_arrow, 0
        _check_nullable(source, schema, text_column, id_column)
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                last = number == file.num_row_groups - 1
                own = [i for i in inserts if before <= i.place and (last or i.place < before + len(group))]
                parts = _parts(group, own, before, text_column, id_column)
                writer.write_table(pa.concat_tables([schema.empty_table(), *parts]))
                before += len(group)


def _parts(
    group: pa.Table, inserts: Sequence[Insert], before: int, text_column: str, id_column: str
) -> Iterator[pa.Table]:
    """A row group cut at the places of the records to add, with those between."""
    at = 0
    for insert in inserts:
        place = insert.place - before
        yield group.slice(at, place - at)
        yield _row(group.schema, insert, text_column, id_column)
        at = place
    yield group.slice(at)


def _row(schema: pa.Schema, insert: Insert, text_column: str, id_column: str) -> pa.Table:
    """A record with its text, its id where the column holds text, and nothing else."""
    columns = []
    for field in schema:
        value = insert.text if field.name == text_column else None
        if field.name == id_column and _holds_text(field.type):
            value = insert.id
        columns.append(pa.array([value], pa.string()).cast(field.type) if value else pa.nulls(1, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _holds_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _check_nullable(source: Path, schema: pa.Schema, text_column: str, id_column: str) -> None:
    for field in schema:
        filled = field.name == text_column or (field.name == id_column and _holds_text(field.type))
        if not (filled or field.nullable):
            raise InputError(
                f"{source}: column {field.name!r} must not be empty, and a canary has nothing for it; leave it out"
            )
