"""Builds the segments of one task. Knows nothing of the index that they will belong to.

A task is idempotent: what an unfinished one left is thrown away, a finished one is not run again. It may run
anywhere that sees the folder.
"""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from index.layout import FORMAT, VERSION, layout_for
from index.pieces import BATCH_BYTES, Piece, ReadOptions
from index.private import FOLDER
from index.segment import SegmentWriter, read_json, write_json
from index.sources import read_documents
from index.threads import read_ahead


@dataclass(frozen=True)
class BuildTask:
    """One task.

    Attributes:
        directory: the index folder.
        name: what its segments' names begin with.
        pieces: what it reads.
        reading: how records are read.
        min_bytes: the shortest match that is promised to be found.
        segment_bytes: text after which a segment is closed.
        threads: how many share the work.
    """

    directory: str
    name: str
    pieces: tuple[Piece, ...]
    reading: ReadOptions
    min_bytes: int
    segment_bytes: int
    threads: int

    @property
    def marker(self) -> Path:
        """The file that says that the task is complete, and with what result."""
        return Path(self.directory) / "segments" / f"{self.name}.done.json"

    @property
    def note(self) -> Path:
        """The file that says how far the task is: documents and bytes of text."""
        return Path(self.directory) / "segments" / f"{self.name}.note"


@dataclass(frozen=True)
class TaskResult:
    """What a finished task made.

    Attributes:
        name: the task's name.
        segments: names of its segments.
        documents: records read, copies counted.
        text_bytes: bytes of them.
        skipped_records: bad records left out.
        not_text_files: files of folders left out because they are no UTF-8 text.
    """

    name: str
    segments: tuple[str, ...]
    documents: int
    text_bytes: int
    skipped_records: int
    not_text_files: int


def run_task(task: BuildTask) -> TaskResult:
    """Build the segments of a task, unless they are complete already.

    Raises:
        SourceError: a source cannot be read.
    """
    if task.marker.exists():
        stored = read_json(task.marker)["result"]
        return TaskResult(**{**stored, "segments": tuple(stored["segments"])})
    task.marker.parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    for leftover in task.marker.parent.glob(f"{task.name}-*"):
        shutil.rmtree(leftover)
    result = _build_segments(task)
    write_json(task.marker, {"format": FORMAT, "version": VERSION, "result": asdict(result)})
    return result


def written_so_far(directory: Path) -> tuple[int, int]:
    """Sum what all tasks of an unfinished build say of themselves: documents, bytes of text."""
    documents = size = 0
    for note in (directory / "segments").glob("*.note"):
        numbers = note.read_text(encoding="ascii").split() if note.exists() else []
        if len(numbers) == 2:
            documents, size = documents + int(numbers[0]), size + int(numbers[1])
    return documents, size


def _build_segments(task: BuildTask) -> TaskResult:
    from index.store import TextStore

    stores: list[tuple[str, int, int]] = []
    skipped = not_text = 0
    read = (0, 0)
    expected = min(task.segment_bytes, sum(piece.size for piece in task.pieces)) + BATCH_BYTES
    store = TextStore(expected)
    for batch in read_ahead(read_documents(task.pieces, task.reading)):
        skipped += batch.skipped
        not_text += batch.not_text
        if len(batch.texts):
            store.add(batch.texts, batch.ids)
            read = (read[0] + len(batch.texts), read[1] + int(batch.texts.nbytes))
            task.note.write_text(f"{read[0]} {read[1]}", encoding="ascii")
        if store.used >= task.segment_bytes:
            stores.append(_finish(store, task, len(stores)))
            store = TextStore(expected)
    if store.records:
        stores.append(_finish(store, task, len(stores)))
    names, records, sizes = zip(*stores, strict=True) if stores else ((), (), ())
    return TaskResult(task.name, names, sum(records), sum(sizes), skipped, not_text)


def _finish(store: Any, task: BuildTask, number: int) -> tuple[str, int, int]:
    """Index the documents of a store and write a segment; return its name, records and bytes of records."""
    from index.tables import build_tables

    name = f"{task.name}-{number:04d}"
    layout = layout_for(task.min_bytes)
    text, starts = store.text(), store.starts()
    with SegmentWriter(task.marker.parent / name, task.threads) as writer:
        writer.put({"text": text, "starts": starts, "hashes": store.hashes()})
        tables, described = build_tables(text, starts, layout, task.threads)
        writer.put(tables)
        ids, size = _records(store)
        writer.put(ids)
        described |= {"documents": store.records, "distinct_documents": store.count, "text_bytes": size}
        described |= {"fingerprint": [int(lane) for lane in store.fingerprint], **asdict(layout)}
        writer.finish(described)
    return name, store.records, size


def _records(store: Any) -> tuple[dict[str, Any], int]:
    """The ids of a store's records, as a segment keeps them, and the bytes of all records."""
    from index.store import buffers_of

    ids, copies = store.ids()
    id_data, id_bounds = buffers_of(ids)
    arrays = {
        "copies": copies,
        "ids": id_data[id_bounds[0] : id_bounds[-1]],
        "id_bounds": id_bounds - id_bounds[0],
    }
    return arrays, int(((np.diff(store.starts()) - 1) * np.diff(copies)).sum())
