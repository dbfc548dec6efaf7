"""Reads documents from Parquet, JSON lines, text files and folders. Knows nothing of how they are indexed.

A source is cut into pieces (a file, or some row groups of a Parquet file), which tasks read side by side.
"""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from index.errors import SourceError
from index.files import files_below, refuse_special

BATCH_BYTES = 16 << 20
BATCH_ROWS = 65536
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class ReadOptions:
    """How records are read.

    Attributes:
        text_column: the column or key that holds the text.
        id_column: the column or key that holds the id; where it is absent ids are `<file name>:<row>`.
        skip_bad_records: count records that cannot be read instead of refusing the source.
    """

    text_column: str = "text"
    id_column: str = "id"
    skip_bad_records: bool = False


@dataclass(frozen=True)
class Piece:
    """A part of a source that one task reads.

    Attributes:
        path: the file.
        name: what ids and messages call it (relative to a source folder).
        kind: `parquet`, `jsonl` or `text`.
        size: bytes on disk, for balancing.
        row_groups: for Parquet, the row groups to read and the number of rows before them.
        from_folder: a text file found in a folder: skipped where it is no text.
    """

    path: str
    name: str
    kind: str
    size: int
    row_groups: tuple[int, ...] = ()
    rows_before: int = 0
    from_folder: bool = False


@dataclass
class Batch:
    """Records that were read together.

    Attributes:
        texts: pyarrow large_string array.
        ids: pyarrow large_string array.
        skipped: bad records that were left out since the batch before.
        not_text: files of a folder that were left out because they are no UTF-8 text.
    """

    texts: Any
    ids: Any
    skipped: int = 0
    not_text: int = 0


@dataclass
class _Rows:
    """Records gathered one by one until they make a batch."""

    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    size: int = 0
    skipped: int = 0
    not_text: int = 0

    def add(self, text: str, name: str) -> None:
        self.texts.append(text)
        self.ids.append(name)
        self.size += len(text)

    def full(self) -> bool:
        return self.size >= BATCH_BYTES or len(self.texts) >= BATCH_ROWS

    def batch(self) -> Batch:
        import pyarrow as pa

        strings = pa.large_string()
        return Batch(pa.array(self.texts, strings), pa.array(self.ids, strings), self.skipped, self.not_text)


def list_pieces(sources: Sequence[str | Path], options: ReadOptions) -> list[Piece]:
    """Find the files of all sources and check what can be checked without reading them.

    Raises:
        SourceError: a source is missing, unreadable, of no known kind, or lacks the text column.
    """
    pieces: list[Piece] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            for file in files_below(path):
                pieces += _pieces_of(file, file.relative_to(path).as_posix(), options, from_folder=True)
        elif path.exists():
            refuse_special(path)
            pieces += _pieces_of(path, path.name, options, from_folder=False)
        else:
            raise SourceError(f"{path}: no such file or folder")
    return pieces


def kind_of(path: Path) -> str:
    """Tell a file's kind by its name: `parquet`, `jsonl` or `text`."""
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "parquet"
    plain = name.removesuffix(".gz").removesuffix(".zst")
    return "jsonl" if plain.endswith(JSON_LINES) else "text"


def _pieces_of(path: Path, name: str, options: ReadOptions, *, from_folder: bool) -> list[Piece]:
    kind = kind_of(path)
    if kind == "parquet":
        return _parquet_pieces(path, name, options)
    return [Piece(str(path), name, kind, path.stat().st_size, from_folder=from_folder)]


def _open_parquet(path: str | Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, memory_map=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{path}: not a readable Parquet file; rewrite it or leave it out") from error


def _parquet_pieces(path: Path, name: str, options: ReadOptions) -> list[Piece]:
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
            pieces.append(Piece(str(path), name, "parquet", group.total_byte_size, (number,), before))
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


def read_documents(pieces: Sequence[Piece], options: ReadOptions) -> Iterator[Batch]:
    """Read the records of some pieces in order, in batches of some 16 MB.

    Raises:
        SourceError: a record cannot be read and `skip_bad_records` is off, or a file cannot be read at all.
    """
    rows = _Rows()
    for piece in pieces:
        if piece.kind == "parquet":
            yield rows.batch()
            rows = _Rows()
            yield from _read_parquet(piece, options)
            continue
        for _ in (
            _read_jsonl(piece, options, rows) if piece.kind == "jsonl" else _read_text(piece, options, rows)
        ):
            if rows.full():
                yield rows.batch()
                rows = _Rows()
    yield rows.batch()


def _read_parquet(piece: Piece, options: ReadOptions) -> Iterator[Batch]:
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
            f"{piece.path}: row {row + good.index(False)} has no text in column {options.text_column!r} "
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


def _open_stream(piece: Piece) -> IO[bytes]:
    """Open a plain, gzip or zstandard file; Arrow's streams say when one is cut short, others keep silent."""
    import pyarrow as pa

    name = piece.path.lower()
    compression = "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else None
    return io.BufferedReader(pa.input_stream(piece.path, compression=compression))


def _read_jsonl(piece: Piece, options: ReadOptions, rows: _Rows) -> Iterator[None]:
    try:
        with _open_stream(piece) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                _add_line(line, number, piece, options, rows)
                yield
    except PermissionError as error:
        raise SourceError(f"{piece.path}: no permission to read it; grant access or leave it out") from error
    except OSError as error:
        raise SourceError(f"{piece.path}: cannot be read to its end; is it damaged?") from error


def _add_line(line: bytes, number: int, piece: Piece, options: ReadOptions, rows: _Rows) -> None:
    try:
        record = json.loads(line)
        text = record[options.text_column]
        text.encode()
        name = record.get(options.id_column)
        rows.add(text, f"{piece.name}:{number - 1}" if name is None else str(name))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if not options.skip_bad_records:
            raise SourceError(f"{piece.path}: line {number} {_complaint(line, options)}") from error
        rows.skipped += 1


def _complaint(line: bytes, options: ReadOptions) -> str:
    """Say what is wrong with a line, without quoting it."""
    hint = "(--skip-bad-records counts such lines and goes on)"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return f"is not JSON {hint}"
    if not isinstance(record, dict):
        return f"is not a JSON object {hint}"
    if options.text_column not in record:
        have = ", ".join(sorted(record)) or "none"
        return f"has no key {options.text_column!r}; it has: {have} (choose with --text-column)"
    return f"has no text in {options.text_column!r} {hint}"


def _read_text(piece: Piece, options: ReadOptions, rows: _Rows) -> Iterator[None]:
    try:
        with _open_stream(piece) as file:
            data = file.read()
        if piece.from_folder and b"\0" in data[:8192]:
            raise UnicodeDecodeError("utf-8", b"", 0, 0, "binary")
        rows.add(data.decode(), piece.name)
    except UnicodeDecodeError as error:
        if not piece.from_folder and not options.skip_bad_records:
            raise SourceError(f"{piece.path}: not UTF-8 text (convert it, or leave it out)") from error
        rows.not_text += piece.from_folder
        rows.skipped += not piece.from_folder
    except PermissionError as error:
        raise SourceError(f"{piece.path}: no permission to read it; grant access or leave it out") from error
    except OSError as error:
        raise SourceError(f"{piece.path}: cannot be read to its end; is it damaged?") from error
    yield
