"""What a source is cut into, and what is read from it. Knows no file format."""

from dataclasses import dataclass, field
from typing import Any

BATCH_BYTES = 16 << 20
BATCH_ROWS = 65536


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
        span: for a long JSON lines file, where the piece's lines begin and end, in bytes.
        row_groups: for Parquet, the row groups to read.
        rows_before: rows or lines of the file before the piece.
        from_folder: a text file found in a folder: skipped where it is no text.
    """

    path: str
    name: str
    kind: str
    size: int
    span: tuple[int, int] | None = None
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
class Rows:
    """Records gathered one by one until they make a batch: fields as in `Batch`, and the characters so far."""

    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    size: int = 0
    skipped: int = 0
    not_text: int = 0

    def add(self, text: str, name: str) -> None:
        """Add one."""
        self.texts.append(text)
        self.ids.append(name)
        self.size += len(text)

    def full(self) -> bool:
        """Say whether they are enough for a batch."""
        return self.size >= BATCH_BYTES or len(self.texts) >= BATCH_ROWS

    def batch(self) -> Batch:
        """Make a batch of them."""
        import pyarrow as pa

        strings = pa.large_string()
        return Batch(pa.array(self.texts, strings), pa.array(self.ids, strings), self.skipped, self.not_text)
