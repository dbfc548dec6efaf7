"""tokengrams 0.3.3 in the side-by-side measurement: a suffix array on disk, one u16 token for each byte.

It has no smaller tokens. `contains` says whether the corpus holds a piece; all spans come from it by jumps. It knows no
documents: they are counted from the positions that it lists and the documents' starts, which are kept beside it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from peer import CORPUS, STARTS, Finder, documents_at, find_by_jumps, run

VOCABULARY = 256


class Tokengrams:
    """See `peer.Peer`."""

    def build(self, work: Path, out: Path) -> None:
        from tokengrams import MemmapIndex

        (out / "index").mkdir()
        np.fromfile(work / CORPUS, dtype=np.uint8).astype(np.uint16).tofile(out / "index" / "tokens")
        MemmapIndex.build(str(out / "index" / "tokens"), str(out / "index" / "table"), vocab=VOCABULARY)

    def open(self, work: Path, out: Path) -> None:
        from tokengrams import MemmapIndex

        paths = str(out / "index" / "tokens"), str(out / "index" / "table")
        self.index = MemmapIndex(*paths, vocab=VOCABULARY)
        self.starts = np.load(work / STARTS)

    def finders(self) -> dict[str, Finder]:
        return {"find": lambda texts: [find_by_jumps(list(text), self.index.contains) for text in texts]}

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        return [documents_at(self.starts, self.index.positions(list(piece))) for piece in pieces]


if __name__ == "__main__":
    run(Tokengrams())
