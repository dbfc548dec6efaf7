"""A pool of Ray actors that pull parts of a stage. An actor that fails is replaced, never asked again.

The driver hands out names and hears back small facts; texts never pass through Ray's object store.
"""

import errno
import os
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from extraction.errors import InputError
from index.errors import SourceError
from pipelines.interrupts import remembered_interrupt
from pipelines.progress import say
from pipelines.raised import place_of

ATTEMPTS = 3
PATIENCE_SECONDS = 60.0
# What no other worker does better: the disk is full, or may not be written.
DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
Facts = dict[str, Any]
RAISED = "raised at "


class Job(Protocol):
    """What a worker does: a small picklable record that opens its engine or index inside the worker."""

    def start(self) -> Callable[[str], Facts]:
        """Load what is needed once and return the function that processes one part by its name."""
        ...


@dataclass(frozen=True)
class Resources:
    """What one worker holds.

    Attributes:
        workers: how many workers run side by side.
        cpus: cores of each.
        gpus: accelerators of each.
    """

    workers: int
    cpus: float = 1
    gpus: float = 0


@contextmanager
def cluster(address: str | None, workers: Sequence[Resources] = ()) -> Iterator[None]:
    """Connect to Ray, or start it on this machine, unless that was done already; leave it as it was found.

    Args:
        address: a cluster's address; None starts Ray here, for as long as the block runs.
        workers: what will work there.

    Raises:
        InputError: that cluster cannot be joined, or this machine has less than one worker holds.
    """
    refuse_deaf(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # An engine's own processes end with its worker: else a killed vLLM holds its GPU, and none can start there again.
    os.environ.setdefault("RAY_process_group_cleanup_enabled", "1")
    import ray

    if ray.is_initialized():
        yield
        return
    _connect(address)
    try:
        if address is None:
            _refuse_unfit(workers)
        yield
    finally:
        ray.shutdown()


def _connect(address: str | None) -> None:
    import ray

    local = {} if address else {"object_store_memory": 128 << 20, "include_dashboard": False}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **local)
    except Exception as error:  # a version, a token and an address that do not fit each raise their own kind
        if address is None:
            raise
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"--ray-address {address}: Ray cannot be joined there: {reason}") from error


def _refuse_unfit(workers: Sequence[Resources]) -> None:
    """Nobody joins a Ray of this machine's own: for what it lacks a worker would wait for ever."""
    import ray

    here = ray.cluster_resources()
    for held in workers:
        if held.cpus > here.get("CPU", 0) or held.gpus > here.get("GPU", 0):
            raise InputError(
                f"engine: a worker holds {held.cpus:g} cores and {held.gpus:g} GPUs, and this machine has "
                f"{here.get('CPU', 0):g} and {here.get('GPU', 0):g}; lower cpus_per_worker and gpus_per_worker, or "
                "name a cluster with --ray-address"
            )


def refuse_deaf(address: str | None) -> None:
    """Say at once that nobody listens; Ray itself would try for many minutes.

    Raises:
        InputError: nothing answers at that host and port.
    """
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        return  # `auto` and `ray://...` find their own way
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError):
        raise InputError(
            f"--ray-address {address}: nothing answers there; start the cluster or mend it"
        ) from None


class _Worker:
    """The actor: opens its job in its own process, then processes parts one by one."""

    def start(self, job: Job) -> None:
        """Load in a method, not on construction: Ray keeps the cause of a method's failure alone."""
        os.umask(0o077)
        with _placed():
            self._process = job.start()

    def work(self, name: str) -> Facts:
        with _placed():
            return self._process(name)


