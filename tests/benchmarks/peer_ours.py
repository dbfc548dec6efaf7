"""This project's index in the side-by-side measurement, built by two tasks on Ray as the command does it."""

from collections.abc import Sequence
from pathlib import Path

from peer import PARQUET, PROCESSES, Finder, Spans, run


class Ours:
    """See `peer.Peer`."""

    def build(self, work: Path, out: Path) -> None:
        from index import BuildOptions
        from pipelines.index_build import build

        build([work / PARQUET], out / "index", BuildOptions(workers=PROCESSES))

    def open(self, work: Path, out: Path) -> None:
        from index import open_index

        self.index = open_index(out / "index")

    def finders(self) -> dict[str, Finder]:
        return {"find": self._find}

    def _find(self, texts: Sequence[bytes]) -> list[Spans]:
        return [[(r.start, r.end) for r in ranges] for ranges in self.index.find(texts)]

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        return [int(n) for n in self.index.count(pieces).documents]


if __name__ == "__main__":
    run(Ours())
