"""What every part of the index agrees on: marks between documents, seed length, gap between seeds."""

from dataclasses import dataclass

FORMAT = "extraction-index"
VERSION = 3

# UTF-8 never holds these bytes. DOCUMENT_MARK stands before and after every document of a segment's text,
# QUERY_MARK around every text that is looked up: no comparison can cross a border, and none needs a bound.
DOCUMENT_MARK = 0xFF
QUERY_MARK = 0xFE
LAST_MARK = 0xFD
PAD = 64

NARROW_LIMIT = 1 << 32
# How much text one entry of the table that leads from a position to its document stands for.
BLOCK_BYTES = 1 << 12

SMALLEST_MINIMUM = 16


@dataclass(frozen=True)
class Layout:
    """How seeds are laid out for a given shortest match.

    Attributes:
        min_bytes: the shortest match that is promised to be found.
        words: length of a seed in words of eight bytes.
    """

    min_bytes: int
    words: int

    @property
    def seed_bytes(self) -> int:
        """Length of a seed in bytes."""
        return 8 * self.words

    @property
    def gap(self) -> int:
        """The largest distance between neighbouring seeds, and the usual length of their left context."""
        return self.min_bytes - self.seed_bytes + 1

    @property
    def longest_period(self) -> int:
        """The longest period of a run: two periods fit into a seed, so a seed cannot lie in two runs."""
        return min(8, self.seed_bytes // 2)

    @property
    def numbers(self) -> tuple[int, int, int]:
        """What kernels need to know: shortest match, words in a seed, longest period."""
        return self.min_bytes, self.words, self.longest_period


def layout_for(min_bytes: int) -> Layout:
    """Choose the seed length for a shortest match: about two thirds of it, whole words, 32 bytes at most."""
    if min_bytes < SMALLEST_MINIMUM:
        raise ValueError(f"min_bytes must be at least {SMALLEST_MINIMUM}, not {min_bytes}")
    return Layout(min_bytes, min(4, max(1, min_bytes * 2 // 3 // 8)))
