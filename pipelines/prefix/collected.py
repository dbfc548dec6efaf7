"""Brings together what one model made of all targets: probabilities, greedy decoding, near matches."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.discoverable.edits import nearest
from extraction.discoverable.outcomes import Readings
from extraction.records import GENERATION_SCHEMA
from pipelines.parts import PartStore
from pipelines.prefix.readings import READING_SCHEMA
from pipelines.prefix.targets import TrueContinuations

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Read:
    """What one model made of all targets.

    Attributes:
        readings: of the targets, in their order.
        continuations: int64[targets], true continuations that counted for each.
        too_long: bool[targets], those that do not fit the model's length.
        failed: bool[targets], those whose greedy request failed.
    """

    readings: Readings
    continuations: NDArray[np.int64]
    too_long: Bools
    failed: Bools

    @property
    def usable(self) -> Bools:
        """bool[targets]: those that can be counted."""
        return np.asarray(~self.too_long & ~self.failed & ~np.isnan(self.readings.log_probability))


def collect(targets: pa.Table, true: TrueContinuations, readings: PartStore, greedy: PartStore) -> Read:
    """Bring together what was read and generated, each target once.

    Args:
        targets: `target` and `token_ids` of all targets, in the order of their parts.
        true: their true continuations.
        readings: parts of `READING_SCHEMA`.
        greedy: generations of the greedy requests.

    Raises:
        ValueError: a target is missing or stands there twice.
    """
    numbers = targets["target"].to_pylist()
    read = readings.read_all(READING_SCHEMA)
    written = greedy.read_all(GENERATION_SCHEMA, ["number", "token_ids", "finish_reason"])
    if read["target"].to_pylist() != numbers or written["number"].to_pylist() != numbers:
        raise ValueError("targets are missing or stand there twice")
    own = zip(numbers, targets["token_ids"].to_pylist(), written["token_ids"].to_pylist(), strict=True)
    edits = [nearest(tokens, true.of(number, target)) for number, target, tokens in own]
    return Read(
        readings=Readings(
            np.asarray(read["log_probability"].to_numpy(), dtype=np.float64),
            np.array(read["greedy"].to_pylist(), dtype=np.bool_),
            np.array(edits, dtype=np.int64),
        ),
        continuations=np.array(read["continuations"].to_pylist(), dtype=np.int64),
        too_long=np.array(read["too_long"].to_pylist(), dtype=np.bool_),
        failed=np.array(
            [reason == "failed" for reason in written["finish_reason"].to_pylist()], dtype=np.bool_
        ),
    )
