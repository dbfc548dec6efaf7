"""Reads documents from JSON lines, one a line, and from text files, one a file; both plain, gzip or zstandard."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from index.errors import SourceError
from index.pieces import Piece, ReadOptions, Rows

COMPRESSED = (".gz", ".zst")
LINES_BYTES = 64 << 20


def _open_stream(piece: Piece) -> IO[bytes]:
    """Open a plain, gzip or zstandard file; Arrow's streams say when one is cut short, others keep silent."""
    import pyarrow as pa

    name = piece.path.lower()
    compression = "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else None
    return io.BufferedReader(pa.input_stream(piece.path, compression=compression))


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Say what to do about a file that cannot be read."""
    try:
        yield
    except PermissionError as error:
        raise SourceError(f"{path}: no permission to read it; grant access or leave it out") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read to its end; is it damaged?") from error


def line_pieces(path: Path, name: str) -> list[Piece]:
    """Cut a long plain JSON lines file between lines, so that tasks read it side by side; count the lines before.

    Raises:
        SourceError: the file cannot be read.
    """
    size = path.stat().st_size
    if size <= LINES_BYTES or path.name.lower().endswith(COMPRESSED):
        return [Piece(str(path), name, "jsonl", size)]
    with _reading(path):
        return list(_cut(path, name))


def _cut(path: Path, name: str) -> Iterator[Piece]:
    start = before = 0
    with open(path, "rb") as file:
        while block := file.read(LINES_BYTES):
            block += file.readline()
            end = start + len(block)
            yield Piece(str(path), name, "jsonl", end - start, span=(start, end), rows_before=before)
            start, before = end, before + block.count(b"\n")


def read_jsonl(piece: Piece, options: ReadOptions, rows: Rows) -> Iterator[None]:
    """Read the lines of a piece; stops after each so that full batches can be taken.

    Raises:
        SourceError: a line holds no record and `skip_bad_records` is off, or the file cannot be read to its end.
    """
    with _reading(piece.path):
        for number, line in enumerate(_lines(piece), piece.rows_before + 1):
            if line.strip():
                _add_line(line, number, piece, options, rows)
                yield


def _lines(piece: Piece) -> Iterator[bytes]:
    with _open_stream(piece) as file:
        if piece.span is None:
            yield from file
            return
        at, end = piece.span
        file.seek(at)
        while at < end:
            line = file.readline()
            if not line:
                raise OSError("shorter than when it was listed")
            at += len(line)
            yield line


def _add_line(line: bytes, number: int, piece: Piece, options: ReadOptions, rows: Rows) -> None:
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
    except UnicodeDecodeError:
        return f"is not UTF-8 {hint}"
    except (ValueError, RecursionError):
        return f"is not JSON {hint}"
    if not isinstance(record, dict):
        return f"is not a JSON object {hint}"
    if options.text_column not in record:
        have = ", ".join(sorted(record)) or "none"
        return f"has no key {options.text_column!r}; it has: {have} (choose with --text-column)"
    if isinstance(record[options.text_column], str):
        return f"has half a surrogate pair in {options.text_column!r}, which is no character {hint}"
    return f"has no text in {options.text_column!r} {hint}"


def read_text(piece: Piece, options: ReadOptions, rows: Rows) -> Iterator[None]:
    """Read a file as one document, or leave it out where a folder holds it and it is no text.

    Raises:
        SourceError: it is no UTF-8 text, or cannot be read to its end.
    """
    with _reading(piece.path), _open_stream(piece) as file:
        data = file.read()
    try:
        if piece.from_folder and b"\0" in data[:8192]:
            raise UnicodeDecodeError("utf-8", b"", 0, 0, "binary")
        rows.add(data.decode("utf-8-sig"), piece.name)
    except UnicodeDecodeError as error:
        if not piece.from_folder and not options.skip_bad_records:
            raise SourceError(f"{piece.path}: not UTF-8 text (convert it, or leave it out)") from error
        rows.not_text += piece.from_folder
        rows.skipped += not piece.from_folder
    yield
