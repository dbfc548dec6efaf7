"""Times what makes matching quadratic if one lets it: `python tests/benchmarks/index_worst_cases.py --mb 1000`.

Each case is built and asked beside ordinary text of the same size, files of this machine, both on one core in a
process of their own. Printed are seconds of processor time, which other work on the machine hardly changes, and, in
brackets, how many times as long as with ordinary text: for building, for finding all spans of 4 MB of generated text,
nine tenths of it matching, and for counting the documents of each; the goal is at most 3 everywhere. A million empty
documents are set against 16 MB of ordinary text: what is written about each of them apart from its text.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise, repeat
from pathlib import Path

import peer
from index_speed import ASKED_BYTES
from material import documents, generated, machine_files, write_parquet
from measure import run

MILLION = 1_000_000
SHARE = 0.9
CITIES = ("Aberdeen", "Bristol", "Cardiff", "Dundee", "Exeter", "Glasgow", "Hull", "Leeds", "Oxford", "York")
LICENCES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT")
SOURCES = (".py", ".h", ".js", ".css", ".pm", ".rb")


@dataclass(frozen=True)
class Case:
    """A corpus and what it is asked.

    Attributes:
        name: what the table calls it.
        documents: makes the corpus.
        texts: makes the generated texts from a sample of the documents.
        ordinary_bytes: ordinary text that it is set against; None for as much as the corpus has.
    """

    name: str
    documents: Callable[[], Iterable[bytes]]
    texts: Callable[[Sequence[bytes]], list[bytes]] = partial(generated, share=SHARE, size=ASKED_BYTES)
    ordinary_bytes: int | None = None


def cases(boilerplate_bytes: int) -> list[Case]:
    return [
        Case("one document of a single byte, 50 MB", lambda: [b"a" * 50 * MILLION]),
        Case("one document copied 100,000 times", lambda: repeat(_ordinary(1000), 100_000)),
        Case("licence headers and source", partial(boilerplate, boilerplate_bytes)),
        Case("text of period two, 50 MB", lambda: [b"ab" * 25 * MILLION]),
        Case("1,000,000 documents of 60 bytes", short_documents),
        Case("1,000,000 empty documents", lambda: repeat(b"", MILLION), ordinary_bytes=16 * MILLION),
        Case("1,000,000 records of one template", lambda: records(MILLION, 1), record_texts),
    ]


def _ordinary(size: int) -> bytes:
    return whole(next(text for text in documents(10 * MILLION) if len(text) >= size)[:size])


def whole(piece: bytes) -> bytes:
    """Drop what a cut left of a character."""
    return piece.decode(errors="ignore").encode()


def short_documents() -> Iterator[bytes]:
    pieces = (text[at : at + 60] for text in documents(80 * MILLION) for at in range(0, len(text) - 60, 60))
    return map(whole, islice(pieces, MILLION))


def boilerplate(size: int) -> Iterator[bytes]:
    """Source files with a licence in front, few licences again and again, each with a name and a year of its own."""
    choice = random.Random(11)
    licences = list(islice(machine_files(lambda path: path.stem.upper() in LICENCES), 40))
    sources = list(islice(machine_files(lambda path: path.suffix in SOURCES), 5000))
    while size > 0:
        mark = choice.choice([b"# ", b" * ", b"// "])
        licence = licences[min(int(choice.expovariate(0.2)), len(licences) - 1)][:12_000]
        owner = b"Copyright (c) %d The %s Authors\n" % (
            choice.randint(1990, 2025),
            choice.choice(CITIES).encode(),
        )
        header = b"".join(mark + line for line in (owner + licence).splitlines(keepends=True))
        source = choice.choice(sources)
        start = choice.randrange(len(source))
        text = whole(header + b"\n" + source[start : start + choice.randint(500, 8000)])
        yield text
        size -= len(text)


def records(number: int, seed: int) -> Iterator[bytes]:
    """Order lines of 120 bytes."""
    choice = random.Random(seed)
    for _ in range(number):
        yield (
            b"order %010d of customer %08d: %3d pieces of article %07d at %7.2f EUR, "
            b"to be sent to %-9s on day %03d."
            % (
                choice.randrange(10**10),
                choice.randrange(10**8),
                choice.randint(1, 999),
                choice.randrange(10**7),
                choice.uniform(1, 9999),
                choice.choice(CITIES).encode(),
                choice.randint(1, 365),
            )
        )


def record_texts(sample: Sequence[bytes]) -> list[bytes]:
    """Half cut from the corpus, half records that it does not hold."""
    fresh = records(ASKED_BYTES // 2 // 120, 2)
    texts = [b"\n".join(some) for some in iter(lambda: list(islice(fresh, 16)), [])]
    return list(chain(texts, generated(sample, share=SHARE, size=ASKED_BYTES // 2)))


def measure(folder: Path) -> None:
    """Build and ask the corpus of a folder, and leave the seconds in it; runs in a process of its own."""
    from index import build_index, open_index
    from index.warm import warm

    warm()
    clock = [time.process_time()]
    build_index([folder / peer.PARQUET], folder / "index")
    clock.append(time.process_time())
    index, texts = open_index(folder / "index"), peer.read_texts(folder, SHARE)
    found = index.find(texts)
    clock.append(time.process_time())
    index.count([text[r.start : r.end] for text, ranges in zip(texts, found, strict=True) for r in ranges])
    clock.append(time.process_time())
    took = (after - before for before, after in pairwise(clock))
    (folder / "result.json").write_text(json.dumps(dict(zip(("build", "find", "count"), took, strict=True))))


def measured(case: Case) -> tuple[int, dict[str, float]]:
    """Write a case and have it measured: bytes of text, seconds of each step, and peak memory in GiB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = write_parquet(folder / peer.PARQUET, case.documents())
        peer.write_texts(folder, SHARE, case.texts(written.sample))
        outcome = run([sys.executable, __file__, "--measure", folder])
        if outcome.status:
            raise SystemExit(f"{case.name}: ended with status {outcome.status}")
        numbers = json.loads((folder / "result.json").read_text())
    return written.size, numbers | {"peak GiB": outcome.peak_bytes / (1 << 30)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=200, help="size of the licence headers and source")
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure)
        return
    results = []
    for case in cases(chosen.mb * MILLION):
        size, numbers = measured(case)
        ordinary_bytes = case.ordinary_bytes or size
        _, ordinary = measured(Case("ordinary text", partial(documents, ordinary_bytes)))
        results.append({"case": case.name, "bytes": size, "numbers": numbers, "ordinary": ordinary})
        cells = (f"{name} {value:.2f} ({value / ordinary[name]:.1f})" for name, value in numbers.items())
        print(f"{case.name}: {'; '.join(cells)}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
