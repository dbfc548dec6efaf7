"""pydivsufsort 0.0.20 in the side-by-side measurement: a suffix array of the bytes, kept beside the text.

`sa_search` says how often and where in the array a piece stands; all spans come from it by jumps. It knows no
documents: they are counted from the positions in the array and the documents' starts, which are kept beside it.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from peer import CORPUS, STARTS, Finder, documents_at, find_by_jumps, run


class Pydivsufsort:
    """See `peer.Peer`."""

    def build(self, work: Path, out: Path) -> None:
        from pydivsufsort import divsufsort

        (out / "index").mkdir()
        np.save(out / "index" / "array.npy", divsufsort((work / CORPUS).read_bytes()))
        shutil.copy(work / CORPUS, out / "index" / "text")

    def open(self, work: Path, out: Path) -> None:
        self.text = (out / "index" / "text").read_bytes()
        self.array = np.load(out / "index" / "array.npy", mmap_mode="c")
        self.starts = np.load(work / STARTS)

    def finders(self) -> dict[str, Finder]:
        return {"find": lambda texts: [find_by_jumps(text, self._holds) for text in texts]}

    def _search(self, piece: bytes) -> tuple[int, int]:
        from pydivsufsort import sa_search

        count, first = sa_search(self.text, self.array, piece)
        return count, first or 0

    def _holds(self, piece: bytes) -> bool:
        return self._search(piece)[0] > 0

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        found = map(self._search, pieces)
        return [documents_at(self.starts, self.array[first : first + count]) for count, first in found]


if __name__ == "__main__":
    run(Pydivsufsort())
