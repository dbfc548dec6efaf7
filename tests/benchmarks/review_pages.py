"""How quick the review page is over many passages: opening it, and each kind of page.

    python -m tests.benchmarks.review_pages --passages 100000

Every second passage holds identifiers, all are judged, by one person. Prints the slowest of several asks of each page.
"""

import argparse
import random
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.passages import PASSAGE_SCHEMA
from pipelines.count import GROUP_ROWS
from pipelines.review.store import Store
from pipelines.review.verdicts import VERDICTS, Judgement, give
from tests.pipelines.review import cases

PATHS = {
    "first page": "/",
    "last page": "/?page=99999",
    "filters": "/?kind=private&type=PERSON&documents=1&verdict=none&budget=20000",
    "search": "/?q=harbour%20meadow",
    "search, nothing found": "/?q=zzz",
    "one passage": "/items/p00000007",
    "progress": "/progress",
}
WORDS = "ledger branch letter winter quarter harbour meadow copper lantern river stone market garden window".split()


def passages(count: int) -> list[dict[str, object]]:
    """Made-up passages of about 600 characters."""
    rng = random.Random(0)
    return [
        cases.passage(
            f"p{n:08d}",
            f"Letter {n}: {' '.join(rng.choices(WORDS, k=85))}{' Ms Whitcombe, 20481377' if n % 2 else ''}.",
            kind=("private", "private", "shared", "low_entropy")[n % 4],
            document_count=1 + n % 150,
            identifier_types=["PERSON", "ACCOUNT_NUMBER"] if n % 2 else [],
            cluster_id=f"p{n - n % 5:08d}",
            families=[("empty", "public", "repeat")[n % 3]],
            first_budget=(10_000, 20_000)[n % 2],
        )
        for n in range(count)
    ]


def write_run(folder: Path, count: int) -> Path:
    """A run of so many passages; the generations of the first few are kept."""
    rows = passages(count)
    run = cases.write_run(folder, rows[:256])
    table = pa.Table.from_pylist(rows, schema=PASSAGE_SCHEMA)
    pq.write_table(table, run / "passages.parquet", row_group_size=GROUP_ROWS)
    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", asked.passages)
        store = Store(run)
        for turn, verdict in enumerate(VERDICTS):
            judged = range(turn, asked.passages, len(VERDICTS))
            give(store, "rosa", [f"p{n:08d}" for n in judged], Judgement(verdict))
        store.close()
        began = time.perf_counter()
        client = cases.browser(run, "ada")
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M}  {asked.passages:,} passages")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"open: {time.perf_counter() - began:.1f} s, {peak:.2f} GiB at most")
        for name, path in PATHS.items():
            times = []
            for _ in range(asked.asks):
                client.review.listing._search.cache_clear()
                began = time.perf_counter()
                answer = client.get(path)
                times.append(time.perf_counter() - began)
                assert answer.status_code == 200
            print(
                f"{name:24} {1000 * max(times):6.0f} ms at most, {1000 * sorted(times)[len(times) // 2]:.0f} ms median"
            )


if __name__ == "__main__":
    main()
