"""Counts a synthetic run and shows the memory: `python tests/benchmarks/counting.py --tokens 1e9 --share 0.02`.

Writes the matched parts of a run of that size (requests of 200 tokens, whole ones extracted, from passages of Zipf
frequencies), then counts them in a process of its own as a run does: windows merged partition by partition, passages,
clusters, budgets, growth, `windows/`. Prints the time of each step and the peak memory as one JSON object.
`--clusters 100000` measures the clusters of so many near-identical passages instead.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

from extraction.byte_windows import BYTE_WINDOW_SCHEMA  # noqa: E402
from extraction.places import hash_column  # noqa: E402
from extraction.windows import KINDS, MATCH_SCHEMA, SPAN_SCHEMA, STRETCH_SCHEMA, WINDOW_SCHEMA  # noqa: E402
from pipelines.assemble import counted  # noqa: E402
from pipelines.count import Rules, load_found, write_windows  # noqa: E402
from pipelines.match import MatchStores  # noqa: E402
from pipelines.rundir import RunDirectory  # noqa: E402
from pipelines.values import Lookups  # noqa: E402

REQUEST, MIN_TOKENS, TOKEN_BYTES, MIN_BYTES = 200, 50, 4, 50
PASSAGE = 300  # tokens of a whole passage; a request gives 200 of them
PART = 4096  # requests
WINDOWS = REQUEST - MIN_TOKENS + 1
BYTE_WINDOWS = REQUEST * TOKEN_BYTES - MIN_BYTES + 1
FAMILIES = ("empty", "public")


def hashes(ids: np.ndarray) -> np.ndarray:
    """Sixteen bytes for each number, as evenly spread as hashes are; uint8[ids, 16]."""
    halves = []
    for salt in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        z = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        halves.append(z ^ (z >> np.uint64(31)))
    return np.ascontiguousarray(np.stack(halves, axis=1)).view(np.uint8).reshape(-1, 16)


def names(codes: np.ndarray, known: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), list(known)).cast(pa.string())


def table(schema: pa.Schema, *columns: Any) -> pa.Table:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class Synthetic:
    """A run of so many tokens, made part by part."""

    def __init__(self, tokens: int, share: float) -> None:
        self.rng, self.requests = np.random.default_rng(0), tokens // REQUEST
        self.hit = self.rng.random(self.requests) < share
        self.passages = max(1, int(self.hit.sum()) // 3)
        self.letters = self.rng.integers(97, 123, self.passages * PASSAGE * TOKEN_BYTES, dtype=np.uint8)

    def part(self, first: int) -> dict[str, pa.Table]:
        request = np.arange(first, min(first + PART, self.requests))
        family, number = request % 2, request // 2
        extracted = np.where(self.hit[request], REQUEST, 0)
        rows = np.flatnonzero(extracted)
        passage = self.rng.zipf(1.3, len(rows)) % self.passages
        offset = self.rng.integers(0, PASSAGE - REQUEST, len(rows))
        full = np.full(len(request), REQUEST)
        matches = (full, full * 4, extracted, extracted * 4, extracted * 0)
        digests = hash_column(self.rng.integers(0, 256, (len(request), 16), dtype=np.uint8))
        found = family[rows], number[rows], passage, offset
        return {
            "matches": table(MATCH_SCHEMA, names(family, FAMILIES), number, *matches, digests),
            "spans": SPAN_SCHEMA.empty_table(),
            "stretches": self._stretches(*found),
            "windows": self._windows(*found),
            "byte_windows": self._byte_windows(*found),
        }

    def _stretches(self, family: Any, number: Any, passage: Any, offset: Any) -> pa.Table:
        begin = (passage * PASSAGE + offset) * TOKEN_BYTES
        data = [self.letters[b : b + REQUEST * TOKEN_BYTES].tobytes() for b in begin]
        same = np.ones(len(passage), dtype=np.int64)
        kinds, documents = names(1 + (passage % 7 > 1), KINDS), passage % 7 + 1
        sizes = (same * 0, same * WINDOWS, same * REQUEST)
        return table(
            STRETCH_SCHEMA, names(family, FAMILIES), number, *sizes, kinds, data, documents, documents
        )

    def _windows(self, family: Any, number: Any, passage: Any, offset: Any) -> pa.Table:
        own = np.repeat(passage, WINDOWS)
        start = np.tile(np.arange(WINDOWS), len(passage))
        ids = own * PASSAGE + np.repeat(offset, WINDOWS) + start
        documents = own % 7 + 1
        place = names(np.repeat(family, WINDOWS), FAMILIES), np.repeat(number, WINDOWS), start
        kinds = names(1 + (own % 7 > 1), KINDS)
        return table(WINDOW_SCHEMA, *place, hash_column(hashes(ids)), kinds, documents, documents)

    def _byte_windows(self, family: Any, number: Any, passage: Any, offset: Any) -> pa.Table:
        first = (passage * PASSAGE + offset) * TOKEN_BYTES + (np.uint64(1) << np.uint64(40)).astype(np.int64)
        ids = np.repeat(first, BYTE_WINDOWS) + np.tile(np.arange(BYTE_WINDOWS), len(passage))
        keys = np.stack([ids * 2 + np.repeat(family, BYTE_WINDOWS), np.repeat(number, BYTE_WINDOWS)], axis=1)
        keys = keys[np.lexsort((keys[:, 1], keys[:, 0]))]
        keys = keys[
            np.diff(keys[:, 0], prepend=-1) != 0
        ]  # the first request of each family, as in a real part
        place = names(keys[:, 0] % 2, FAMILIES), keys[:, 1]
        return table(BYTE_WINDOW_SCHEMA, *place, hash_column(hashes(keys[:, 0] // 2)))


def write(directory: Path, tokens: int, share: float) -> None:
    made, stores = Synthetic(tokens, share), MatchStores.of(RunDirectory(directory))
    for number, first in enumerate(range(0, made.requests, PART)):
        stores.publish(f"part-{number:05d}", made.part(first))


def count(directory: Path, tokens: int) -> dict[str, Any]:
    """Count what was written, as the end of a run does."""
    run = RunDirectory(directory)
    budgets = [tokens // 100, tokens // 10, tokens]
    rules = Rules(dict.fromkeys(FAMILIES, 0.5), budgets, dict.fromkeys(FAMILIES, 256), MIN_TOKENS, 2, 0.7)
    steps, started = {}, time.perf_counter()

    def done(step: str) -> None:
        nonlocal started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        steps[step] = {"seconds": round(time.perf_counter() - started, 1), "peak_gib": round(peak, 2)}
        started = time.perf_counter()

    lookups = Lookups(run.store("identifiers/corpus-00000"), run.store("identifiers/chance-00000"))
    found = load_found(run, lookups, rules)
    done("load, merge, passages, clusters")
    row = counted(found, rules)["budgets"][-1]
    done("budgets and growth")
    write_windows(run, found, rules)
    done("windows")
    names = ("distinct_windows", "distinct_byte_windows", "distinct_passages", "clusters", "extracted_tokens")
    return {"places": len(found.places.window), **{name: row[name] for name in names}, "steps": steps}


def measure_clusters(passages: int) -> dict[str, float]:
    """The time to cluster so many letters that differ in a name and a number."""
    from extraction.clusters import cluster_passages

    rng = random.Random(0)
    letter = [
        f"{rng.choice('bdfglmprst')}{rng.choice('aeiou')}{rng.choice('nrstl')}{n:02x}" for n in range(60)
    ]
    texts = []
    for number in range(passages):
        own = list(letter)
        own[rng.randrange(60)], own[30] = f"name{number}", f"account{number * 7919}"
        texts.append(" ".join(own).encode())
    started = time.perf_counter()
    clusters = cluster_passages([f"{n:08d}" for n in range(passages)], texts, 0.7)
    return {"passages": passages, "clusters": len(set(clusters)), "seconds": time.perf_counter() - started}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=lambda text: int(float(text)), default=1_000_000_000)
    parser.add_argument("--share", type=float, default=0.02, help="share of the tokens that is extracted")
    parser.add_argument("--clusters", type=int, help="near-identical passages to cluster instead")
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)  # the process that is measured
    chosen = parser.parse_args()
    if chosen.clusters or chosen.count:
        result = measure_clusters(chosen.clusters) if chosen.clusters else count(chosen.count, chosen.tokens)
        print(json.dumps(result, indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), chosen.tokens, chosen.share)
        own = [sys.executable, __file__, "--tokens", str(chosen.tokens), "--count", folder]
        subprocess.run(own, check=True)  # noqa: S603


if __name__ == "__main__":
    main()
