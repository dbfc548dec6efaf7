"""Measures what the tagger and the look-up cost at their limits: `python tests/benchmarks/identifier_limits.py`.

Four measurements, each on one core; the exit status is 1 if one misses its goal:

- look-up: megabytes of this machine's text searched a second for 10,000 values (goal: 50);
- hostile text: the slowest of many strings of 100,000 characters (goal: 10 seconds each);
- a text of a million characters: every identifier in it is found;
- memory over many generations: resident size after each tenth (goal: the last is at most 5 % over the second).
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from identifier_text import samples  # noqa: E402
from material import documents  # noqa: E402

from extraction.identifiers import Tagger  # noqa: E402
from extraction.identifiers.lookup import CorpusLookup  # noqa: E402
from tests.extraction.identifiers.hostile import UNITS, random_units, repeated  # noqa: E402

VALUES, GOAL_MB_S = 10_000, 50.0
HOSTILE_LENGTH, GOAL_SECONDS = 100_000, 10.0
GOAL_GROWTH = 1.05


def values(count: int) -> list[tuple[str, str]]:
    """As many distinct values of the types that runs look up, names first of all."""
    from faker import Faker

    fake, draw = Faker(("en_GB", "en_US", "de_DE", "fr_FR", "es_ES")), random.Random(1)
    fake.seed_instance(1)
    made: dict[tuple[str, str], None] = {}
    while len(made) < count:
        digits = "".join(draw.choices("0123456789", k=16))
        made |= dict.fromkeys(
            (
                ("PERSON", f"{fake.first_name()} {fake.last_name()}".casefold()),
                ("PERSON", fake.first_name().casefold()),
                ("ACCOUNT_NUMBER", digits[:8]),
                ("SORT_CODE", digits[:6]),
                ("EMAIL", fake.email()),
                ("PHONE", f"+4420{digits[:8]}"),
                ("DATE_OF_BIRTH", fake.date_of_birth().isoformat()),
                ("CREDIT_CARD", digits),
            )
        )
    return list(made)[:count]


def measure_lookup(megabytes: int) -> bool:
    texts = [([str(number)], text) for number, text in enumerate(documents(megabytes * 1_000_000))]
    size = sum(len(text) for _, text in texts)
    lookup = CorpusLookup(values(VALUES))
    lookup.scan([(["warm"], b"a"), (["up"], "\u00e9".encode())])
    started = time.process_time()
    counts = lookup.scan(texts)
    rate = size / (time.process_time() - started) / 1e6
    found, ascii_bytes = int((counts.documents > 0).sum()), sum(len(t) for _, t in texts if t.isascii())
    print(
        f"look-up: {rate:.0f} MB/s for {VALUES:,} values in {size / 1e6:.0f} MB ({len(texts):,} documents, "
        f"{ascii_bytes / size:.0%} of it ASCII); {found:,} values stand there, in {counts.occurrences.sum():,} places"
    )
    return rate >= GOAL_MB_S


def measure_hostile(count: int) -> bool:
    tagger, slowest, worst = Tagger(), 0.0, ""
    list(tagger.tag(["Warm Up"]))
    for unit in [*UNITS.values(), *islice(random_units(99), count)]:
        text = repeated(unit, HOSTILE_LENGTH)
        started = time.process_time()
        list(tagger.tag([text]))
        took = time.process_time() - started
        slowest, worst = max((slowest, worst), (took, unit))
    print(
        f"hostile text: {len(UNITS) + count} strings of {HOSTILE_LENGTH:,} characters, the slowest {slowest:.1f} s: "
        f"{worst.encode('unicode_escape').decode()!r} repeated"
    )
    return slowest <= GOAL_SECONDS


def measure_long_text() -> bool:
    planted = 6_000
    filler = "the harbour was quiet that morning and nobody asked for the ledger again " * 2
    text = "".join(f"account {number:08} is open. {filler}" for number in range(planted))[:1_000_000]
    started = time.process_time()
    (findings,) = Tagger().tag([text])
    found = {one.value for one in findings if one.type == "ACCOUNT_NUMBER"}
    there = {f"{n:08}" for n in range(planted) if f"account {n:08} " in text}
    print(
        f"a text of {len(text):,} characters: {len(found & there):,} of {len(there):,} numbers found in "
        f"{time.process_time() - started:.1f} s"
    )
    return there <= found


def measure_memory(generations: int) -> bool:
    process, sizes = psutil.Process(), []

    def texts() -> Iterator[str]:
        # Every text is new: words that are never seen again are what makes a vocabulary grow.
        for number, sample in enumerate(samples(generations, 5)):
            yield f"{sample.text} {number:x}{number * 7919:x}"

    for number, _ in enumerate(Tagger().tag(texts()), 1):
        if number % (generations // 10) == 0:
            sizes.append(process.memory_info().rss / 2**20)
    print(f"memory over {generations:,} generations, MiB: " + ", ".join(f"{size:.0f}" for size in sizes))
    return sizes[-1] <= GOAL_GROWTH * sizes[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=200, help="text that is searched")
    parser.add_argument(
        "--hostile", type=int, default=60, help="random hostile strings beside the known ones"
    )
    parser.add_argument("--generations", type=int, default=50_000, help="texts that memory is watched over")
    chosen = parser.parse_args()
    reached = [
        measure_lookup(chosen.mb),
        measure_long_text(),
        measure_hostile(chosen.hostile),
        measure_memory(chosen.generations),
    ]
    print("every goal reached" if all(reached) else "a goal was missed")
    raise SystemExit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
