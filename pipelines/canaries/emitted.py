"""Which canaries an extraction run wrote: a canary's value in a generation, at each budget of the run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from extraction.budgets import prefix_cutoffs
from extraction.errors import InputError
from extraction.model import load_tokenizer
from extraction.token_bytes import TokenBytes
from pipelines.config import RunConfig, parse_config
from pipelines.parts import PartStore
from pipelines.rundir import RunDirectory

Place = tuple[str, int]
"""A request: its family and its number."""


@dataclass(frozen=True)
class Emitted:
    """What a run wrote of the canaries.

    Attributes:
        run: the run's name.
        complete: whether the run is.
        budgets: in generated tokens, ascending.
        reached: whether the run generated as many, of each budget.
        first: of each canary's id the smallest budget at which its value stands in a generation; None: at none.
    """

    run: str
    complete: bool
    budgets: list[int]
    reached: list[bool]
    first: dict[str, int | None]


def emitted_canaries(run: Path, values: Mapping[str, str]) -> Emitted:
    """Look for the canaries' values in a run's generations, as words of their own; prompts are not looked at.

    Args:
        run: a run directory.
        values: what stands in the blanks of each canary, by its id.

    Raises:
        InputError: it is no run directory, or its generations cannot be read.
    """
    state = RunDirectory(run).read()
    config = parse_config(state.get("config") or {}, str(run / "run.json"))
    generations = RunDirectory(run).store("generations")
    if not generations.complete():
        raise InputError(f"{run}: has no generations; finish the run with `extraction run`")
    decode = TokenBytes.from_tokenizer(load_tokenizer(config.model)).decode
    lengths: dict[Place, int] = {}
    written: dict[str, set[Place]] = {name: set() for name in values}
    finder = _Finder(values)
    for place, tokens in _generations(generations):
        lengths[place] = len(tokens)
        for name in finder.names_in(decode(tokens)):
            written[name].add(place)
    return _by_budget(str(state.get("run")), state.get("status") == "complete", config, lengths, written)


class _Finder:
    """Finds values that no letter and no digit adjoins."""

    def __init__(self, values: Mapping[str, str]) -> None:
        from ahocorasick_rs import AhoCorasick

        self._names = list(values)
        self._automaton = AhoCorasick(list(values.values()))

    def names_in(self, text: str) -> set[str]:
        """The canaries whose values stand in a text."""
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return {self._names[n] for n, start, end in found if _alone(text, start, end)}


def _alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _generations(store: PartStore) -> Iterator[tuple[Place, list[int]]]:
    for name in store.complete():
        table = store.read(name, ["family", "number", "token_ids"])
        for row in table.to_pylist():
            yield (row["family"], row["number"]), row["token_ids"]


def _by_budget(
    run: str,
    complete: bool,
    config: RunConfig,
    lengths: Mapping[Place, int],
    written: Mapping[str, Iterable[Place]],
) -> Emitted:
    shares, budgets = config.prompts.shares(), sorted(config.budgets)
    of_family = {
        family: np.array([lengths[place] for place in sorted(lengths) if place[0] == family], dtype=np.int64)
        for family in shares
    }
    cutoffs = prefix_cutoffs(of_family, shares, budgets)
    reached = [all(bool(cut.reached[n]) for cut in cutoffs.values()) for n in range(len(budgets))]

    def counts(place: Place, n: int) -> bool:
        return place[1] < int(cutoffs[place[0]].requests[n])

    first = {
        name: next((b for n, b in enumerate(budgets) if any(counts(p, n) for p in places)), None)
        for name, places in written.items()
    }
    return Emitted(run, complete, budgets, reached, first)