@contextmanager
def _placed() -> Iterator[None]:
    """Note on what is raised where in our own code it was: its message may carry text, and is never shown."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{RAISED}{place_of(error)}")
        raise


@dataclass
class Pool:
    """Runs one job over many parts.

    Attributes:
        job: what each worker does.
        resources: how many workers, and what each holds.
        on_done: called in the driver with a part's name and facts, once for each part.
        on_failed: called once for a part that failed three times; it decides what then stands there.
    """

    job: Job
    resources: Resources
    on_done: Callable[[str, Facts], None]
    on_failed: Callable[[str], None]
    _failures: Counter[str] = field(default_factory=Counter)
    _failed_starts: int = 0

    def run(self, names: Sequence[str]) -> None:
        """Process every part, whatever dies.

        Args:
            names: the parts that are to be done.

        Raises:
            InputError: a worker cannot start, three times in a row, or says that its input cannot be used.
            OSError: the disk is full or may not be written; what is published stays.
        """
        self.run_rounds([names])

    def run_rounds(self, rounds: Iterable[Sequence[str]]) -> None:
        """The same for several rounds, by the same workers: an engine loads for minutes.

        Args:
            rounds: the parts of each round; the next is asked for when every part of the one before is done.
        """
        import ray

        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, str]] = {}
        with remembered_interrupt() as self._interrupted:
            try:
                for names in rounds:
                    self._run_round(names)
            finally:
                for actor in [*self._idle, *(actor for actor, _ in self._busy.values())]:
                    ray.kill(actor)

    def _run_round(self, names: Sequence[str]) -> None:
        self._todo = deque(names)
        for _ in range(min(self.resources.workers, len(names))):
            self._engage()
        while self._busy:
            self._step()

    def _engage(self) -> None:
        """Put one more worker to work: one that waits before a new one, which would wait for what that one holds."""
        if self._idle:
            self._next(self._idle.pop())
        else:
            self._hire()

    def _hire(self) -> None:
        """Start a worker; it counts as busy with no part until it says that it is ready."""
        import ray

        actor = (
            ray.remote(_Worker)
            .options(num_cpus=self.resources.cpus, num_gpus=self.resources.gpus, max_restarts=0)
            .remote()
        )
        self._busy[actor.start.remote(self.job)] = (actor, "")

    def _step(self) -> None:
        import ray

        ended, _ = ray.wait(list(self._busy), num_returns=1, timeout=PATIENCE_SECONDS)
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        if not ended:
            self._say_who_waits()
            return
        (first,) = ended
        actor, name = self._busy.pop(first)
        try:
            answer = ray.get(first)
        except ray.exceptions.RayError as error:
            ray.kill(actor)
            self._failed(name, error)
            return
        self._failed_starts = 0
        if name:
            self.on_done(name, answer)
        self._next(actor)

    def _next(self, actor: Any) -> None:
        if self._todo:
            name = self._todo.popleft()
            self._busy[actor.work.remote(name)] = (actor, name)
        else:
            self._idle.append(actor)
        if not self._todo:
            self._dismiss_starting()

    def _dismiss_starting(self) -> None:
        """An engine loads for minutes, on what others could use: where nothing is left to do it is not waited for."""
        import ray

        for reference in [reference for reference, (_, part) in self._busy.items() if not part]:
            actor, _ = self._busy.pop(reference)
            ray.kill(actor)

    def _say_who_waits(self) -> None:
        """Only where nobody works: a long part is no news, and progress tells of it."""
        if not any(part for _, part in self._busy.values()):
            say(
                f"{len(self._busy)} workers load, or wait for a node with {self.resources.cpus:g} cores "
                f"and {self.resources.gpus:g} GPUs free"
            )

    def _failed(self, name: str, error: Exception) -> None:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, InputError | SourceError) or _is_of_the_disk(cause):
            raise cause
        if name:
            self._part_failed(name, cause)
        else:
            self._start_failed(cause)
        if self._todo:
            self._engage()

    def _part_failed(self, name: str, cause: BaseException) -> None:
        self._failures[name] += 1
        say(f"{name}: a worker failed ({_kind(cause)}), attempt {self._failures[name]} of {ATTEMPTS}")
        if self._failures[name] < ATTEMPTS:
            self._todo.append(name)
        else:
            self.on_failed(name)

    def _start_failed(self, cause: BaseException) -> None:
        self._failed_starts += 1
        say(f"a worker failed to start ({_kind(cause)}), attempt {self._failed_starts} of {ATTEMPTS}")
        if self._failed_starts >= ATTEMPTS:
            raise InputError(
                f"workers: none could start ({_kind(cause)}); check the engine's settings, "
                "memory and accelerators, or see Ray's worker logs"
            ) from cause


def _is_of_the_disk(cause: BaseException) -> bool:
    return isinstance(cause, OSError) and cause.errno in DISK_FAULTS and bool(cause.filename)


def _kind(cause: BaseException) -> str:
    """What failed. The system's own words are safe; the message of another exception can carry generated text."""
    kind = type(cause).__name__
    if isinstance(cause, OSError) and cause.strerror:
        return f"{kind}: {cause.strerror}"
    if kind == "ActorDiedError":  # Ray's own words, matched and not printed
        return f"{kind}: its {'node' if 'its node has died' in str(cause) else 'process'} died"
    noted = [note.removeprefix(RAISED) for note in getattr(cause, "__notes__", ()) if note.startswith(RAISED)]
    return f"{kind}, {noted[-1]}" if noted else kind
