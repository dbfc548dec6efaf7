"""Measures this index beside what a user would pick instead: `python tests/benchmarks/index_peers.py --mb 200`.

The peers are infini-gram, tokengrams and pydivsufsort (see `peer_*.py` for how each is asked), in an environment of
their own:

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install infini-gram==2.6.0 tokengrams==0.3.3 pydivsufsort==0.0.20 transformers

All index the same files of this machine as bytes, and look for every maximal span of at
least 50 bytes that stands in one document. Each stage of each is a process of its own:

- build: the index from the corpus as the index reads it, on two cores;
- job: open the index, find all spans of the generated text, a tenth of it matching, and count the documents of each,
  in two processes. The whole job is the build and this, from process start to end;
- query: how much generated text one process searches in a second.

Answers are compared text by text; where two differ, brute force decides who is right. Texts are named, never shown.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peer
import pyarrow.parquet as pq
from material import documents, generated, write_parquet
from measure import Outcome, run

HERE = Path(__file__).parent
OURS = "ours"
PEERS = (OURS, "infini_gram", "tokengrams", "pydivsufsort")
TEXT_FILES = {"text.bin", "text", "tokens", "tokenized.0"}
JUDGED = 10
HEADLINES = {"build": "build MB/s", "job": "whole job s", "query": "find MB/s, 0.9 matching"}
Numbers = dict[str, float | str]


def prepare(work: Path, size: int, asked: int) -> int:
    """Write the corpus in each form that an index reads, and the generated texts; return the bytes of the corpus."""
    written = write_parquet(work / peer.PARQUET, documents(size))
    (work / peer.JSON_LINES).parent.mkdir()
    starts = [1]
    with open(work / peer.CORPUS, "wb") as plain, open(work / peer.JSON_LINES, "w") as lines:
        plain.write(peer.SEPARATOR)
        for batch in pq.ParquetFile(work / peer.PARQUET).iter_batches():
            for text in batch["text"].to_pylist():
                plain.write(text.encode() + peer.SEPARATOR)
                starts.append(plain.tell())
                lines.write(json.dumps({"text": text}) + "\n")
    np.save(work / peer.STARTS, np.array(starts[:-1]))
    for share in peer.SHARES:
        peer.write_texts(work, share, generated(written.sample, share, asked))
    return written.size


def measure(name: str, python: Path, work: Path, size: int, limit_s: float) -> Numbers:
    """Go through the stages as far as the time limit allows; where a number should be, say why there is none."""
    out = work / name
    left = limit_s
    outcomes: dict[str, Outcome] = {}
    why = ""
    for stage in HEADLINES:
        outcomes[stage] = run([python, HERE / f"peer_{name}.py", stage, work, out], limit_s=left)
        left -= outcomes[stage].seconds
        if outcomes[stage].status != 0:
            status = outcomes[stage].status
            why = f"over {limit_s:g} s" if status is None else f"failed ({status})"
            break
    numbers = _numbers(out, outcomes, size)
    shutil.rmtree(out / "index", ignore_errors=True)
    return numbers | ({row: why for row in HEADLINES.values() if row not in numbers} if why else {})


def _numbers(out: Path, outcomes: Mapping[str, Outcome], size: int) -> Numbers:
    numbers: Numbers = {}
    if outcomes["build"].status == 0:
        files = {path: path.stat().st_size for path in (out / "index").rglob("*") if path.is_file()}
        beside = sum(n for path, n in files.items() if path.name not in TEXT_FILES)
        seconds = json.loads((out / "build.json").read_text())["seconds"]
        numbers |= {
            "build MB/s": size / seconds / 1e6,
            "index bytes per byte, beside the text": beside / size,
            "bytes on disk per byte, text included": sum(files.values()) / size,
            "peak GiB, build": outcomes["build"].peak_bytes / (1 << 30),
        }
    if "job" in outcomes and outcomes["job"].status == 0:
        numbers["peak GiB, job"] = outcomes["job"].peak_bytes / (1 << 30)
        numbers["find and count s"] = outcomes["job"].seconds
        numbers["whole job s"] = outcomes["build"].seconds + outcomes["job"].seconds
    if (out / "query.json").exists():
        rates = json.loads((out / "query.json").read_text())
        numbers |= {name: rate / 1e6 for name, rate in rates.items()}
    return numbers


class Oracle:
    """Looks through the whole corpus."""

    def __init__(self, work: Path) -> None:
        self._corpus = (work / peer.CORPUS).read_bytes()
        self._starts = np.load(work / peer.STARTS)

    def confirms(self, text: bytes, start: int, end: int, count: int) -> bool:
        """Say whether a span stands in the corpus, cannot be longer, and has this many documents."""
        wider = [text[start - 1 : end]] * (start > 0) + [text[start : end + 1]] * (end < len(text))
        return count == self._documents(text[start:end]) and not any(piece in self._corpus for piece in wider)

    def _documents(self, piece: bytes) -> int:
        places, at = [], self._corpus.find(piece)
        while at >= 0:
            places.append(at)
            at = self._corpus.find(piece, at + 1)
        return peer.documents_at(self._starts, places) if places else 0


def compare(work: Path, names: Sequence[str]) -> dict[str, str]:
    """Compare every answer with ours, and let brute force judge some of the texts where they differ."""
    answers = {
        name: _answers(work / name / "job.npy") for name in names if (work / name / "job.npy").exists()
    }
    oracle, texts = Oracle(work), peer.read_texts(work, peer.JOB_SHARE)
    ours = answers.get(OURS, {})
    said = {}
    for name, theirs in answers.items():
        if name == OURS:
            some = sorted(ours)[:: max(1, len(ours) // JUDGED)]
            wrong = [n for n in some if not all(oracle.confirms(texts[n], *row) for row in ours[n])]
            said[name] = f"{_spans(ours)}; brute force confirms {len(some) - len(wrong)} of {len(some)} texts"
            continue
        differing = [n for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n)]
        said[name] = _spans(theirs) + (
            "; all as ours" if not differing else _judge(oracle, texts, ours, theirs, differing)
        )
    return said


def _answers(path: Path) -> dict[int, set[tuple[int, int, int]]]:
    found: dict[int, set[tuple[int, int, int]]] = {}
    for number, start, end, count in np.load(path).tolist():
        found.setdefault(number, set()).add((start, end, count))
    return found


def _spans(answers: Mapping[int, set[tuple[int, int, int]]]) -> str:
    return f"{sum(map(len, answers.values())):,} spans"


def _judge(oracle: Oracle, texts: Sequence[bytes], ours: Any, theirs: Any, differing: Sequence[int]) -> str:
    """Say who is right about the first texts where two answers differ; what both miss stays unseen."""
    wrong: dict[str, list[str]] = {OURS: [], "theirs": []}
    for n in differing[:JUDGED]:
        mine, other = ours.get(n, set()), theirs.get(n, set())
        true = {row for row in mine | other if oracle.confirms(texts[n], *row)}
        for whose, answer in ((OURS, mine), ("theirs", other)):
            if answer != true:
                wrong[whose].append(f"text {n}")
    verdicts = "; ".join(f"{whose} wrong: {', '.join(names) or 'none'}" for whose, names in wrong.items())
    return (
        f"; {len(differing)} texts differ from ours, of the first {min(JUDGED, len(differing))}: {verdicts}"
    )


def table(results: Mapping[str, Numbers]) -> str:
    """Lay the numbers out, a column for each index; in brackets how many times better ours is (below 1: worse)."""
    names = dict.fromkeys(name for numbers in results.values() for name in numbers)
    lines = [[name, *(_cell(results, column, name) for column in results)] for name in names]
    rows = [["", *results], *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _cell(results: Mapping[str, Numbers], name: str, row: str) -> str:
    value, ours = results[name].get(row), results.get(OURS, {}).get(row)
    if not isinstance(value, float):
        return "-" if value is None else value
    if name == OURS or not isinstance(ours, float):
        return f"{value:.3g}"
    better = ours / value if "MB/s" in row else value / ours
    return f"{value:.3g} ({better:.2g})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=20, help="size of the corpus: 20, 200 or 1000")
    parser.add_argument("--query-mb", type=int, default=20, help="generated text of the whole job")
    parser.add_argument("--limit-s", type=float, default=1800, help="time for all stages of one index")
    parser.add_argument("--only", nargs="*", choices=PEERS, default=PEERS, help="measure these alone")
    parser.add_argument(
        "--peers-python",
        type=Path,
        default=Path(".venv-peers/bin/python"),
        help="interpreter that has the peers",
    )
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        size = prepare(work, chosen.mb * 1_000_000, chosen.query_mb * 1_000_000)
        results = {}
        for name in chosen.only:
            python = Path(sys.executable) if name == OURS else chosen.peers_python
            results[name] = measure(name, python, work, size, chosen.limit_s)
        answers = compare(work, chosen.only)
    print(f"{size:,} bytes of text; in brackets: how many times better ours is")
    print(table(results), *(f"{name}: {said}" for name, said in answers.items()), sep="\n")
    if chosen.json:
        content = {"corpus_bytes": size, "results": results, "answers": answers}
        chosen.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
