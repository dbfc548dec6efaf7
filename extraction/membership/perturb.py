"""Copies of a text with a few words moved: the neighbours that it is compared with (Mattern et al. 2023).

The copies depend on the text alone, so that its score is the same whatever else is scored.
"""

import random
import zlib

SHARE = 0.1
"""Of the words: how many change places with the next one."""


def neighbours(text: str, count: int) -> list[str]:
    """Make copies.

    Args:
        text: of at least two different words, or the copies are the text itself.
        count: how many.
    """
    rng = random.Random(zlib.crc32(text.encode()))  # noqa: S311 - copies, no secret
    return [_moved(text.split(), rng) for _ in range(count)]


def _moved(words: list[str], rng: random.Random) -> str:
    if len(words) < 2:
        return " ".join(words)
    for _ in range(max(1, round(SHARE * len(words)))):
        at = rng.randrange(len(words) - 1)
        words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)
