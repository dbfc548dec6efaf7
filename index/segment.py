"""One immutable segment on disk: how its files are written, opened and checked.

A segment is a folder. `segment.json` is written last and names every file with its size and checksum.
"""

import json
import mmap
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from index.errors import SourceError
from index.layout import FORMAT, VERSION, Layout
from index.private import FOLDER, owner_only

Array = npt.NDArray[Any]

FILES = {
    "text": "uint8",
    "starts": "int64",
    "blocks": "",
    "hashes": "uint64",
    "copies": "int64",
    "ids": "uint8",
    "id_bounds": "int64",
    "keys": "uint16",
    "groups": "",
    "edges": "int64",
    "nodes": "int64",
    "node_bounds": "int64",
    "node_postings": "",
    "postings": "",
    "buckets": "",
    "filter": "uint64",
    "run_words": "uint64",
    "run_periods": "int64",
    "run_firsts": "int64",
    "run_starts": "int64",
    "run_lengths": "int64",
    "run_phases": "int64",
    "run_documents": "int64",
    "run_reach": "int64",
}
CHUNK = 16 << 20


@dataclass(frozen=True)
class SegmentInfo:
    """What `segment.json` says.

    Attributes:
        layout: shortest match and seed length.
        documents: records, copies counted.
        distinct_documents: documents whose text is stored.
        text_bytes: bytes of all records, copies counted.
        fingerprint: two 64-bit sums over the records' (id, text).
        wide: positions are 64-bit rather than 32-bit.
        hash_bits: how many high bits of a hash the tables know.
        bucket_bits: length of the hash prefixes in `buckets`.
        filter_bits: length of the hash prefixes in `filter`.
        files: size and checksum (CRC-32) of each file.
    """

    layout: Layout
    documents: int
    distinct_documents: int
    text_bytes: int
    fingerprint: tuple[int, int]
    wide: bool
    hash_bits: int
    bucket_bits: int
    filter_bits: int
    files: dict[str, tuple[int, int]]


class SegmentWriter:
    """Writes the files of a segment side by side, while others are still made. Leave it, and all are written."""

    def __init__(self, directory: Path, threads: int) -> None:
        """Make the folder, which must be new."""
        directory.mkdir(mode=FOLDER, parents=True)
        self._directory = directory
        self._pool = ThreadPoolExecutor(threads)
        self._files: dict[str, Future[tuple[int, int]]] = {}

    def put(self, arrays: dict[str, Array]) -> None:
        """Write some of the arrays of `FILES`; they must not change any more."""
        for name, array in arrays.items():
            self._files[name] = self._pool.submit(_write_array, self._directory / f"{name}.bin", array)

    def finish(self, info: dict[str, Any]) -> None:
        """Write, last, what describes the segment.

        Args:
            info: the fields of `SegmentInfo` but `files`, with the layout as `min_bytes` and `words`.
        """
        files = {name: self._files[name].result() for name in FILES}
        described = {"format": FORMAT, "version": VERSION, **info, "files": files}
        write_json(self._directory / "segment.json", described)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file so that it is either whole or absent."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8", opener=owner_only) as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _write_array(path: Path, array: Array) -> tuple[int, int]:
    checksum = 0
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
    with open(path, "wb", opener=owner_only) as file:
        for start in range(0, len(data), CHUNK):
            chunk = data[start : start + CHUNK]
            checksum = zlib.crc32(chunk, checksum)
            file.write(chunk)
    return len(data), checksum


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of an index.

    Raises:
        SourceError: it is missing, damaged, or was not written by this version of this program.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path}: missing or damaged; {path.parent} is no whole index, build it again"
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SourceError(f"{path}: not written by this program; {path.parent} is no index")
    if content.get("version") != VERSION:
        raise SourceError(
            f"{path}: format version {content.get('version')}, this program reads {VERSION}; "
            "remove the index and build it again"
        )
    return content


