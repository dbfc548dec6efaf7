"""A build keeps to the memory that it is given, however large its corpus is; a look-up to what there is."""

import mmap
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from index import Index, corpus, open_index
from index.memory import _limits_above, free_memory
from tests.index.test_worst_cases import prose

GIB = 1 << 30
SEGMENT = 96 << 20

# The peak is the child's own, asked of the kernel by a parent that does nothing else.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
BUILD = """
import sys
from index import BuildOptions, build_index
build_index([sys.argv[1]], sys.argv[2], BuildOptions(memory=int(sys.argv[3])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prose", "boilerplate", "short"])
def test_a_build_keeps_to_its_memory(kind: str, tmp_path: Path) -> None:
    size = 4 * SEGMENT
    _write(tmp_path / "corpus.parquet", kind, size)
    allowed = GIB + 4 * SEGMENT
    build = [sys.executable, "-c", BUILD, tmp_path / "corpus.parquet", tmp_path / "index", str(allowed)]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, *build], capture_output=True, text=True, check=True
    )
    assert open_index(tmp_path / "index").info.segments >= 4
    assert int(measured.stdout) < allowed


def _write(path: Path, kind: str, size: int) -> None:
    schema = pa.schema([("text", pa.large_string())])
    numbers, written = random.Random(2), 0
    with pq.ParquetWriter(path, schema) as writer:
        while written < size:
            texts = _texts(kind, numbers)
            written += sum(map(len, texts))
            writer.write_table(pa.table({"text": texts}, schema=schema))


LICENCE = prose(3000, 1)
BLOCKS = [prose(20_000, n) for n in range(400)]


def _texts(kind: str, numbers: random.Random) -> list[str]:
    """Some 4 MB of different documents."""

    def body() -> str:
        cut = numbers.randrange(19_000)
        return numbers.choice(BLOCKS)[cut:] + numbers.choice(BLOCKS)[:cut]

    if kind == "prose":
        return [body() for _ in range(200)]
    if kind == "boilerplate":
        return [f"{body()[:200]}\n{LICENCE}\n{body()[:200]}" for _ in range(1200)]
    return [f"{numbers.randrange(10**12):012d} {body()[:48]}" for _ in range(60_000)]


def test_the_memory_of_a_process_is_that_of_the_narrowest_of_its_groups(tmp_path: Path) -> None:
    inner = tmp_path / "pod" / "container"
    inner.mkdir(parents=True)
    for folder, said in ((tmp_path, "max"), (inner.parent, "5000"), (inner, "7000")):
        (folder / "memory.max").write_text(f"{said}\n", encoding="ascii")
    assert sorted(_limits_above(tmp_path, "/pod/container", "memory.max")) == [5000, 7000]
    assert list(_limits_above(tmp_path, "/seen/from/outside", "memory.max")) == []
    assert 0 < free_memory() < 1 << 60


@pytest.mark.parametrize(("free", "advice"), [(0, "MADV_RANDOM"), (1 << 40, "MADV_NORMAL")])
def test_an_index_that_memory_cannot_hold_is_read_without_reading_ahead(
    make_index: Callable[..., Index], monkeypatch: pytest.MonkeyPatch, free: int, advice: str
) -> None:
    texts = [f"{n} the sentence that all of these documents share, word for word" for n in range(30)]
    made, asked = make_index(texts), [text.encode() for text in texts]
    given: list[int] = []

    class Noted(mmap.mmap):
        def madvise(self, option: int, *span: int) -> None:
            given.append(option)
            super().madvise(option, *span)

    monkeypatch.setattr(corpus, "free_memory", lambda: free)
    monkeypatch.setattr(mmap, "mmap", Noted)
    found = open_index(made.directory)
    assert found.find(asked) == made.find(asked)
    assert getattr(mmap, advice) in given
    assert (mmap.MADV_RANDOM in given) == (free == 0)
