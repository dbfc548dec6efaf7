"""Builds an index: plans tasks over the sources, writes segments, and joins them to an index.

A task reads some pieces and writes one segment or more. It is idempotent: what an unfinished one left is thrown away,
a finished one is not run again. Tasks may run anywhere that sees the folder; nothing here knows how they are spread.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from index.errors import SourceError
from index.layout import FORMAT, VERSION, layout_for
from index.lock import folder_lock
from index.manifest import Manifest, read_manifest, write_manifest
from index.segment import read_json, write_json, write_segment
from index.sources import Piece, ReadOptions, list_pieces, read_documents

GIB = 1 << 30
LARGEST_SEGMENT = 2 * GIB
SMALLEST_SEGMENT = 16 << 20


@dataclass(frozen=True)
class BuildOptions:
    """How an index is built.

    Attributes:
        min_bytes: the shortest match that is promised to be found.
        text_column: the column or key that holds the text.
        id_column: the column or key that holds the id.
        skip_bad_records: count records that cannot be read, and mark the index, instead of refusing the source.
        memory: bytes that all workers together may use; None for half of what is free.
        workers: how many tasks run at once.
        segment_bytes: text of one segment; None derives it from `memory` and `workers`.
    """

    min_bytes: int = 50
    text_column: str = "text"
    id_column: str = "id"
    skip_bad_records: bool = False
    memory: int | None = None
    workers: int = 1
    segment_bytes: int | None = None

    @property
    def reading(self) -> ReadOptions:
        """The part that concerns the sources."""
        return ReadOptions(self.text_column, self.id_column, self.skip_bad_records)


@dataclass(frozen=True)
class BuildTask:
    """One task: which pieces it reads and what its segments are called."""

    directory: str
    name: str
    pieces: tuple[Piece, ...]
    options: BuildOptions
    segment_bytes: int


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


Mapper = Callable[[Callable[[BuildTask], TaskResult], Sequence[BuildTask]], Iterable[TaskResult]]


def build_index(
    sources: Sequence[str | Path],
    directory: str | Path,
    options: BuildOptions | None = None,
    *,
    map: Mapper = map,
    progress: Callable[[TaskResult, int], None] | None = None,
) -> Path:
    """Build an index in a new folder, or go on with one whose build was killed.

    Args:
        sources: files and folders.
        directory: the index to make.
        options: how to read and build.
        map: runs the tasks, in any order; the built-in one runs them here.
        progress: called with each task's result and the number of all tasks.

    Returns:
        The folder.

    Raises:
        SourceError: a source cannot be read, holds no document, or the folder is taken.
    """
    directory, options = Path(directory), options or BuildOptions()
    layout_for(options.min_bytes)
    pieces = list_pieces(sources, options.reading)
    made = not directory.exists()
    _check_free(directory)
    with folder_lock(directory):
        try:
            if not (directory / "key").exists():
                _write_key(directory / "key")
            _extend(directory, Manifest.empty(options.min_bytes), sources, pieces, options, map, progress)
        except SourceError:
            # Nothing half-written stays behind; only a kill leaves finished tasks to go on from.
            for part in ("segments", "plan.json", "key"):
                _remove(directory / part)
            raise
        finally:
            if made and not any((directory / part).exists() for part in ("index.json", "plan.json", "segments")):
                shutil.rmtree(directory, ignore_errors=True)
    return directory


def add_to_index(
    sources: Sequence[str | Path],
    directory: str | Path,
    options: BuildOptions,
    *,
    map: Mapper = map,
    progress: Callable[[TaskResult, int], None] | None = None,
) -> Path:
    """Append sources to an index without touching what is there; `options.min_bytes` must be the index's own.

    Raises:
        SourceError: a source cannot be read or holds no document, or the folder is no index.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    pieces = list_pieces(sources, options.reading)
    with folder_lock(directory):
        try:
            _extend(directory, manifest, sources, pieces, options, map, progress)
        except SourceError:
            _drop_unlisted(directory, manifest)
            _remove(directory / "plan.json")
            raise
    return directory


def _extend(
    directory: Path,
    manifest: Manifest,
    sources: Sequence[str | Path],
    pieces: Sequence[Piece],
    options: BuildOptions,
    map: Mapper,
    progress: Callable[[TaskResult, int], None] | None,
) -> None:
    tasks = _resume_or_plan(directory, manifest, pieces, options)
    results = []
    for result in map(run_task, tasks):
        results.append(result)
        if progress:
            progress(result, len(tasks))
    results.sort(key=lambda result: result.name)
    if not any(result.documents for result in results):
        raise SourceError(f"{', '.join(map_names(sources))}: no document with text; is this the corpus you mean?")
    write_manifest(directory, manifest.extended([str(Path(s)) for s in sources], results))
    _remove(directory / "plan.json")
    for task in tasks:
        _marker(task).unlink()


def map_names(sources: Sequence[str | Path]) -> list[str]:
    """The sources as they were given."""
    return [str(source) for source in sources]


