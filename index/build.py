"""Builds an index: plans tasks over the sources, has them run, and joins their segments to an index.

Nothing here knows how the tasks are spread: a `map` function is handed in.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from index.errors import SourceError
from index.layout import FORMAT, VERSION, layout_for
from index.lock import folder_lock
from index.manifest import Manifest, read_manifest, write_manifest
from index.memory import free_memory
from index.pieces import Piece, ReadOptions
from index.private import owner_only
from index.segment import read_json, write_json
from index.sources import list_pieces
from index.tasks import BuildTask, TaskResult, run_task

GIB = 1 << 30
LARGEST_SEGMENT = 2 * GIB
SMALLEST_SEGMENT = 16 << 20
THREADS = 2  # of one task: fewer tasks at once make fewer, longer segments, which are faster to search

Mapper = Callable[[Callable[[BuildTask], TaskResult], Sequence[BuildTask]], Iterable[TaskResult]]
Progress = Callable[[TaskResult, int], None]


@dataclass(frozen=True)
class BuildOptions:
    """How an index is built.

    Attributes:
        min_bytes: the shortest match that is promised to be found.
        text_column: the column or key that holds the text.
        id_column: the column or key that holds the id.
        skip_bad_records: count records that cannot be read, and mark the index, instead of refusing.
        memory: bytes that all tasks together may use; None for half of what is free.
        workers: cores to use.
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

    @property
    def tasks_at_once(self) -> int:
        """How many tasks run at once."""
        return max(1, self.workers // THREADS)

    @property
    def threads(self) -> int:
        """How many cores each of them has."""
        return max(1, self.workers // self.tasks_at_once)


def build_index(
    sources: Sequence[str | Path],
    directory: str | Path,
    options: BuildOptions | None = None,
    *,
    map: Mapper = map,
    progress: Progress | None = None,
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
        SourceError: a source cannot be read, none holds a document, or the folder is taken.
    """
    directory, options = Path(directory), options or BuildOptions()
    layout_for(options.min_bytes)
    pieces = list_pieces(sources, options.reading)
    _check_free(directory)
    with folder_lock(directory):
        _check_free(directory)
        for unfinished in directory.glob("*.tmp"):
            unfinished.unlink()
        try:
            if not (directory / "key").exists():
                _write_key(directory / "key")
            _extend(directory, Manifest.empty(options.min_bytes), sources, pieces, options, map, progress)
        except SourceError:
            # Nothing half-written stays behind; only a kill leaves finished tasks to go on from.
            shutil.rmtree(directory)
            raise
    return directory


def add_to_index(
    sources: Sequence[str | Path],
    directory: str | Path,
    options: BuildOptions,
    *,
    map: Mapper = map,
    progress: Progress | None = None,
) -> Path:
    """Append sources to an index without touching what is there; it keeps its own `min_bytes`.

    Raises:
        SourceError: a source cannot be read, none holds a document, or the folder is no index.
    """
    directory = Path(directory)
    read_manifest(directory)
    pieces = list_pieces(sources, options.reading)
    with folder_lock(directory):
        manifest = read_manifest(directory)
        try:
            _extend(directory, manifest, sources, pieces, options, map, progress)
        except SourceError:
            _drop_unlisted(directory, manifest)
            (directory / "plan.json").unlink(missing_ok=True)
            raise
    return directory


def _extend(
    directory: Path,
    manifest: Manifest,
    sources: Sequence[str | Path],
    pieces: Sequence[Piece],
    options: BuildOptions,
    map: Mapper,
    progress: Progress | None,
) -> None:
    tasks = _resume_or_plan(directory, manifest, pieces, options)
    results = []
    for result in map(run_task, tasks):
        results.append(result)
        if progress:
            progress(result, len(tasks))
    results.sort(key=lambda result: result.name)
    if not any(result.documents for result in results):
        given = ", ".join(str(source) for source in sources)
        raise SourceError(f"{given}: no document with text in it; is this the corpus that you mean?")
    extended = manifest.extended([str(source) for source in sources], results)
    write_manifest(directory, extended)
    (directory / "plan.json").unlink()
    _drop_unlisted(directory, extended)


def _resume_or_plan(
    directory: Path, manifest: Manifest, pieces: Sequence[Piece], options: BuildOptions
) -> list[BuildTask]:
    """Take up the plan of a killed build of the same sources, else make a new one and clear what was left."""
    wanted = {
        "format": FORMAT,
        "version": VERSION,
        "pieces": [_as_stored(piece) for piece in pieces],
        "min_bytes": manifest.min_bytes,
        "reading": asdict(options.reading),
        "segments_before": list(manifest.segments),
    }
    path = directory / "plan.json"
    if path.exists():
        plan = read_json(path)
        if {name: plan.get(name) for name in wanted} == wanted:
            return _tasks(directory, manifest, pieces, options, plan["sizes"])
    _drop_unlisted(directory, manifest)
    sizes = _sizes(options, sum(piece.size for piece in pieces))
    write_json(path, {**wanted, "sizes": sizes})
    return _tasks(directory, manifest, pieces, options, sizes)


def _as_stored(piece: Piece) -> dict[str, Any]:
    modified = os.stat(piece.path).st_mtime_ns
    lists = {"row_groups": list(piece.row_groups), "span": piece.span and list(piece.span)}
    return {**asdict(piece), **lists, "modified": modified}


def _sizes(options: BuildOptions, total: int) -> list[int]:
    """Text of one segment and of one task: a build takes at most 1 GiB and 4 bytes for each byte of it."""
    at_once = options.tasks_at_once
    memory = options.memory if options.memory is not None else free_memory() // 2
    segment = options.segment_bytes
    if segment is None:
        segment = max(SMALLEST_SEGMENT, min(LARGEST_SEGMENT, (memory // at_once - GIB) // 4))
    return [segment, min(segment, max(total // at_once + 1, SMALLEST_SEGMENT))]


def _tasks(
    directory: Path,
    manifest: Manifest,
    pieces: Sequence[Piece],
    options: BuildOptions,
    sizes: Sequence[int],
) -> list[BuildTask]:
    segment_bytes, task_bytes = sizes
    groups: list[list[Piece]] = []
    size = 0
    for piece in pieces:
        # Half a piece over is nearer to an even share than half a piece under.
        if not groups or size + piece.size // 2 > task_bytes:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += piece.size
    return [
        BuildTask(
            directory=str(directory),
            name=f"{manifest.builds:04d}-{number:05d}",
            pieces=tuple(group),
            reading=options.reading,
            min_bytes=manifest.min_bytes,
            segment_bytes=segment_bytes,
            threads=options.threads,
        )
        for number, group in enumerate(groups)
    ]


def _check_free(directory: Path) -> None:
    if (directory / "index.json").exists():
        raise SourceError(
            f"{directory}: already holds an index; append to it with `index add`, remove it, or choose another folder"
        )
    # What a killed build leaves, files that it was about to put in place included.
    ours = {"plan.json", "plan.json.tmp", "index.json.tmp", "segments", "key", ".lock"}
    if directory.exists() and (not directory.is_dir() or {path.name for path in directory.iterdir()} - ours):
        raise SourceError(f"{directory}: exists and is no index; choose another folder")


def _write_key(path: Path) -> None:
    with open(path, "wb", opener=owner_only) as file:
        file.write(secrets.token_bytes(16))


def _drop_unlisted(directory: Path, manifest: Manifest) -> None:
    for path in (directory / "segments").glob("*"):
        if path.is_dir() and path.name not in manifest.segments:
            shutil.rmtree(path)
        elif not path.is_dir():
            path.unlink()