class Segment:
    """An open segment. Its arrays are mapped into memory when they are first used.

    Attributes:
        scarce: memory cannot hold what look-ups read. They read here and there; the system would read ahead each time,
            and throw away for that what the next look-up needs.
    """

    scarce = False

    def __init__(self, directory: Path) -> None:
        """Open a segment and check the sizes of its files.

        Raises:
            SourceError: a file is missing or has another size than when it was written.
        """
        self.directory = directory
        self.info = _parse_info(directory / "segment.json")
        for name, (size, _) in self.info.files.items():
            path = directory / f"{name}.bin"
            found = path.stat().st_size if path.exists() else -1
            if found != size:
                state = "missing" if found < 0 else f"{found} bytes long, not {size}"
                raise SourceError(f"{path}: {state}; the index is truncated, build it again")

    def array(self, name: str, advice: int = mmap.MADV_NORMAL) -> Array:
        """Map one file; the array is read-only in effect (writes would stay in memory).

        Args:
            name: of the file, as in `FILES`.
            advice: how it will be read.
        """
        size, _ = self.info.files[name]
        kind = FILES[name] or ("int64" if self.info.wide else "uint32")
        if size == 0:
            return np.zeros(0, dtype=kind)
        with open(self.directory / f"{name}.bin", "rb") as file:
            # A private mapping: numba would compile other code for read-only arrays.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        mapped.madvise(advice)
        return np.frombuffer(mapped, dtype=kind)

    @cached_property
    def text(self) -> Array:
        """uint8, the documents between document marks, to be read from one end to the other."""
        return self.array("text")

    @cached_property
    def starts(self) -> Array:
        """int64[d + 1], document starts; a document ends one byte before the next one's start."""
        return self.array("starts")

    @cached_property
    def copies(self) -> Array:
        """int64[d + 1], the number of records before each document's."""
        return self.array("copies")

    @cached_property
    def hashes(self) -> Array:
        """uint64[d, 2], 128-bit hashes of the documents."""
        return self.array("hashes").reshape(-1, 2)

    @cached_property
    def tables(self) -> Any:
        """What the kernels read."""
        from index.groups import Tables
        from index.runs import LONGEST_WORD, RunTables

        advice = mmap.MADV_RANDOM if self.scarce else mmap.MADV_NORMAL
        names = ("text", "keys", "groups", "postings", "node_bounds", "node_postings", "buckets", "filter")
        runs = {name: self.array(f"run_{name}") for name in RunTables._fields}
        runs["reach"] = runs["reach"].reshape(-1, LONGEST_WORD)
        return Tables(
            **{name: self.array(name, advice) for name in names},
            starts=self.starts,
            blocks=self.array("blocks"),
            copies=self.copies,
            edges=self.array("edges").reshape(-1, 2),
            nodes=self.array("nodes").reshape(-1, 2),
            hash_mask=np.uint64((1 << 64) - (1 << (64 - self.info.hash_bits))),
            bucket_shift=np.uint64(64 - self.info.bucket_bits),
            filter_shift=np.uint64(64 - self.info.filter_bits),
            layout=self.info.layout.numbers,
            runs=RunTables(**runs),
            work=np.zeros(3, dtype=np.int64),
        )

    def document(self, number: int) -> bytes:
        """The text of a document."""
        return self.text[self.starts[number] : self.starts[number + 1] - 1].tobytes()

    def ids_of(self, number: int, limit: int | None = None) -> list[str]:
        """The ids of a document's records, at most `limit`."""
        first, last = int(self.copies[number]), int(self.copies[number + 1])
        last = last if limit is None else min(last, first + limit)
        bounds = self._id_bounds[first : last + 1]
        return [self._ids[a:b].tobytes().decode() for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    @cached_property
    def _ids(self) -> Array:
        return self.array("ids")

    @cached_property
    def _id_bounds(self) -> Array:
        return self.array("id_bounds")

    def damaged_files(self) -> Iterator[Path]:
        """Read every file and name those that differ from what was written."""
        for name, (_, checksum) in self.info.files.items():
            found = 0
            path = self.directory / f"{name}.bin"
            with open(path, "rb") as file:
                while chunk := file.read(CHUNK):
                    found = zlib.crc32(chunk, found)
            if found != checksum:
                yield path


def _parse_info(path: Path) -> SegmentInfo:
    content = read_json(path)
    try:
        return SegmentInfo(
            layout=Layout(content["min_bytes"], content["words"]),
            fingerprint=(content["fingerprint"][0], content["fingerprint"][1]),
            files={name: (content["files"][name][0], content["files"][name][1]) for name in FILES},
            **{
                name: content[name]
                for name in (
                    "documents",
                    "distinct_documents",
                    "text_bytes",
                    "wide",
                    "hash_bits",
                    "bucket_bits",
                    "filter_bits",
                )
            },
        )
    except (KeyError, TypeError, IndexError) as error:
        raise SourceError(f"{path}: a field is missing or damaged; build the index again") from error