def _resume_or_plan(
    directory: Path, manifest: Manifest, pieces: Sequence[Piece], options: BuildOptions
) -> list[BuildTask]:
    """Take up the plan of a killed build of the same sources, else make a new one and clear what was left."""
    wanted = {
        "format": FORMAT,
        "version": VERSION,
        "pieces": [_as_stored(piece) for piece in pieces],
        "options": asdict(replace(options, memory=None, workers=1)),
        "segments_before": list(manifest.segments),
    }
    path = directory / "plan.json"
    if path.exists():
        plan = read_json(path)
        if {name: plan.get(name) for name in wanted} == wanted:
            return _tasks(directory, manifest, pieces, options, plan["segment_bytes"], plan["task_bytes"])
    _drop_unlisted(directory, manifest)
    segment_bytes = options.segment_bytes or _segment_bytes(options)
    total = sum(piece.size for piece in pieces)
    task_bytes = min(segment_bytes, max(total // max(options.workers, 1) + 1, SMALLEST_SEGMENT))
    write_json(path, {**wanted, "segment_bytes": segment_bytes, "task_bytes": task_bytes})
    return _tasks(directory, manifest, pieces, options, segment_bytes, task_bytes)


def _as_stored(piece: Piece) -> dict[str, Any]:
    stat = os.stat(piece.path)
    return {**asdict(piece), "row_groups": list(piece.row_groups), "modified": stat.st_mtime_ns}


def _tasks(
    directory: Path,
    manifest: Manifest,
    pieces: Sequence[Piece],
    options: BuildOptions,
    segment_bytes: int,
    task_bytes: int,
) -> list[BuildTask]:
    groups: list[list[Piece]] = []
    size = task_bytes
    for piece in pieces:
        if size + piece.size > task_bytes and (not groups or groups[-1]):
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += piece.size
    prefix = f"{manifest.builds:04d}"
    return [
        BuildTask(str(directory), f"{prefix}-{number:05d}", tuple(group), options, segment_bytes)
        for number, group in enumerate(groups)
    ]


def _segment_bytes(options: BuildOptions) -> int:
    """The text that one task may hold: a build takes at most 1 GiB and 4 bytes for each byte of it."""
    import psutil

    memory = options.memory if options.memory is not None else psutil.virtual_memory().available // 2
    return max(SMALLEST_SEGMENT, min(LARGEST_SEGMENT, (memory // max(options.workers, 1) - GIB) // 4))


def run_task(task: BuildTask) -> TaskResult:
    """Build the segments of one task, unless they are complete already."""
    marker = _marker(task)
    if marker.exists():
        stored = read_json(marker)
        return TaskResult(**{**stored["result"], "segments": tuple(stored["result"]["segments"])})
    segments = Path(task.directory) / "segments"
    for leftover in segments.glob(f"{task.name}-*"):
        _remove(leftover)
    result = _build_segments(task, segments)
    write_json(marker, {"format": FORMAT, "version": VERSION, "result": asdict(result)})
    return result


def _build_segments(task: BuildTask, segments: Path) -> TaskResult:
    from index.store import TextStore

    names: list[str] = []
    documents = text_bytes = skipped = not_text = 0
    store = TextStore()
    for batch in read_documents(task.pieces, task.options.reading):
        skipped += batch.skipped
        not_text += batch.not_text
        if len(batch.texts):
            store.add(batch.texts, batch.ids)
        if store.used >= task.segment_bytes:
            names.append(f"{task.name}-{len(names):04d}")
            documents, text_bytes = documents + store.records, text_bytes + _finish(store, segments / names[-1], task)
            store = TextStore()
    if store.records:
        names.append(f"{task.name}-{len(names):04d}")
        documents, text_bytes = documents + store.records, text_bytes + _finish(store, segments / names[-1], task)
    return TaskResult(task.name, tuple(names), documents, text_bytes, skipped, not_text)


def _finish(store: Any, directory: Path, task: BuildTask) -> int:
    """Index the documents of a store and write them as a segment; the bytes of all its records are returned."""
    from index.tables import build_tables

    layout = layout_for(task.options.min_bytes)
    text, starts = store.text(), store.starts()
    ids, copies = store.ids()
    text_bytes = int(((np.diff(starts) - 1) * np.diff(copies)).sum())
    tables, described = build_tables(text, starts, layout)
    from index.store import buffers_of

    id_data, id_bounds = buffers_of(ids)
    arrays = {
        **tables, "text": text, "starts": starts, "hashes": store.hashes(), "copies": copies,
        "ids": id_data[id_bounds[0] : id_bounds[-1]], "id_bounds": id_bounds - id_bounds[0],
    }  # fmt: skip
    described |= {"documents": store.records, "distinct_documents": store.count, "text_bytes": text_bytes}
    described |= {"fingerprint": [int(x) for x in store.fingerprint], **asdict(layout)}
    write_segment(directory, arrays, described)
    return text_bytes


def _marker(task: BuildTask) -> Path:
    return Path(task.directory) / "segments" / f"{task.name}.done.json"


def _check_free(directory: Path) -> None:
    if (directory / "index.json").exists():
        raise SourceError(f"{directory}: already holds an index (append with `index add`, or choose another folder)")
    ours = {"plan.json", "segments", "key", ".lock"}
    if directory.exists() and (not directory.is_dir() or {path.name for path in directory.iterdir()} - ours):
        raise SourceError(f"{directory}: exists and is no index; choose another folder")


def _write_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(secrets.token_bytes(16))


def _drop_unlisted(directory: Path, manifest: Manifest) -> None:
    segments = directory / "segments"
    for path in segments.glob("*") if segments.exists() else ():
        if path.name not in manifest.segments:
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
