"""Builds and asks an index of a corpus larger than memory: `python tests/benchmarks/index_scale.py --gb 6`.

The corpus is written as several Parquet files: first the files of this machine, then the same with other words in the
place of the frequent ones, by a permutation for each pass, so that its text is new and still reads like text. Both the
build and the look-ups are the commands that a user runs, each in a memory control group with the same limit as
`--memory`, page cache included, where one can be made; else nothing limits them, and their memory is the sum of the
proportional set sizes of all their processes. Which of the two it was is printed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from material import documents, generated, write_parquet
from measure import memory_group, run

PARTS = 12
ASKED_BYTES = 20_000_000
SHARE = 0.1
COMMAND = Path(sys.executable).with_name("extraction")


def write_corpus(folder: Path, size: int) -> tuple[int, list[bytes]]:
    """Write the corpus in some parts; return its bytes and a sample of its documents."""
    texts = documents(size)
    total, sample = 0, []
    for number in range(PARTS):
        written = write_parquet(folder / f"part-{number:02d}.parquet", _some(texts, size // PARTS))
        total += written.size
        sample += written.sample[: len(written.sample) // PARTS]
    return total, sample


def _some(texts: Iterator[bytes], size: int) -> Iterator[bytes]:
    for text in texts:
        yield text
        size -= len(text)
        if size <= 0:
            return


def measured(
    name: str, command: Sequence[str | Path], memory_gib: float, output: Path
) -> dict[str, float | str]:
    """Run a command within the memory, and say how long it took and what it held."""
    with memory_group(int(memory_gib * (1 << 30))) as group, open(output, "wb") as file:
        outcome = run(command, group=group, output=file.fileno())
        killed = group.killed() if group else 0
    return {
        f"{name} status": float(outcome.status or 0),
        f"{name} s": outcome.seconds,
        f"{name} peak GiB": outcome.peak_bytes / (1 << 30),
        f"{name} memory": f"control group limited to {memory_gib:g} GiB, {killed} processes killed at the limit"
        if group
        else "sum of proportional set sizes, no limit: no control group can be made here",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gb", type=float, default=6, help="size of the corpus")
    parser.add_argument(
        "--memory-gib", type=float, default=4, help="what the build is given, and the limit of the group"
    )
    parser.add_argument(
        "--work", type=Path, help="where there is room for three times the corpus; a temporary folder"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.work) as name:
        folder = Path(name)
        (folder / "corpus").mkdir()
        size, sample = write_corpus(folder / "corpus", int(chosen.gb * 1e9))
        with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
            for number, text in enumerate(generated(sample, SHARE, ASKED_BYTES)):
                file.write(json.dumps({"id": number, "text": text.decode(errors="replace")}) + "\n")
        index, texts = folder / "index", folder / "texts.jsonl"
        memory = f"{chosen.memory_gib:g}GiB"
        build = [COMMAND, "index", "build", folder / "corpus", "--out", index, "--memory", memory]
        result = {"corpus_gb": size / 1e9} | measured("build", build, chosen.memory_gib, folder / "said")
        if not result["build status"]:
            files = {path: path.stat().st_size for path in index.rglob("*") if path.is_file()}
            beside = sum(n for path, n in files.items() if path.name != "text.bin")
            result |= {
                "build MB/s": size / float(result["build s"]) / 1e6,
                "index bytes per byte": beside / size,
            }
            result |= measured(
                "find", [COMMAND, "index", "find", index, texts], chosen.memory_gib, folder / "found"
            )
            result["find MB/s"] = ASKED_BYTES / float(result["find s"]) / 1e6
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
