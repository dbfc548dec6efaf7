"""A sampling run beside the known prefixes: which targets its generations hold, at each of its budgets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.budgets import Cutoffs, prefix_cutoffs
from extraction.discoverable.continuations import Tokens
from extraction.discoverable.recovery import Finder
from extraction.errors import InputError
from extraction.model import model_fingerprint
from extraction.token_bytes import TokenBytes
from extraction.windows import LOW_ENTROPY
from index import Index
from pipelines.config import RunConfig, parse_config
from pipelines.match import MatchStores
from pipelines.prefix.config import PrefixConfig
from pipelines.rundir import RunDirectory
from pipelines.unsearched import lengths_of

Place = tuple[str, int]
"""A request: its family and its number."""


@dataclass(frozen=True)
class SampledRun:
    """A finished run of the same model on the same corpus.

    Attributes:
        directory: where it stands.
        id: its id.
        model: the fingerprint of its model; None: it does not say.
        corpus: the fingerprint of its corpus; None: it does not say.
        complete: whether it says that it is.
        config: its configuration.
        cutoffs: of each family, which requests count at each budget.
        control: its control run; None where it has none.
    """

    directory: RunDirectory
    id: str
    model: str | None
    corpus: str | None
    complete: bool
    config: RunConfig
    cutoffs: Mapping[str, Cutoffs]
    control: "SampledRun | None"

    @property
    def budgets(self) -> list[int]:
        """In generated tokens, ascending."""
        return sorted(self.config.budgets)

    @property
    def reached(self) -> list[bool]:
        """Whether it generated as many tokens, of each budget."""
        return [all(bool(own.reached[n]) for own in self.cutoffs.values()) for n in range(len(self.budgets))]

    def first_budget(self, place: Place) -> int | None:
        """The number of the first budget that counts a request; None: none does."""
        requests = self.cutoffs[place[0]].requests
        return next((n for n in range(len(requests)) if place[1] < int(requests[n])), None)


def open_run(path: Path, config: PrefixConfig, index: Index) -> SampledRun:
    """Open a run to compare with.

    Args:
        path: its directory.
        config: of the prefix test.
        index: of the corpus.

    Raises:
        InputError: it is no finished run of this model on this corpus.
    """
    run = _opened(path)
    if run.model != model_fingerprint(config.model):
        raise InputError(f"run: {path}: of another model than `model.path` names; name a run of this one")
    if run.corpus != index.info.fingerprint:
        raise InputError(f"run: {path}: searched another corpus than `corpus` names; name a run on this one")
    if run.config.min_tokens > config.target_tokens:
        raise InputError(
            f"run: {path}: its shortest match has {run.config.min_tokens} tokens; set target_tokens to as many"
        )
    if config.control and run.control and run.control.model != model_fingerprint(config.control):
        raise InputError(
            f"control.path: {config.control.path}: another model than the control of run {path}; name that one"
        )
    if config.games and run.config.identifiers != config.identifiers:
        raise InputError(
            f"run: {path}: tagged with other `identifiers`; write the same section into this file"
        )
    return run


def _opened(path: Path) -> SampledRun:
    directory = RunDirectory(path)
    state = directory.read()
    if state.get("status") not in ("complete", "incomplete") or not (path / "report.json").exists():
        raise InputError(f"run: {path}: not finished; finish it with `extraction run`, or leave `run` out")
    if state.get("purged"):
        raise InputError(f"run: {path}: its texts were purged; name another run, or leave `run` out")
    config = parse_config(state.get("config") or {}, str(path / "run.json"))
    prints = state.get("fingerprints") or {}
    lengths = lengths_of(directory.store("generations"))
    control = path / "control"
    return SampledRun(
        directory=directory,
        id=str(state["run"]),
        model=prints.get("model"),
        corpus=prints.get("corpus"),
        complete=state["status"] == "complete",
        config=config,
        cutoffs=prefix_cutoffs(lengths, config.prompts.shares(), sorted(config.budgets)),
        control=_opened(control) if (control / "run.json").exists() else None,
    )


def written_targets(
    run: SampledRun, continuations: Sequence[Sequence[Tokens]], table: TokenBytes
) -> NDArray[np.bool_]:
    """Of which targets a run wrote a window: of any text that truly follows the prompt, as all of them count.

    Args:
        run: the run.
        continuations: the true continuations of each target.
        table: the bytes of the model's tokens.

    Returns:
        bool[budgets, targets], at each of its budgets.
    """
    written = np.zeros((len(run.budgets), len(continuations)), dtype=np.bool_)
    if not continuations:
        return written
    windows = [
        (target, window)
        for target, own in enumerate(continuations)
        for tokens in own
        for window in windows_of(table.bytes_of(tokens), run.config.min_tokens)
    ]
    owners, finder = np.array([target for target, _ in windows]), Finder([window for _, window in windows])
    for place, data in _stretches(run):
        if (first := run.first_budget(place)) is not None:
            written[first:, owners[list(finder.in_text(data))]] = True
    return written


def windows_of(pieces: Sequence[bytes], tokens: int) -> list[bytes]:
    """The bytes of every run of some tokens, given those of each token."""
    return [b"".join(pieces[start : start + tokens]) for start in range(len(pieces) - tokens + 1)]


def _stretches(run: SampledRun) -> Iterator[tuple[Place, bytes]]:
    """Every stretch that is no filler, with the request that gave it; part by part."""
    store = MatchStores.of(run.directory).stretches
    for name in store.complete():
        rows: list[dict[str, Any]] = store.read(name, ["family", "number", "kind", "data"]).to_pylist()
        for row in rows:
            if row["kind"] != LOW_ENTROPY:
                yield (row["family"], row["number"]), row["data"]
