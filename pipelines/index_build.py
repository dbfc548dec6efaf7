"""Builds an index and shows progress: by threads of this process for small inputs, by Ray tasks for large ones."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from index import BuildOptions, SourceError, add_to_index, build_index
from index.tasks import BuildTask, TaskResult, written_so_far
from pipelines.pool import cluster
from pipelines.progress import LineProgress, progress

SMALL_BYTES = 512 << 20  # starting Ray takes longer than it saves on less
POLL_SECONDS = 0.5
TRIES_AFTER_A_CRASH = 3


def build(
    sources: Sequence[str | Path],
    directory: Path,
    options: BuildOptions,
    *,
    add: bool = False,
    ray_address: str | None = None,
) -> Path:
    """Build an index, or append to one; run again after a kill, it goes on where it stopped.

    Args:
        sources: files and folders.
        directory: the index.
        options: how to read and build, and on how many cores.
        add: append to an index that is there.
        ray_address: the cluster to run on; None runs on this machine.

    Returns:
        The folder.

    Raises:
        SourceError: a source cannot be read, or the folder cannot be used.
    """

    def spread(
        function: Callable[[BuildTask], TaskResult], tasks: Sequence[BuildTask]
    ) -> Iterator[TaskResult]:
        size = sum(piece.size for task in tasks for piece in task.pieces)
        alone = len(tasks) == 1 or options.tasks_at_once == 1 or size < SMALL_BYTES
        with _shown(directory, size):
            if alone and ray_address is None:
                yield from _by_threads(function, tasks, options.tasks_at_once)
            else:
                with cluster(ray_address):
                    yield from _by_ray(function, tasks, options.tasks_at_once)

    make = add_to_index if add else build_index
    try:
        return make(sources, directory, options, map=spread)
    except OSError as error:
        error.filename = error.filename or str(directory)  # writing to an open file does not say to which
        raise


def with_workers(options: BuildOptions, workers: int | None) -> BuildOptions:
    """Settle how many cores are used; None takes every core of this machine."""
    return replace(options, workers=workers or len(os.sched_getaffinity(0)))


def _by_threads(
    function: Callable[[BuildTask], TaskResult], tasks: Sequence[BuildTask], at_once: int
) -> Iterator[TaskResult]:
    """Run the tasks here: their kernels do not hold the interpreter's lock."""
    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(function, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


def _by_ray(
    function: Callable[[BuildTask], TaskResult], tasks: Sequence[BuildTask], at_once: int
) -> Iterator[TaskResult]:
    """Run the tasks on Ray, at most `at_once` at once: each holds a segment in memory."""
    import ray

    widest = max(node["Resources"].get("CPU", 1) for node in ray.nodes() if node["Alive"])
    cores = min(tasks[0].threads, widest)  # more than any node has would be waited for without end
    remote = ray.remote(function).options(num_cpus=cores, max_retries=TRIES_AFTER_A_CRASH)
    waiting = list(reversed(tasks))
    running: dict[Any, None] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running[remote.remote(_anywhere(waiting.pop()))] = None
            (first, *_), _ = ray.wait(list(running), num_returns=1)
            del running[first]
            yield ray.get(first)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SourceError):
            raise error.cause from None
        raise
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _anywhere(task: BuildTask) -> BuildTask:
    """The same task by absolute paths: a worker on another node has a working directory of its own."""
    pieces = tuple(replace(piece, path=os.path.abspath(piece.path)) for piece in task.pieces)
    return replace(task, directory=os.path.abspath(task.directory), pieces=pieces)


@contextmanager
def _shown(directory: Path, size: int) -> Iterator[None]:
    """Show what the tasks have written so far, wherever they run: they leave notes in the index folder."""
    stop = threading.Event()
    with progress("index", "MB", max(size >> 20, 1)) as shown:
        watcher = threading.Thread(target=_watch, args=(directory, shown, stop), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()


def _watch(directory: Path, shown: LineProgress, stop: threading.Event) -> None:
    while True:
        last = stop.wait(POLL_SECONDS)
        documents, size = written_so_far(directory)
        shown.advance((size >> 20) - shown.done, f"{documents:,} documents")
        if last:
            return
