"""Reads documents from Parquet files: Arrow buffers, without a Python string for each document."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from index.errors import SourceError
from index.pieces import BATCH_BYTES, BATCH_ROWS, Batch, Piece, ReadOptions


def _open_parquet(path: str | Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, memory_map=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{path}: not a readable Parquet file; rewrite it or leave it out") from error


def parquet_pieces(path: Path, name: str, options: ReadOptions) -> list[Piece]:
    """Make a piece of each row group.

    Raises:
        SourceError: the file is unreadable or lacks the text column.
    """
    with _open_parquet(path) as file:
        columns = file.schema_arrow.names
        if options.text_column not in columns:
            have = ", ".join(columns) or "none"
            raise SourceError(
                f"{path}: no column {options.text_column!r}; it has: {have} (choose with --text-column)"
            )
        column = columns.index(options.text_column)
        _check_type(path, file.schema_arrow.field(column).type, options)
        pieces, before = [], 0
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            pieces.append(
                Piece(
                    str(path),
                    name,
                    "parquet",
                    group.total_byte_size,
                    row_groups=(number,),
                    rows_before=before,
                )
            )
            before += group.num_rows
    return pieces


def _check_type(path: Path, found: Any, options: ReadOptions) -> None:
    import pyarrow.types as kinds

    value = found.value_type if kinds.is_dictionary(found) else found
    if not any(
        test(value)
        for test in (
            kinds.is_string,
            kinds.is_large_string,
            kinds.is_string_view,
            kinds.is_null,
            kinds.is_binary,
            kinds.is_large_binary,
        )
    ):
        raise SourceError(
            f"{path}: column {options.text_column!r} holds {found}, not text (choose with --text-column)"
        )


def read_parquet(piece: Piece, options: ReadOptions) -> Iterator[Batch]:
    """Read the rows of a piece in order.

    Raises:
        SourceError: a row holds no text and `skip_bad_records` is off, or the file cannot be read.
    """
    import pyarrow as pa

    row = piece.rows_before
    with _open_parquet(piece.path) as file:
        names = [options.text_column]
        if options.id_column in file.schema_arrow.names and options.id_column != options.text_column:
            names.append(options.id_column)
        rows = _rows_at_once(file, piece.row_groups)
        try:
            for batch in file.iter_batches(batch_size=rows, row_groups=list(piece.row_groups), columns=names):
                yield _parquet_batch(batch, piece, row, options)
                row += batch.num_rows
        except (pa.ArrowInvalid, OSError) as error:
            raise SourceError(
                f"{piece.path}: unreadable from row {row} on; rewrite the file or leave it out"
            ) from error


def _rows_at_once(file: Any, row_groups: Sequence[int]) -> int:
    groups = [file.metadata.row_group(number) for number in row_groups]
    rows = sum(group.num_rows for group in groups)
    size = sum(group.total_byte_size for group in groups)
    return max(1, min(BATCH_ROWS, int(rows * BATCH_BYTES // max(size, 1))))


def _parquet_batch(batch: Any, piece: Piece, row: int, options: ReadOptions) -> Batch:
    import pyarrow as pa

    texts = batch.column(0)
    if batch.num_columns > 1:
        ids = _as_names(batch.column(1), piece, options)
    else:
        ids = pa.array([f"{piece.name}:{row + n}" for n in range(batch.num_rows)], pa.large_string())
    texts, good = _valid_text(texts)
    bad = good.count(False)
    if bad and not options.skip_bad_records:
        raise SourceError(
            f"{piece.path}: row {row + good.index(False)} has no UTF-8 text in column {options.text_column!r} "
            "(--skip-bad-records counts such rows and goes on)"
        )
    if bad:
        keep = pa.array(good)
        texts, ids = texts.filter(keep), ids.filter(keep)
    return Batch(texts, _named(ids, piece, row), bad)


def _as_names(ids: Any, piece: Piece, options: ReadOptions) -> Any:
    import pyarrow as pa

    try:
        return ids.cast(pa.large_string())
    except pa.ArrowException as error:
        raise SourceError(
            f"{piece.path}: column {options.id_column!r} holds {ids.type}, which is no id (choose with --id-column)"
        ) from error


def _named(ids: Any, piece: Piece, row: int) -> Any:
    """Give records whose id is null the id that they would have without an id column."""
    import pyarrow as pa

    if not ids.null_count:
        return ids
    names = [
        name if name is not None else f"{piece.name}:{row + n}" for n, name in enumerate(ids.to_pylist())
    ]
    return pa.array(names, pa.large_string())


def _valid_text(texts: Any) -> tuple[Any, list[bool]]:
    """Cast a column to large_string; say for each row whether it is text (neither null nor broken UTF-8)."""
    import pyarrow as pa

    try:
        strings = texts.cast(pa.large_string())
        strings.validate(full=True)
    except pa.ArrowInvalid:
        values = [_decoded(value) for value in texts.cast(pa.large_binary()).to_pylist()]
        strings = pa.array(values, pa.large_string())
    if not strings.null_count:
        return strings, []
    return strings, strings.is_valid().to_pylist()


def _decoded(value: bytes | None) -> str | None:
    try:
        return value.decode() if value is not None else None
    except UnicodeDecodeError:
        return None
