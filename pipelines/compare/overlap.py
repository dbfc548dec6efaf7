"""Which passages of one run another run gave back too.

Two passages are one if they would have been one passage in a single run: they share a run of text as long as
a window. A window is counted in tokens, and tokenizers differ; so its length in bytes is taken from each
passage's own bytes per token, the larger of the two deciding. Shorter phrases that both hold do not count.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Passage:
    """A passage as far as comparing needs it.

    Attributes:
        passage_id: its id in its own run.
        text: its UTF-8 bytes.
        window: bytes of `min_tokens` of its tokens, at its own bytes per token.
    """

    passage_id: str
    text: bytes
    window: int


def make_passage(passage_id: str, text: str, tokens: int, min_tokens: int) -> Passage:
    """Make a passage; `tokens` is the length of its text in tokens."""
    data = text.encode()
    window = min(len(data), max(min_tokens, -(-len(data) * min_tokens // max(tokens, 1))))
    return Passage(passage_id, data, window)


def in_common(passages: Sequence[Passage], others: Sequence[Passage]) -> list[bool]:
    """Say for each passage whether one of the others is the same passage.

    Every shared run long enough is found: blocks of the others stand so close together that such a run holds
    a whole one. Time is proportional to the bytes of both, as long as few blocks are frequent.
    """
    block = min((p.window for p in (*passages, *others)), default=0) // 2
    if block == 0 or not passages or not others:
        return [False] * len(passages)
    places: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
    for number, other in enumerate(others):
        for start in range(0, len(other.text) - block + 1, block):
            places[other.text[start : start + block]].append((number, start))
    return [_shares(passage, others, places, block) for passage in passages]


def _shares(
    passage: Passage, others: Sequence[Passage], places: dict[bytes, list[tuple[int, int]]], block: int
) -> bool:
    tried: set[tuple[int, int]] = set()
    for start in range(len(passage.text) - block + 1):
        for number, place in places.get(passage.text[start : start + block], ()):
            other = others[number]
            if (number, place - start) in tried:
                continue
            tried.add((number, place - start))
            if _longest_run(passage.text, other.text, place - start) >= max(passage.window, other.window):
                return True
    return False


def _longest_run(text: bytes, other: bytes, shift: int) -> int:
    """The longest run of equal bytes between `text[i]` and `other[i + shift]`."""
    first, last = max(0, -shift), min(len(text), len(other) - shift)
    ours = np.frombuffer(text, np.uint8)[first:last]
    theirs = np.frombuffer(other, np.uint8)[first + shift : last + shift]
    unequal = np.flatnonzero(ours != theirs)
    return int(np.diff(unequal, prepend=-1, append=len(ours)).max()) - 1
