"""Measures this index alone: `python tests/benchmarks/index_speed.py --mb 200`.

Prints build MB/s and peak memory, index bytes for a byte of text, look-up MB/s at three shares of matching text, and
the time of counting, as one JSON object. Documents are files of /usr and of the Python installation.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from material import documents, generated, write_parquet

from index import BuildOptions, Index, open_index
from pipelines.index_build import build

ASKED_BYTES = 4_000_000


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def measure_queries(index: Index, corpus: Sequence[bytes]) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in (0.001, 0.1, 0.9):
        asked = generated(corpus, share, ASKED_BYTES)
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
        written = write_parquet(source, documents(chosen.mb * 1_000_000))
        took, _ = seconds(lambda: build([source], out, BuildOptions(workers=chosen.workers)))
        index = open_index(out)
        files_size = sum(
            path.stat().st_size for path in out.rglob("*") if path.is_file() and path.name != "text.bin"
        )
        result = {
            "corpus_mb": written.size / 1e6,
            "documents": index.info.documents,
            "segments": index.info.segments,
            "build_mb_s": written.size / took / 1e6,
            "index_bytes_per_byte": files_size / written.size,
            "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20),
        }
        result |= measure_queries(index, written.sample)
    print(json.dumps({name: round(value, 3) for name, value in result.items()}, indent=1))


if __name__ == "__main__":
    main()
