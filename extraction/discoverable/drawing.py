"""Draws documents: each has a key that is a function of the seed and its text, and the smallest keys are drawn.

So the sample does not depend on how the corpus is cut up, and samples of parts are merged. A text that several records
hold is one document here and counts once.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Literal

By = Literal["documents", "tokens"]


@dataclass(frozen=True)
class Drawn:
    """A drawn document.

    Attributes:
        key: what the draw went by; the smallest are drawn.
        fraction: a random number in [0, 1) of its own: where in it a random place is.
        copies: records of the corpus that hold just this text.
        text: at most `most` bytes of UTF-8, from its beginning.
        whole: whether that is all of it.
    """

    key: float
    fraction: float
    copies: int
    text: bytes
    whole: bool


@dataclass(frozen=True)
class Draw:
    """How documents are drawn.

    Attributes:
        seed: of the draw.
        by: `documents`: each with the same probability; `tokens`: in proportion to its length in bytes, which stand for
            tokens here, without replacement (Efraimidis and Spirakis, 2006).
        count: how many.
        most: bytes of a document that are looked at.
    """

    seed: int
    by: By
    count: int
    most: int

    def smallest(self, documents: Iterable[tuple[list[str], bytes]]) -> list[Drawn]:
        """Draw from (ids, text) of some documents, in the order of their keys."""
        return nsmallest(self.count, self._keyed(documents), key=lambda drawn: drawn.key)

    def _keyed(self, documents: Iterable[tuple[list[str], bytes]]) -> Iterator[Drawn]:
        for ids, text in documents:
            if text:
                key, fraction = self.numbers(text)
                yield Drawn(key, fraction, len(ids), bytes(text[: self.most]), len(text) <= self.most)

    def numbers(self, text: bytes) -> tuple[float, float]:
        """The key of a text and its own random number."""
        digest = blake2b(text, key=f"draw {self.seed}".encode(), digest_size=16).digest()
        uniform = (int.from_bytes(digest[:8], "little") + 0.5) / 2**64
        weight = 1.0 if self.by == "documents" else float(min(len(text), self.most))
        return -math.log(uniform) / weight, (int.from_bytes(digest[8:], "little") >> 11) * 2.0**-53
