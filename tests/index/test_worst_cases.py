"""Texts that make matching quadratic if one lets them. Work is counted, not timed: times stand in the benchmark."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from index import Index, build_index, open_index
from tests.index.oracle import maximal_ranges

# What ordinary text costs here: 0.05 groups looked at and 7 bytes compared for each byte of text that is looked up.
GROUPS_PER_BYTE = 2.0
COMPARED_PER_BYTE = 300.0

Make = Callable[[Sequence[str]], Index]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(documents: Sequence[str]) -> Index:
        pq.write_table(
            pa.table({"text": pa.array(documents, pa.large_string())}), tmp_path / "corpus.parquet"
        )
        return open_index(build_index([tmp_path / "corpus.parquet"], tmp_path / "index"))

    return build


_letters = random.Random(1)
WORDS = [
    "".join(_letters.choices("abcdefghijklmnopqrstuvwxyz", k=_letters.randint(2, 9))) for _ in range(2000)
]


def prose(length: int, seed: int = 0) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=length // 3))[:length]


def find_cheaply(index: Index, texts: Sequence[bytes]) -> list[list[tuple[int, int]]]:
    """Find, and fail where it costs more than ordinary text can."""
    before = index.work
    found = index.find(texts)
    groups, compared = np.subtract(index.work, before) / sum(map(len, texts))
    assert groups < GROUPS_PER_BYTE, f"{groups:.1f} groups for each byte of text"
    assert compared < COMPARED_PER_BYTE, f"{compared:.0f} bytes compared for each byte of text"
    return [[(r.start, r.end) for r in ranges] for ranges in found]


def count_cheaply(index: Index, text: bytes) -> tuple[int, int]:
    before = index.work
    counts = index.count([text])
    assert np.subtract(index.work, before)[0] < 1000
    return int(counts.documents[0]), int(counts.occurrences[0])


def test_a_document_of_a_single_byte(make: Make) -> None:
    index = make(["a" * 50_000_000])
    texts = [b"a" * 3000, b"b" + b"a" * 60 + b"b", b"a" * 49]
    assert find_cheaply(index, texts) == [[(0, 3000)], [(1, 61)], []]
    assert count_cheaply(index, b"a" * 3000) == (1, 50_000_000 - 2999)
    counted = index.count_windows(b"a" * 3000, np.arange(2900), np.arange(2900) + 100)
    assert set(counted.occurrences.tolist()) == {50_000_000 - 99}


def test_a_text_of_period_two(make: Make) -> None:
    index = make(["ab" * 2_500_000 + "c", "x" + "ab" * 50])
    texts = [b"ab" * 1000 + b"c" + b"ba" * 1000, b"ba" * 40, b"c" * 80]
    assert find_cheaply(index, texts) == [[(0, 2001), (2001, 4001)], [(0, 80)], []]
    assert count_cheaply(index, b"ba" * 40) == (2, 2_500_000 - 40 + 10)
    assert count_cheaply(index, b"b" + b"ab" * 30 + b"c") == (1, 1)


@pytest.mark.parametrize("period", [9, 20, 61, 1000])
def test_a_text_of_a_longer_period(period: int, make: Make) -> None:
    word = prose(period, 3)
    copies = 2_000_000 // period
    index = make([word * copies])
    text = (word * (2 + 2000 // period))[: max(2000, period + 100)].encode()
    assert find_cheaply(index, [text, b"~" + text + b"~"]) == [[(0, len(text))], [(1, len(text) + 1)]]
    assert count_cheaply(index, word.encode() * (1 + 50 // period)) == (1, copies - 50 // period)


def test_a_document_copied_100000_times(make: Make) -> None:
    text = prose(300)
    index = make([text] * 100_000)
    assert sum(path.stat().st_size for path in index.directory.rglob("text.bin")) < 1000
    assert find_cheaply(index, [text.encode() * 5]) == [[(300 * n, 300 * n + 300) for n in range(5)]]
    assert count_cheaply(index, text[:200].encode()) == (100_000, 100_000)


def test_a_licence_below_5000_different_headers(make: Make) -> None:
    licence = prose(3000, 1)
    index = make([f"{prose(200, n)}\n{licence}\n{prose(100, n + 9000)}" for n in range(5000)])
    text = f"{prose(100, 99_999)}\n{licence}\n{prose(100, 99_998)}".encode()
    (ranges,) = find_cheaply(index, [text])
    assert any(start <= 101 and end >= 3102 for start, end in ranges)
    assert count_cheaply(index, licence.encode()) == (5000, 5000)
    starts = np.arange(0, 2900, 3)
    counted = index.count_windows(licence.encode(), starts, starts + 100)
    assert set(counted.documents.tolist()) == {5000}


def test_a_template_filled_in_differently_everywhere(make: Make) -> None:
    numbers = random.Random(5)
    template = "{:010d} called the branch and asked for the balance of the account {:010d}"
    documents = [template.format(numbers.randrange(10**10), numbers.randrange(10**10)) for _ in range(50_000)]
    index = make(documents)
    foreign = [template.format(n, 10**10 - 1 - n).encode() for n in range(0, 10**10, 10**8)]
    find_cheaply(index, foreign)
    mixed = [(a[:40] + b[40:]).encode() for a, b in zip(documents[:50], documents[50:100], strict=True)]
    sample = [document.encode() for document in documents]
    assert find_cheaply(index, mixed[:5]) == [maximal_ranges(sample, text, 50) for text in mixed[:5]]


def test_rules_of_every_length(make: Make) -> None:
    index = make([f"{prose(40, n)}\n# {'-' * (60 + n % 20)}\n{prose(40, n + 7000)}" for n in range(5000)])
    find_cheaply(index, [b"-" * 5000, f"{prose(40, 1)}\n# {'-' * 70}\n{prose(60, 8888)}".encode()])
    held = sum(max(0, 60 + n % 20 - 69) for n in range(5000))
    assert count_cheaply(index, b"-" * 70) == (2500, held)


def test_near_copies_of_a_long_document(make: Make) -> None:
    text = prose(300_000, 2)
    index = make([text[: n * 100] + "#" + text[n * 100 :] for n in range(40)])
    middle = text[100_000:103_000].encode()
    assert find_cheaply(index, [middle]) == [[(0, 3000)]]
    assert count_cheaply(index, middle) == (40, 40)


def test_short_and_empty_documents(make: Make) -> None:
    shorts = [f"{n:07d} is the number of this document, in sixty bytes or so" for n in range(100_000)]
    index = make([*shorts, *[""] * 100_000])
    assert index.info.documents == 200_000
    assert index.info.distinct_documents == 100_001
    assert find_cheaply(index, [text.encode() for text in shorts[:50]]) == [[(0, len(shorts[0]))]] * 50
    assert count_cheaply(index, shorts[7][7:].encode()) == (100_000, 100_000)


@pytest.mark.slow
def test_a_million_short_and_a_million_empty_documents(make: Make) -> None:
    shorts = [f"{n:07d} is the number of this document, in sixty bytes or so" for n in range(1_000_000)]
    index = make([*shorts, *[""] * 1_000_000])
    assert index.info.documents == 2_000_000
    assert find_cheaply(index, [text.encode() for text in shorts[::10_000]]) == [[(0, len(shorts[0]))]] * 100
    assert count_cheaply(index, shorts[7][7:].encode()) == (1_000_000, 1_000_000)


def test_segments_beyond_4_gib(make: Make, tmp_path: Path) -> None:
    """Positions are 64-bit where they must be: the tables of a small segment, moved to the end of a sparse text."""
    from index.counting import count_texts
    from index.layout import BLOCK_BYTES
    from index.search import find_ranges

    document = prose(500, 4)
    t = make([document])._segments[0].tables
    shift = (5 << 30) - int(t.text.size)
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(shift)
        file.seek(shift)
        file.write(t.text.tobytes())
    assert os.stat(tmp_path / "sparse").st_size > 1 << 32
    moved = t._replace(
        text=np.memmap(tmp_path / "sparse", dtype=np.uint8, mode="c").view(np.ndarray),
        starts=t.starts + shift,
        blocks=np.zeros((shift + t.text.size) // BLOCK_BYTES + 1, dtype=np.int64),
        postings=t.postings.astype(np.int64) + shift,
        node_postings=t.node_postings.astype(np.int64),
        groups=t.groups.astype(np.int64),
        buckets=t.buckets.astype(np.int64),
        copies=np.array([0, 3 << 31]),
    )
    query = np.frombuffer(
        b"\xfe" * 64 + document[100:300].encode() + b"\xfe" * 64 + bytes(64), dtype=np.uint8
    ).copy()
    begins, ends = (np.zeros(10, dtype=np.int64) for _ in range(2))
    assert find_ranges(moved, query, 64, 264, 50, begins, ends) >= 1
    assert (begins[0], ends[0]) == (64, 264)
    documents, occurrences = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    span, kept = (np.array([64]), np.array([264])), np.full((1, 2), -1)
    room = np.empty(8, dtype=np.int64)
    seen = np.zeros(1, dtype=np.int64)
    assert count_texts(moved, query, *span, 0, room, documents, occurrences, kept, seen) == (1, 0)
    assert documents[0] == occurrences[0] == 3 << 31
    assert kept.tolist() == [[0, -1]]
