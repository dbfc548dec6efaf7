"""pydivsufsort 0.0.20 in the side-by-side measurement: a suffix array of at most 2 GiB of bytes, kept beside the text.

Its `sa_search` says how often and where in the array a piece stands; all spans come from it by jumps. It is called
in the library that the package has loaded, with arguments that are prepared once: the package prepares them for each
call, which takes four times as long. It knows no documents: they are counted from the positions in the array and the
documents' starts, which are kept beside it.
"""

import ctypes
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
        from pydivsufsort.dll import libdivsufsort

        self.array = np.load(out / "index" / "array.npy", mmap_mode="c")
        self.starts = np.load(work / STARTS)
        self._look_up = libdivsufsort.sa_search
        self._text = (out / "index" / "text").read_bytes()
        self._size = ctypes.c_int32(len(self._text))
        self._pointer = ctypes.pointer(np.ctypeslib.as_ctypes(self.array))
        self._first = ctypes.c_int32()

    def finders(self) -> dict[str, Finder]:
        return {"find": lambda texts: [find_by_jumps(text, self._holds) for text in texts]}

    def _times(self, piece: bytes) -> int:
        """How often a piece stands in the text; `_first` is then its first place in the array."""
        length, first = ctypes.c_int32(len(piece)), ctypes.byref(self._first)
        times = self._look_up(self._text, self._size, piece, length, self._pointer, self._size, first)
        if times < 0:
            raise RuntimeError("libdivsufsort cannot search its own array")
        return times

    def _holds(self, piece: bytes) -> bool:
        return self._times(piece) > 0

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        return [documents_at(self.starts, self._places(piece)) for piece in pieces]

    def _places(self, piece: bytes) -> np.ndarray:
        times = self._times(piece)
        return self.array[self._first.value : self._first.value + times]


if __name__ == "__main__":
    run(Pydivsufsort())
