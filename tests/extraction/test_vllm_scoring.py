"""Scoring by vLLM's prompt log-probabilities, on the real engine: the same as one forward pass gives."""

import os
from pathlib import Path

import numpy as np
import pytest

from extraction.engines.settings import VllmSettings
from extraction.errors import InputError
from extraction.model import ModelSettings
from extraction.scoring import Scorer, Text
from extraction.vllm_scoring import VllmScorer
from tests.extraction.test_scoring import random_texts
from tests.extraction.tiny_models import llama

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return llama(tmp_path_factory.mktemp("model"), positions=64)


@pytest.fixture(scope="module")
def scorer(folder: Path) -> VllmScorer:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"
    import numba  # noqa: F401  as in a process that has searched an index: vLLM has to load beside it

    settings = VllmSettings(kind="vllm", enforce_eager=True, gpus_per_worker=0)
    return VllmScorer(settings, ModelSettings(path=str(folder), dtype="float32"))


def test_the_same_as_a_forward_pass_in_any_order(folder: Path, scorer: VllmScorer) -> None:
    texts = random_texts(30)
    # Long beginnings in common, which prefix caching would score once.
    texts += [Text([0], [5, 6, 7, 8] * 10 + [last]) for last in range(20, 26)]
    texts = [text for text in texts if len(text) < 64]
    expected = Scorer.load(ModelSettings(path=str(folder))).log_probs(texts)
    for found in (scorer.log_probs(texts), scorer.log_probs(texts[::-1])[::-1]):
        for own, other in zip(found, expected, strict=True):
            assert own.log_probs.dtype == np.float32
            assert np.allclose(own.log_probs, other.log_probs, atol=1e-3)
            assert own.cut == other.cut == 0


def test_what_is_too_long_is_cut_and_counted(scorer: VllmScorer) -> None:
    cut, beyond, nothing = scorer.log_probs([Text([0], [5] * 80), Text([0] * 70, [5]), Text([0], [])])
    assert (cut.log_probs.size, cut.cut) == (62, 18)  # a place of the 64 is for the token that vLLM generates
    assert (beyond.log_probs.size, beyond.cut) == (0, 1)
    assert (nothing.log_probs.size, nothing.cut) == (0, 0)


def test_what_cannot_be_scored_is_refused(scorer: VllmScorer) -> None:
    with pytest.raises(InputError, match="needs a token before it"):
        scorer.log_probs([Text([], [5])])
    with pytest.raises(InputError, match="vocabulary"):
        scorer.log_probs([Text([0], [100_000])])
