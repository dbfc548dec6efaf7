"""Chooses the canaries' values and their places in a corpus, both functions of a seed. Knows no files."""

import random
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from extraction.canaries.formats import Format
from extraction.canaries.key import Canary

Ints = NDArray[np.int64]

SPARES = 4
"""So many values are drawn for each canary, for some may stand in the corpus already."""

_BETWEEN_DIGITS = re.compile(r"(?<=\d)[ \-.](?=\d)")


def draw_fillings(formats: Sequence[Format], wanted: int, seed: int) -> dict[str, list[int]]:
    """Draw more fillings of each format than are wanted, no value twice.

    Args:
        formats: of the canaries.
        wanted: canaries of each format.
        seed: of the draw.

    Returns:
        for each format, fillings in the order in which they were drawn.

    Raises:
        ValueError: a format has too few fillings.
    """
    taken: set[str] = set()
    drawn = {}
    for form in formats:
        rng = random.Random(f"{seed}/{form.name}")  # noqa: S311 - reproducible on purpose
        if form.size < 2 * wanted:
            raise ValueError(
                f"format {form.name}: {form.size:,} fillings are too few for {wanted:,} canaries; lengthen its blank"
            )
        drawn[form.name] = _distinct(form, min(SPARES * wanted, form.size // 2), rng, taken)
        if len(drawn[form.name]) < wanted:
            raise ValueError(f"format {form.name}: its values went to another format; lengthen its blank")
    return drawn


def _distinct(form: Format, count: int, rng: random.Random, taken: set[str]) -> list[int]:
    found: list[int] = []
    for _ in range(100 * count):
        if len(found) == count:
            break
        filling = rng.randrange(form.size)
        if (value := form.value(filling)) not in taken:
            taken.add(value)
            found.append(filling)
    return found


class ValueScan:
    """Which of some values stand in texts, whatever their case, and whatever separates their digits."""

    def __init__(self, values: Collection[str]) -> None:
        """Prepare to look for values."""
        from ahocorasick_rs import AhoCorasick

        self._values = list(values)
        self._automaton = AhoCorasick([value.lower() for value in self._values])
        self.standing: set[str] = set()
        """Those that were found so far."""

    def look(self, text: str) -> None:
        """Look through one text."""
        lowered = " ".join(text.lower().split())  # a line may end within a value
        self._find(lowered)
        if (joined := _BETWEEN_DIGITS.sub("", lowered)) != lowered:
            self._find(joined)

    def _find(self, text: str) -> None:
        for found, _, _ in self._automaton.find_matches_as_indexes(text, overlapping=True):
            self.standing.add(self._values[found])


def choose_canaries(
    formats: Sequence[Format],
    drawn: Mapping[str, Sequence[int]],
    standing: Collection[str],
    insertions: Mapping[int, int],
) -> list[Canary]:
    """Take the first fillings of each format whose values do not stand in the corpus.

    Args:
        formats: of the canaries.
        drawn: fillings of each.
        standing: values that stand in the corpus.
        insertions: how many canaries are inserted so often.

    Raises:
        ValueError: too few values of a format are left.
    """
    wanted = [(times, number) for times, count in sorted(insertions.items()) for number in range(count)]
    chosen = []
    for form in formats:
        left = [filling for filling in drawn[form.name] if form.value(filling) not in standing]
        if len(left) < len(wanted):
            raise ValueError(
                f"format {form.name}: {len(drawn[form.name]) - len(left):,} of {len(drawn[form.name]):,} values drawn "
                "stand in the corpus already; lengthen its blank"
            )
        named = zip(wanted, left, strict=False)
        chosen += [
            Canary(f"{form.name}-x{times}-{number:03d}", form.name, filling, times)
            for (times, number), filling in named
        ]
    return chosen


def draw_places(canaries: Sequence[Canary], records: int, seed: int) -> tuple[Ints, Ints]:
    """Draw where the copies go, each place as likely as any other.

    Args:
        canaries: with their insertions.
        records: of the corpus.
        seed: of the draw.

    Returns:
        before which record (`records`: behind the last) each copy goes, ascending, and which canary it is.
    """
    rng = np.random.default_rng(seed)
    copies = np.repeat(np.arange(len(canaries)), [canary.insertions for canary in canaries])
    gaps = rng.integers(0, records + 1, copies.size)
    order = np.argsort(gaps, kind="stable")
    return gaps[order], copies[order]
