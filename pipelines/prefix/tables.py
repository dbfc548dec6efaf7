"""All targets in columns, with what each model made of them, and the rows of the tables made from that."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.discoverable.continuations import Tokens
from extraction.discoverable.outcomes import Outcome, Rules, outcome
from pipelines.parts import PartStore
from pipelines.prefix.collected import Read, collect
from pipelines.prefix.targets import TARGET_SCHEMA, TrueContinuations

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

BINS = ((1, 1), (2, 2), (3, 5), (6, 10), (11, 50), (51, 100), (101, 1000), (1001, None))
"""Numbers of copies and of documents, both ends included."""


@dataclass(frozen=True)
class Targets:
    """All targets.

    Attributes:
        prefix_tokens: int64[targets], tokens of each prompt.
        copies: int64[targets], records that hold just the document it was cut out of.
        document_count: int64[targets], documents that hold the target's bytes.
        low_entropy: bool[targets], whether it is filler.
        continuations: the true continuations of each, its own first.
        read: by model, what it made of them.
    """

    prefix_tokens: Ints
    copies: Ints
    document_count: Ints
    low_entropy: Bools
    continuations: Sequence[Sequence[Tokens]]
    read: Mapping[str, Read]

    @classmethod
    def load(
        cls, targets: PartStore, true: TrueContinuations, stores: Mapping[str, tuple[PartStore, PartStore]]
    ) -> "Targets":
        """Read all parts.

        Args:
            targets: the targets.
            true: their true continuations.
            stores: by model, its readings and its greedy generations.

        Raises:
            ValueError: a target was read twice, or not at all.
        """
        table = targets.read_all(TARGET_SCHEMA)
        numbers = table["target"].to_pylist()
        own = zip(numbers, table["token_ids"].to_pylist(), strict=True)
        continuations = [true.of(number, tokens) for number, tokens in own]
        return cls(
            prefix_tokens=_integers(table["prefix_tokens"]),
            copies=_integers(table["copies"]),
            document_count=_integers(table["document_count"]),
            low_entropy=np.array(table["low_entropy"].to_pylist(), dtype=np.bool_),
            continuations=continuations,
            read={name: collect(numbers, continuations, *both) for name, both in stores.items()},
        )

    @property
    def usable(self) -> Bools:
        """bool[targets]: those that every model gave a number and a generation for."""
        return np.asarray(np.logical_and.reduce([one.usable for one in self.read.values()]))

    def of_length(self, length: int) -> Bools:
        """bool[targets]: those with a prompt of one length that are counted, filler left out."""
        return np.asarray((self.prefix_tokens == length) & self.usable & ~self.low_entropy)

    def outcomes(self, chosen: Bools, rules: Rules) -> dict[str, Any]:
        """What every model brings out of some targets; null where there are none."""
        found: dict[str, Outcome | None] = {
            name: outcome(one.readings.some(chosen), rules) for name, one in self.read.items()
        }
        return {name: None if one is None else asdict(one) for name, one in found.items()}


def _integers(column: Any) -> Ints:
    return np.array(column.to_pylist(), dtype=np.int64)


def length_rows(targets: Targets, lengths: Sequence[int], rules: Rules) -> list[dict[str, Any]]:
    """One row for each length of the prompt."""
    rows = []
    for length in lengths:
        own, chosen = targets.prefix_tokens == length, targets.of_length(length)
        read = next(iter(targets.read.values()))
        rows.append(
            {
                "prefix_tokens": length,
                "targets": int(chosen.sum()),
                "low_entropy": int((own & targets.low_entropy & targets.usable).sum()),
                "not_counted": not_counted(targets, own),
                "several_continuations": int((read.continuations[chosen] > 1).sum()),
                "more_continuations": int(read.more[chosen].sum()),
                "by_model": targets.outcomes(chosen, rules),
            }
        )
    return rows


def not_counted(targets: Targets, chosen: Bools) -> dict[str, int]:
    """How many of some targets are not counted, by the first reason that holds."""
    reads = targets.read.values()
    too_long = np.logical_or.reduce([one.too_long for one in reads]) & chosen
    failed = np.logical_or.reduce([one.failed for one in reads]) & chosen & ~too_long
    lost = chosen & ~targets.usable & ~too_long & ~failed
    return {"too_long": int(too_long.sum()), "failed": int(failed.sum()), "not_a_number": int(lost.sum())}


def bin_rows(targets: Targets, counts: Ints, chosen: Bools, rules: Rules) -> list[dict[str, Any]]:
    """One row for each class of a number of copies or documents that holds a target.

    Args:
        targets: all of them.
        counts: int64[targets], what they are classed by.
        chosen: bool[targets], which are looked at.
        rules: when one counts as brought out.
    """
    rows = []
    for low, high in BINS:
        inside = chosen & (counts >= low) & (counts <= (counts.max(initial=low) if high is None else high))
        if inside.any():
            found = {"from": low, "to": high, "targets": int(inside.sum())}
            rows.append(found | {"by_model": targets.outcomes(inside, rules)})
    return rows
