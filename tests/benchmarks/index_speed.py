"""Measures the index on text that lies on any development machine: `python tests/benchmarks/index_speed.py --mb 200`.

Prints build MB/s and peak memory, index bytes for a byte of text, look-up MB/s at three shares of matching text, and
the time of counting, as one JSON object. Documents are files of /usr and of the Python installation.
"""

import argparse
import json
import os
import random
import resource
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))

from index import BuildOptions, Index, open_index  # noqa: E402
from pipelines.index_build import build  # noqa: E402

ROOTS = ("/usr/share", "/usr/include", "/usr/lib", sysconfig.get_paths()["stdlib"])
LARGEST_FILE = 3 << 20


def files(seed: int) -> Iterator[str]:
    paths = [
        str(path)
        for root in ROOTS
        for path in Path(root).rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    random.Random(seed).shuffle(paths)
    for path in paths:
        try:
            data = Path(path).read_bytes() if os.path.getsize(path) <= LARGEST_FILE else b"\0"
            if b"\0" not in data[:8192]:
                yield data.decode()
        except (OSError, UnicodeDecodeError):
            continue


def write_corpus(path: Path, size: int) -> int:
    """Write Parquet in row groups of some 16 MB until `size` bytes of text are reached."""
    schema = pa.schema([("text", pa.large_string())])
    total, batch = 0, []
    with pq.ParquetWriter(path, schema) as writer:
        for text in files(1):
            batch.append(text)
            total += len(text.encode())
            if sum(map(len, batch)) > 16 << 20 or total >= size:
                writer.write_table(pa.table({"text": batch}, schema=schema))
                batch = []
            if total >= size:
                break
    return total


def texts(corpus: Sequence[bytes], share: float, size: int) -> list[bytes]:
    """Texts of 2,000 bytes, a share of them cut from the corpus in pieces of 400, the rest its words shuffled."""
    choice = random.Random(7)
    words = sorted({word for document in corpus[:300] for word in document.split()})
    made = []
    while sum(map(len, made)) < size:
        text = b""
        while len(text) < 2000:
            if choice.random() < share:
                document = choice.choice(corpus)
                start = choice.randrange(max(1, len(document) - 400))
                text += document[start : start + 400]
            else:
                text += b" ".join(choice.choices(words, k=60))[:400]
        made.append(text)
    return made


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def measure_queries(index: Index, corpus: Sequence[bytes]) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in (0.001, 0.1, 0.9):
        asked = texts(corpus, share, 4 << 20)
        index.find(asked[:5])
        took, ranges = seconds(lambda asked=asked: index.find(asked))
        found[f"find_mb_s_at_{share:g}"] = sum(map(len, asked)) / took / 1e6
    pieces = [text[r.start : r.end] for text, some in zip(asked, ranges, strict=True) for r in some]
    found["count_texts_s"] = len(pieces) / seconds(lambda: index.count(pieces))[0]
    longest = max(pieces, key=len)
    starts = np.arange(len(longest) - 50)
    found["count_windows_s"] = (
        starts.size / seconds(lambda: index.count_windows(longest, starts, starts + 50))[0]
    )
    words = sorted({word for document in corpus[:500] for word in document.decode().split() if len(word) > 3})
    strings = random.Random(3).sample(words, min(10_000, len(words)))
    took, _ = seconds(lambda: index.count_strings(strings))
    found[f"count_{len(strings)}_strings_mb_s"] = index.info.text_bytes / took / 1e6
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=200, help="size of the corpus")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "corpus.parquet", Path(folder) / "index"
        size = write_corpus(source, chosen.mb * 1_000_000)
        took, _ = seconds(lambda: build([source], out, BuildOptions(workers=chosen.workers)))
        index = open_index(out)
        files_size = sum(
            path.stat().st_size for path in out.rglob("*") if path.is_file() and path.name != "text.bin"
        )
        result = {"corpus_mb": size / 1e6, "documents": index.info.documents, "segments": index.info.segments}
        result |= {"build_mb_s": size / took / 1e6, "index_bytes_per_byte": files_size / size}
        result["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        corpus = [t.encode() for t in pq.read_table(source)["text"].slice(0, 3000).to_pylist()]
        print(
            json.dumps(
                {k: round(v, 3) for k, v in (result | measure_queries(index, corpus)).items()}, indent=1
            )
        )


if __name__ == "__main__":
    main()
