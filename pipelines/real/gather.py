"""Gathers text that lies on any development machine: licences, documentation, headers and sources.

Whole files of valid UTF-8 without zero bytes, each once however many paths lead to it, named by a path
relative to its root. Nothing leaves the machine. Knows nothing of models.
"""

import hashlib
import os
import sysconfig
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string())])
SNIFFED_BYTES = 4096
LARGEST_FILE = 16_000_000
GROUP_BYTES = 16_000_000
SET_ASIDE = 200  # one document in so many becomes prompt text and stays out of the corpus


@dataclass(frozen=True)
class Gathered:
    """What was gathered.

    Attributes:
        documents: documents of the corpus.
        text_bytes: their bytes of UTF-8.
        public_documents: documents set aside for prompts.
        skipped: files left out, by reason.
    """

    documents: int
    text_bytes: int
    public_documents: int
    skipped: dict[str, int]


def machine_roots() -> dict[str, Path]:
    """The folders to look in, by the name that ids begin with."""
    paths = sysconfig.get_paths()
    roots = {
        "python": Path(paths["stdlib"]),
        "packages": Path(paths["purelib"]),
        "include": Path("/usr/include"),
        "share": Path("/usr/share"),
        "lib": Path("/usr/lib"),
    }
    return {name: root for name, root in roots.items() if root.is_dir()}


def gather(roots: Mapping[str, Path], corpus: Path, public: Path, most_bytes: int) -> Gathered:
    """Write the text below some folders as two Parquet files with `id` and `text`.

    Args:
        roots: folders by name, taken in their order.
        corpus: gets the corpus.
        public: gets one document in 200, for prompts; none of them is in the corpus.
        most_bytes: gathering ends once the corpus has so many bytes.
    """
    skipped: Counter[str] = Counter()
    with _Writer(corpus) as kept, _Writer(public) as aside:
        for name, data in _texts(roots, skipped):
            # By hash, so that the choice does not depend on what else lies on the machine.
            chosen = int.from_bytes(hashlib.sha256(data).digest()[:8]) % SET_ASIDE == 0
            (aside if chosen else kept).add(name, data)
            if kept.written >= most_bytes:
                break
    return Gathered(kept.documents, kept.written, aside.documents, dict(skipped))


def _texts(roots: Mapping[str, Path], skipped: Counter[str]) -> Iterator[tuple[str, bytes]]:
    """Every text file once, with its id."""
    seen: set[tuple[int, int]] = set()
    for name, root in roots.items():
        for path in _files(root):
            data, reason = _read_text(path, seen)
            if data is None:
                skipped[reason] += 1
            else:
                yield f"{name}/{path.relative_to(root)}".encode(errors="replace").decode(), data


def _files(root: Path) -> Iterator[Path]:
    """Regular files below a folder, in the order of their names; links are not followed."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        yield from (Path(folder, file) for file in sorted(files))


def _read_text(path: Path, seen: set[tuple[int, int]]) -> tuple[bytes | None, str]:
    """Read one file, or say why not."""
    try:
        status = path.lstat()
        if path.is_symlink() or not path.is_file() or (status.st_dev, status.st_ino) in seen:
            return None, "link or seen before"
        seen.add((status.st_dev, status.st_ino))
        if not 0 < status.st_size <= LARGEST_FILE:
            return None, "empty or larger than 16 MB"
        with path.open("rb") as file:
            data = file.read(SNIFFED_BYTES)
            if b"\0" not in data:
                data += file.read()
    except OSError:
        return None, "unreadable"
    return (data, "") if _is_text(data) else (None, "not UTF-8 text")


def _is_text(data: bytes) -> bool:
    try:
        return b"\0" not in data and bool(data.decode())
    except UnicodeDecodeError:
        return False


class _Writer:
    """Writes documents to Parquet, a row group at a time, under a temporary name until all are there."""

    def __init__(self, path: Path) -> None:
        self.documents = self.written = 0
        self._path, self._unfinished = path, path.with_name(f".{path.name}.unfinished")
        self._ids: list[str] = []
        self._texts: list[bytes] = []

    def __enter__(self) -> "_Writer":
        self._file = pq.ParquetWriter(self._unfinished, SCHEMA, compression="zstd")
        return self

    def add(self, name: str, data: bytes) -> None:
        """Add a document."""
        self._ids.append(name)
        self._texts.append(data)
        self.documents += 1
        self.written += len(data)
        if self.written // GROUP_BYTES != (self.written - len(data)) // GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        texts = pa.array(self._texts, pa.binary()).cast(pa.string())
        self._file.write_table(pa.table([pa.array(self._ids), texts], schema=SCHEMA))
        self._ids, self._texts = [], []

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self._flush()
        self._file.close()
        if kind is None:
            self._unfinished.replace(self._path)
        else:
            self._unfinished.unlink()
