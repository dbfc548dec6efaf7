"""Brings together what one model made of all targets: probabilities, greedy decoding, near matches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.discoverable.continuations import Tokens
from extraction.discoverable.edits import nearest
from extraction.discoverable.outcomes import Readings
from extraction.records import GENERATION_SCHEMA
from pipelines.parts import PartStore
from pipelines.prefix.readings import READING_SCHEMA

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Read:
    """What one model made of all targets.

    Attributes:
        readings: of the targets, in their order.
        continuations: int64[targets], true continuations that counted for each.
        more: bool[targets], those whose prompt goes on in more ways than counted.
        too_long: bool[targets], those that do not fit the model's length.
        failed: bool[targets], those whose greedy request failed.
    """

    readings: Readings
    continuations: NDArray[np.int64]
    more: Bools
    too_long: Bools
    failed: Bools

    @property
    def usable(self) -> Bools:
        """bool[targets]: those that can be counted."""
        return np.asarray(~self.too_long & ~self.failed & ~np.isnan(self.readings.log_probability))


def collect(
    numbers: Sequence[int], true: Sequence[Sequence[Tokens]], readings: PartStore, greedy: PartStore
) -> Read:
    """Bring together what was read and generated, each target once.

    Args:
        numbers: of all targets, in the order of their parts.
        true: the true continuations of each.
        readings: parts of `READING_SCHEMA`.
        greedy: generations of the greedy requests.

    Raises:
        ValueError: a target is missing or stands there twice.
    """
    read = readings.read_all(READING_SCHEMA)
    written = greedy.read_all(GENERATION_SCHEMA, ["number", "token_ids", "finish_reason"])
    if read["target"].to_pylist() != list(numbers) or written["number"].to_pylist() != list(numbers):
        raise ValueError("targets are missing or stand there twice")
    own = zip(written["token_ids"].to_pylist(), true, strict=True)
    edits = [nearest(tokens, continuations) for tokens, continuations in own]
    return Read(
        readings=Readings(
            np.asarray(read["log_probability"].to_numpy(), dtype=np.float64),
            np.array(read["greedy"].to_pylist(), dtype=np.bool_),
            np.array(edits, dtype=np.int64),
        ),
        continuations=np.array(read["continuations"].to_pylist(), dtype=np.int64),
        more=np.array(read["more"].to_pylist(), dtype=np.bool_),
        too_long=np.array(read["too_long"].to_pylist(), dtype=np.bool_),
        failed=np.array(
            [reason == "failed" for reason in written["finish_reason"].to_pylist()], dtype=np.bool_
        ),
    )
