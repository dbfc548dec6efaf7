"""`python -m index.warm`: compile the kernels once, after installing, so that the first small job need not wait."""

import tempfile
from pathlib import Path

import numpy as np

from index import build_index, open_index


def warm() -> None:
    """Build an index of a few words and ask it everything once; the compiled kernels stay in their cache."""
    with tempfile.TemporaryDirectory() as folder:
        text = " ".join(
            f"word {number} of a text that is only there to be found again" for number in range(40)
        )
        (Path(folder) / "text.txt").write_text(text + "-" * 200)
        index = open_index(build_index([Path(folder) / "text.txt"], Path(folder) / "index"))
        piece = text[:100].encode()
        (found,) = index.find([piece])
        if not found or index.count([piece]).documents[0] != 1:
            raise RuntimeError(
                "the index does not find a text that it holds; report this with the versions in use"
            )
        index.count_windows(piece, np.arange(0, 40), np.arange(60, 100))
        index.document_ids([piece])
        index.count_strings(["word 7", "text"], whole_words=True)


if __name__ == "__main__":
    warm()
