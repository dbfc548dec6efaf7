"""What a sampling run found of the targets: a window of any text that truly follows the prompt."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from extraction.budgets import Cutoffs
from extraction.token_bytes import TokenBytes
from extraction.windows import LOW_ENTROPY, PRIVATE, STRETCH_SCHEMA
from pipelines.config import parse_config
from pipelines.match import MatchStores
from pipelines.prefix.recovered import SampledRun, windows_of, written_targets
from pipelines.rundir import RunDirectory
from tests.pipelines.prefix_cases import Cases, raw_run

TABLE = TokenBytes([bytes([n]) for n in range(256)])
FIRST, SECOND, THIRD = (
    tuple(text.encode()) for text in ("first continuation", "another one follows", "x" * 20)
)


def sampled_run(folder: Path, *written: tuple[int, str, bytes]) -> SampledRun:
    """A run of two requests, one for each budget, with stretches of (number, kind, bytes) in their generations."""
    rows = [
        dict.fromkeys(STRETCH_SCHEMA.names, 0)
        | {"family": "empty", "number": number, "kind": kind, "data": data}
        for number, kind, data in written
    ]
    directory = RunDirectory(folder)
    table = pa.Table.from_pylist(rows, schema=STRETCH_SCHEMA)
    MatchStores.of(directory).stretches.publish("part-00000", table, {})
    config = parse_config(raw_run(Cases(folder, {})) | {"min_tokens": 16}, "tiny")
    cutoffs = {"empty": Cutoffs(np.array([1, 2]), np.array([9, 18]), np.array([True, True]))}
    return SampledRun(directory, "r-1", "m", "c", True, config, cutoffs, None)


def test_another_true_continuation_of_the_same_prompt_counts(tmp_path: Path) -> None:
    """What the opening brings out is any of them, and so is what the run found."""
    run = sampled_run(tmp_path, (1, PRIVATE, b"... " + bytes(SECOND) + b" ..."))
    written = written_targets(run, [[FIRST, SECOND], [SECOND, FIRST], [FIRST], [THIRD]], TABLE)
    assert written.tolist() == [[False] * 4, [True, True, False, False]]


def test_a_window_of_a_longer_target_is_enough(tmp_path: Path) -> None:
    run = sampled_run(tmp_path, (0, PRIVATE, bytes(FIRST)[2:]))
    assert len(FIRST) == 18
    assert written_targets(run, [[FIRST]], TABLE).tolist() == [[True], [True]]
    assert windows_of([b"a", b"bc", b"d"], 2) == [b"abc", b"bcd"]


def test_filler_and_what_no_budget_counts_is_not_found(tmp_path: Path) -> None:
    run = sampled_run(tmp_path, (0, LOW_ENTROPY, bytes(FIRST)), (7, PRIVATE, bytes(SECOND)))
    assert not written_targets(run, [[FIRST], [SECOND]], TABLE).any()
    assert written_targets(run, [], TABLE).shape == (2, 0)


@pytest.mark.parametrize("tokens", [1, 3])
def test_windows_are_as_many_as_fit(tokens: int) -> None:
    assert len(windows_of([b"a", b"b", b"c"], tokens)) == 4 - tokens
