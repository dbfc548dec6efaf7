"""Canary formats: text with typed blanks, and the space of all ways to fill them in.

`my account number is {digits:9}` has 10**9 fillings, numbered from 0 in the order of its symbols.
"""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

ALPHABETS = {
    "digits": tuple(string.digits),
    "letters": tuple(string.ascii_lowercase),
    "capitals": tuple(string.ascii_uppercase),
    "hex": tuple("0123456789abcdef"),
}
WORDS = "words"
LONGEST = 64  # symbols of a blank


@dataclass(frozen=True)
class Format:
    """A canary's text as a sequence of pieces.

    Attributes:
        name: of the format.
        pieces: the symbols that may stand at each place; fixed text is a piece of one symbol.
        secret: first and last but one of the pieces from the first blank to the end of the last.
    """

    name: str
    pieces: tuple[tuple[str, ...], ...]
    secret: tuple[int, int]

    @property
    def size(self) -> int:
        """Ways to fill the blanks in."""
        return prod(map(len, self.pieces))

    def text(self, filling: int) -> str:
        """The text of one filling."""
        return "".join(self._symbols(filling))

    def value(self, filling: int) -> str:
        """What stands in the blanks, and between them."""
        return "".join(self._symbols(filling)[slice(*self.secret)])

    def texts(self) -> Iterator[str]:
        """The texts of all fillings, in the order of their numbers."""
        return map("".join, product(*self.pieces))

    def _symbols(self, filling: int) -> list[str]:
        if not 0 <= filling < self.size:
            raise ValueError(f"format {self.name}: has no filling {filling}")
        chosen = []
        for piece in reversed(self.pieces):
            filling, place = divmod(filling, len(piece))
            chosen.append(piece[place])
        return chosen[::-1]


def parse_format(name: str, template: str, words: Sequence[str] = ()) -> Format:
    """Read a template.

    Args:
        name: of the format.
        template: text with blanks `{digits:9}`, `{letters:4}`, `{capitals:3}`, `{hex:8}` or `{words:2}`; a brace that
            is text is written twice.
        words: the words that `{words:N}` draws from.

    Raises:
        ValueError: it has no blank, or one that cannot be read.
    """
    pieces: list[tuple[str, ...]] = []
    blanks: list[tuple[int, int]] = []
    for fixed, kind, length, conversion in string.Formatter().parse(template):
        if fixed:
            pieces.append((fixed,))
        if kind is None:
            continue
        blank = _blank(kind, length or "", conversion, words)
        if blanks and blanks[-1][1] == len(pieces):
            raise ValueError("two blanks touch; put a character between them, or make them one")
        blanks.append((len(pieces), len(pieces) + len(blank)))
        pieces += blank
    if not blanks:
        raise ValueError("has no blank; write one as {digits:9}")
    return Format(name, tuple(pieces), (blanks[0][0], blanks[-1][1]))


def _blank(kind: str, length: str, conversion: str | None, words: Sequence[str]) -> list[tuple[str, ...]]:
    known = ", ".join((*ALPHABETS, WORDS))
    if kind not in (*ALPHABETS, WORDS) or conversion:
        raise ValueError(f"`{{{kind}}}` is no blank; known are {known}, as in {{digits:9}}")
    if not length.isdecimal() or not 1 <= int(length) <= LONGEST:
        raise ValueError(f"`{{{kind}:{length}}}`: say how many, from 1 to {LONGEST}, as in {{{kind}:9}}")
    if kind != WORDS:
        return [ALPHABETS[kind]] * int(length)
    if len(words) < 2:
        raise ValueError("`{words}` draws from the list `words`; give at least two")
    spaced: list[tuple[str, ...]] = [tuple(words), (" ",)] * int(length)
    return spaced[:-1]
