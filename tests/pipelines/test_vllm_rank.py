"""Ranking by vLLM, both models in one process: the scores are those of transformers."""

import os

import pytest

from extraction.engines.settings import TransformersSettings, VllmSettings
from extraction.model import ModelSettings
from extraction.ranking.scores import SCORES
from extraction.records import Generation
from pipelines.rank import RankingModels
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama

pytestmark = pytest.mark.vllm


def test_scores_by_vllm_are_those_of_transformers(tmp_path):
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name, vocabulary in (("model", 420), ("reference", 380)):
        tokenizer = byte_level_tokenizer(tmp_path / name, vocabulary=vocabulary)
        llama(tmp_path / name, vocabulary=vocabulary, positions=256)
        if name == "model":
            encode = tokenizer.backend_tokenizer.encode
    model, reference = (
        ModelSettings(path=str(tmp_path / name), dtype="float32") for name in ("model", "reference")
    )
    generations = [
        Generation(
            f"a-{n}", "a", n, [0, 5][: n % 3], encode(text, add_special_tokens=False).ids * 6, [], "stop"
        )
        for n, text in enumerate(SENTENCES)
    ]
    engines = (
        TransformersSettings(kind="transformers"),
        VllmSettings(kind="vllm", enforce_eager=True, gpus_per_worker=0),
    )
    here, there = (
        list(RankingModels(model, reference, engine).load().score(generations)) for engine in engines
    )
    for own, other in zip(here, there, strict=True):
        for name in SCORES:
            assert other[name] == pytest.approx(own[name], rel=1e-3)
