"""Finds the documents of Parquet files, JSON lines, text files and folders. Knows nothing of how they are indexed.

A source is cut into pieces (a file, or a part of a long one), which tasks read side by side.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from index.errors import SourceError
from index.files import files_below, refuse_special
from index.line_files import line_pieces, read_jsonl, read_text
from index.parquet_files import parquet_pieces, read_parquet
from index.pieces import Batch, Piece, ReadOptions, Rows

PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")


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
        return parquet_pieces(path, name, options)
    if kind == "jsonl":
        return line_pieces(path, name)
    return [Piece(str(path), name, kind, path.stat().st_size, from_folder=from_folder)]


def read_documents(pieces: Sequence[Piece], options: ReadOptions) -> Iterator[Batch]:
    """Read the records of some pieces in order, in batches of some 16 MB.

    Raises:
        SourceError: a record cannot be read and `skip_bad_records` is off, or a file cannot be read at all.
    """
    rows = Rows()
    for piece in pieces:
        if piece.kind == "parquet":
            yield rows.batch()
            rows = Rows()
            yield from read_parquet(piece, options)
            continue
        for _ in (
            read_jsonl(piece, options, rows) if piece.kind == "jsonl" else read_text(piece, options, rows)
        ):
            if rows.full():
                yield rows.batch()
                rows = Rows()
    yield rows.batch()
