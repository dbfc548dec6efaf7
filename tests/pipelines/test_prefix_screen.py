"""The screen: what is no target is no stretch, and filler is counted apart."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from extraction.discoverable.cutting import IN_PROMPT, NO_BYTES
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.entropy import LowEntropyRule
from extraction.model import load_tokenizer, token_ids
from extraction.sampling import Sampling, resolve_sampling
from pipelines.parts import PartStore
from pipelines.prefix.documents import DRAWN_SCHEMA, Sample
from pipelines.prefix.screening import NO_STRETCH, STRETCH_SCHEMA, ScreenJob, screen_section
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama

ENGINE = TransformersSettings(kind="transformers")
PROSE = " ".join(SENTENCES)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    folder: Path = tmp_path_factory.mktemp("model")
    byte_level_tokenizer(folder)
    return ModelSettings(path=str(llama(folder)))


def screened(model: ModelSettings, folder: Path, *texts: str, **sampling: Any) -> PartStore:
    """The screen of some documents by an untrained model, in stretches of 4 tokens and 16 more."""
    sample = PartStore(str(folder / "documents"))
    rows = [
        {"key": 0.1, "fraction": 0.0, "copies": 1, "text": text.encode(), "whole": True} for text in texts
    ]
    facts = {"documents": len(rows), "first": 0}
    sample.publish("part-00000", pa.Table.from_pylist(rows, schema=DRAWN_SCHEMA), facts)
    read = PartStore(str(folder / "read"))
    sampler = resolve_sampling(Sampling(**sampling), None)
    drawn = Sample(sample, len(texts), sum(len(text.encode()) for text in texts))
    ScreenJob(model, ENGINE, sampler, 4, 16, LowEntropyRule(), (0,), drawn, read).start()("part-00000")
    return read


def section(model: ModelSettings, folder: Path, *texts: str, **sampling: Any) -> dict[str, Any]:
    read = screened(model, folder, *texts, **sampling)
    sample = Sample(PartStore(str(folder / "documents")), len(texts), 1000)
    return screen_section(read, sample, [1], [0.5])


def test_filler_is_in_no_number_of_the_screen(model: ModelSettings, tmp_path: Path) -> None:
    tokens = len(token_ids(load_tokenizer(model), PROSE))
    plain = section(model, tmp_path / "plain", PROSE)
    assert plain["stretches"] == tokens // 20 > 0
    with_filler = section(model, tmp_path / "filler", PROSE, "=-" * 300)
    left_out = with_filler["low_entropy"] + sum(with_filler["left_out"].values())
    assert left_out > 0
    assert with_filler["stretches"] == plain["stretches"]
    assert sum(row["stretches"] for row in with_filler["distribution"]) == plain["stretches"]


def test_what_stands_in_its_own_first_part_or_has_no_bytes_is_left_out(
    model: ModelSettings, tmp_path: Path
) -> None:
    found = section(model, tmp_path, "</s>" + PROSE, "a" * 200)
    assert found["left_out"][NO_BYTES] == 1
    assert found["left_out"][IN_PROMPT] + found["low_entropy"] > 0
    nothing = section(model, tmp_path / "short", "Too short.")
    assert (nothing["stretches"], nothing["reason"]) == (0, NO_STRETCH)


def test_a_stretch_that_the_sampler_would_end_inside_never_comes_out(
    model: ModelSettings, tmp_path: Path
) -> None:
    """Stop strings end a generation, so what goes on behind one has no probability."""
    free = screened(model, tmp_path / "free", PROSE).read_all(STRETCH_SCHEMA)["log_probability"].to_pylist()
    stop = PROSE[60:64]
    ends = screened(model, tmp_path / "stopped", PROSE, stop_strings=[stop])
    stopped = ends.read_all(STRETCH_SCHEMA)["log_probability"].to_pylist()
    assert all(value > float("-inf") for value in free)
    assert float("-inf") in stopped
    assert len(free) == len(stopped)
