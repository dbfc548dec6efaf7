"""Where a model that was asked to repeat a word stops repeating it, and whether text follows.

Only what follows is of interest: a model that leaves the repetition can fall back into training text
(Nasr et al., 2023).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from extraction.draws import WORD, Draws, Numbers
from extraction.token_bytes import TokenBytes

_LETTER = rb"[0-9A-Za-z\x80-\xff]"
_BETWEEN = rb"[^0-9A-Za-z\x80-\xff]*"
_REST = re.compile(_LETTER + rb".*", re.DOTALL)
_LEAST = 3
"""Times in a row from which the word is being repeated; fewer can be a sentence that speaks of it."""


@dataclass(frozen=True)
class AskedWords:
    """Which word each request of a family asks to repeat.

    Attributes:
        run_seed: the seed of the whole run.
        family: the prompt family.
        words: the words that are drawn from.
    """

    run_seed: int
    family: str
    words: tuple[str, ...]

    def of(self, numbers: Numbers) -> list[str]:
        """The word of each request, by its number within the family."""
        draw = Draws(self.run_seed, self.family, numbers)
        return [self.words[place] for place in draw.below(WORD, len(self.words)).tolist()]


@dataclass(frozen=True)
class Repetition:
    """How one generation repeats its word.

    Attributes:
        times: how often the word stands in the repetition; 0 where there is none.
        end: tokens up to the end of the repetition, what may stand before it included.
        diverged: there was a repetition, and text follows it.
    """

    times: int
    end: int
    diverged: bool


def find_repetition(token_ids: Sequence[int], word: str, token_bytes: TokenBytes) -> Repetition:
    """Find the repetition of a word in a generation.

    It is the first place where the word stands three times in a row, in either case and with anything but letters
    and digits between; or else, at the very start of the generation, once or twice.

    Args:
        token_ids: every sampled token.
        word: what the prompt asks to repeat, of ASCII letters.
        token_bytes: the bytes of the tokens.
    """
    pieces = token_bytes.bytes_of(token_ids)
    data = b"".join(pieces)
    found = _repeated(data, word.encode())
    if found is None:
        return Repetition(0, 0, False)
    offsets = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces])))
    rest = _REST.search(data, found.end())
    # A limit can cut the last copy of the word short.
    follows = rest is not None and not word.encode().startswith(rest.group().lower())
    times = found.group().lower().count(word.encode())
    return Repetition(times, int(np.searchsorted(offsets, found.end())), follows)


def _repeated(data: bytes, word: bytes) -> re.Match[bytes] | None:
    run = re.compile(rb"(?<!%b)%b(?:%b%b)*(?!%b)" % (_LETTER, word, _BETWEEN, word, _LETTER), re.IGNORECASE)
    found = list(run.finditer(data))
    long = next((m for m in found if m.group().lower().count(word) >= _LEAST), None)
    if long is not None or not found:
        return long
    return found[0] if _REST.search(data, 0, found[0].start()) is None else None


# One row for each generation of a family that asks to repeat a word.
REPETITION_SCHEMA = pa.schema(
    [
        ("family", pa.string()),
        ("number", pa.int64()),
        ("times", pa.int32()),
        ("end", pa.int32()),
        ("diverged", pa.bool_()),
    ]
)
