"""What each index of the side-by-side measurement goes through, in its own interpreter: build, whole job, queries.

A script `peer_*.py` says how one index is built and asked; `run` does the rest. Runs where only numpy is installed.
The work folder holds the corpus in several forms and the generated texts, see `index_peers.py`; `OUT` is the index's.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

LEAST = 50
BLOCK = 24
QUERY_SECONDS = 20.0
SHARES = (0.001, 0.1, 0.9)
JOB_SHARE = 0.1
PROCESSES = 2
CORPUS, STARTS, PARQUET, JSON_LINES = "corpus.bin", "starts.npy", "corpus.parquet", "lines/corpus.jsonl"
SEPARATOR = b"\xff"  # stands in no UTF-8 text

Spans = list[tuple[int, int]]
Finder = Callable[[Sequence[bytes]], list[Spans]]


class Peer(Protocol):
    """An index and how it is asked."""

    def build(self, work: Path, out: Path) -> None:
        """Build the index of the corpus in `work` below `out`."""

    def open(self, work: Path, out: Path) -> None:
        """Open it."""

    def finders(self) -> dict[str, Finder]:
        """Ways to find all maximal spans of at least `LEAST` bytes of each text; the first is the fastest."""

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        """Count the documents that hold each piece."""


def run(peer: Peer) -> None:
    """Do what the command line says: `python peer_x.py build|query|job WORK OUT`; results go to OUT/<stage>.json."""
    stage, work, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(exist_ok=True)
    {"build": _build, "query": _query, "job": _job}[stage](peer, work, out)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))


def _build(peer: Peer, work: Path, out: Path) -> None:
    started = time.perf_counter()
    peer.build(work, out)
    _write(out / "build.json", {"seconds": time.perf_counter() - started})


def _query(peer: Peer, work: Path, out: Path) -> None:
    """Measure on one core how fast each finder is, for some seconds or until the texts are used up."""
    peer.open(work, out)
    rates: dict[str, float] = {}
    for share in SHARES:
        texts = read_texts(work, share)
        for name, find in peer.finders().items():
            find(texts[:1])
            rates[f"{name} MB/s, {share:g} matching"] = _rate(find, texts)
            _write(out / "query.json", rates)


def _rate(find: Finder, texts: Sequence[bytes]) -> float:
    """Bytes in a second."""
    started = time.perf_counter()
    done, step = 0, 1
    while done < len(texts) and time.perf_counter() - started < QUERY_SECONDS:
        find(texts[done : done + step])
        done, step = min(done + step, len(texts)), step * 2
    return sum(map(len, texts[:done])) / (time.perf_counter() - started)


def _job(peer: Peer, work: Path, out: Path) -> None:
    """Find all spans and count the documents of each, in two processes with half of the texts each."""
    peer.open(work, out)
    texts = read_texts(work, JOB_SHARE)
    find = next(iter(peer.finders().values()))
    find(texts[:1])  # what is loaded on first use is loaded once, not in each process

    def half(number: int) -> list[tuple[int, int, int, int]]:
        asked = texts[number::PROCESSES]
        found = find(asked)
        places = [(n, start, end) for n, spans in enumerate(found) for start, end in spans]
        counts = peer.count([asked[n][start:end] for n, start, end in places])
        return [
            (n * PROCESSES + number, start, end, c) for (n, start, end), c in zip(places, counts, strict=True)
        ]

    np.save(out / "job.npy", np.array(sorted(sum(in_processes(half), [])), dtype=np.int64).reshape(-1, 4))


def in_processes(work: Callable[[int], list[Any]]) -> list[list[Any]]:
    """Call a function with 0, 1, ... in a forked process each."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(PROCESSES)]
    processes = [
        context.Process(target=lambda number=number, end=end: end.send(work(number)))
        for number, (_, end) in enumerate(pipes)
    ]
    for process, (_, end) in zip(processes, pipes, strict=True):
        process.start()
        end.close()
    answers = [begin.recv() for begin, _ in pipes]
    for process in processes:
        process.join()
    return answers


def write_texts(work: Path, share: float, texts: Sequence[bytes]) -> None:
    """Store generated texts."""
    np.savez(
        work / f"texts-{share:g}",
        data=np.frombuffer(b"".join(texts), dtype=np.uint8),
        lengths=list(map(len, texts)),
    )


def read_texts(work: Path, share: float) -> list[bytes]:
    """Read what `write_texts` wrote."""
    stored = np.load(work / f"texts-{share:g}.npz")
    ends = np.cumsum(stored["lengths"]).tolist()
    data = stored["data"].tobytes()
    return [data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def documents_at(starts: Any, positions: Any) -> int:
    """Count the documents in which some positions lie."""
    return np.unique(np.searchsorted(starts, positions, side="right")).size


def find_by_jumps(text: Sequence[int], holds: Callable[[Sequence[int]], bool]) -> Spans:
    """Find all maximal spans of a text with few questions to an index that only says whether it holds a piece.

    Of the `LEAST` bytes from `start` on, every span that begins no later than the last `BLOCK` of them holds those:
    where the index does not, no span begins so early. Where it does, the begin and the end of a span are found by
    bisection, for any part of a piece that is held is held.
    """
    spans: Spans = []
    start = 0
    while start + LEAST <= len(text):
        end = start + LEAST
        if not holds(text[end - BLOCK : end]):
            start = end - BLOCK + 1
        elif not holds(text[start:end]):
            start = _first_held(text, start + 1, end - BLOCK, end, holds)
        else:
            end = _furthest_end(text, start, end, holds)
            spans.append((start, end))
            if end == len(text):
                break
            start = _first_held(text, start + 1, end + 1, end + 1, holds)
    return spans


def _first_held(
    text: Sequence[int], low: int, high: int, end: int, holds: Callable[[Sequence[int]], bool]
) -> int:
    """The first begin of a held piece that ends at `end`; it is known to be at most `high`."""
    while low < high:
        middle = (low + high) // 2
        if holds(text[middle:end]):
            high = middle
        else:
            low = middle + 1
    return low


def _furthest_end(text: Sequence[int], start: int, held: int, holds: Callable[[Sequence[int]], bool]) -> int:
    """The last end of a held piece that begins at `start`, in steps that double and then halve."""
    step = 32
    limit = held + step
    while limit <= len(text) and holds(text[start:limit]):
        held, step = limit, step * 2
        limit = held + step
    high = min(limit, len(text) + 1)
    while high - held > 1:
        middle = (held + high) // 2
        if holds(text[start:middle]):
            held = middle
        else:
            high = middle
    return held
