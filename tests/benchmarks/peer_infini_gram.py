"""infini-gram 2.6.0 in the side-by-side measurement: a suffix array on disk, one token for each byte (`u8`).

It is built by its own command from JSON lines. `find` through its Python engine says how often a piece stands in the
corpus; all spans come from it by jumps. `creativity`, its own way to the longest match at each place, starts several
threads for each byte of a text. Documents are counted from the places that `find_cnf` lists, with nothing left out.
"""

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from peer import JSON_LINES, LEAST, PROCESSES, Finder, Spans, documents_at, find_by_jumps, run

BYTES_PER_BYTE = 12  # what its indexing reckons with for each byte of text
EVERYTHING = 1 << 40


class InfiniGram:
    """See `peer.Peer`."""

    def build(self, work: Path, out: Path) -> None:
        lines = work / JSON_LINES
        memory = lines.stat().st_size * BYTES_PER_BYTE // (1 << 30) + 1
        _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        options = {
            "data_dir": lines.parent,
            "save_dir": out / "index",
            "token_dtype": "u8",
            "cpus": PROCESSES,
            "mem": memory,
            "ulimit": most_files,
        }
        arguments = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        command = [sys.executable, "-m", "infini_gram.indexing", *arguments]
        subprocess.run(command, check=True, stdout=2)

    def open(self, work: Path, out: Path) -> None:
        from infini_gram.engine import InfiniGramEngine

        self.engine = InfiniGramEngine(str(out / "index"), eos_token_id=254, vocab_size=255, token_dtype="u8")
        self.starts = np.fromfile(out / "index" / "offset.0", dtype=np.uint64)

    def finders(self) -> dict[str, Finder]:
        return {
            "find": lambda texts: [find_by_jumps(list(text), self._holds) for text in texts],
            "creativity": lambda texts: [self._longest(list(text)) for text in texts],
        }

    def _holds(self, piece: Sequence[int]) -> bool:
        return self.engine.find(piece)["cnt"] > 0

    def _longest(self, text: list[int]) -> Spans:
        ends = [0, *self.engine.creativity(text)["rs"]]
        return [
            (start, end)
            for start, (before, end) in enumerate(zip(ends[:-1], ends[1:], strict=True))
            if end > before and end - start >= LEAST
        ]

    def count(self, pieces: Sequence[bytes]) -> list[int]:
        return [documents_at(self.starts, self._places(list(piece))) for piece in pieces]

    def _places(self, piece: list[int]) -> list[int]:
        found = self.engine.find_cnf([[piece]], max_clause_freq=EVERYTHING)
        if found["approx"]:
            raise RuntimeError("infini-gram left places out")
        return found["ptrs_by_shard"][0]


if __name__ == "__main__":
    run(InfiniGram())
