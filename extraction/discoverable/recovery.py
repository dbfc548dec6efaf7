"""How much of what the true opening brings out a sampling run found, on the same documents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Interval, wilson

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Recovery:
    """Targets by whether the true opening brings them out, and whether a run wrote them.

    Attributes:
        brought_out: by the opening, whether or not the run wrote them.
        both: brought out and written by the run.
        opening_alone: brought out, and not written.
        run_alone: written, and not brought out.
        neither: the rest.
        share: of those that the opening brings out, the share that the run wrote, with its Wilson interval; None where
            it brings out none.
    """

    brought_out: int
    both: int
    opening_alone: int
    run_alone: int
    neither: int
    share: Interval | None


def recovery(brought_out: Bools, written: Bools) -> Recovery:
    """Compare what the opening brings out of some targets, bool[n], with what a run wrote of them, bool[n]."""
    both, opening = int((brought_out & written).sum()), int(brought_out.sum())
    run_alone = int((written & ~brought_out).sum())
    share = wilson(both, opening) if opening else None
    neither = brought_out.size - opening - run_alone
    return Recovery(opening, both, opening - both, run_alone, neither, share)


class Finder:
    """Finds which texts stand whole in others."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        """Compile the texts; none empty, one may stand there several times."""
        from ahocorasick_rs import BytesAhoCorasick

        self._numbers: dict[bytes, list[int]] = {}
        for number, text in enumerate(texts):
            self._numbers.setdefault(text, []).append(number)
        self._distinct = list(self._numbers)
        self._automaton = BytesAhoCorasick(self._distinct)

    def in_text(self, text: bytes) -> Iterable[int]:
        """Numbers of the texts that stand in another."""
        places = {place for place, _, _ in self._automaton.find_matches_as_indexes(text, overlapping=True)}
        return [number for place in sorted(places) for number in self._numbers[self._distinct[place]]]
