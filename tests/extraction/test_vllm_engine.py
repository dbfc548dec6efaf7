"""The production engine, real, on whatever vLLM runs on here. Loading takes most of a minute: one engine serves all."""

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extraction.engines import load_engine
from extraction.engines.settings import ModelSettings, VllmSettings
from extraction.engines.vllm_engine import VllmEngine
from extraction.errors import InputError
from extraction.model import load_tokenizer
from extraction.sampling import Sampling, resolve_sampling
from extraction.token_bytes import TokenBytes
from tests.extraction.test_transformers_engine import score_alone
from tests.extraction.tiny_models import byte_level_tokenizer, llama, lora_adapter, request

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = llama(tmp_path_factory.mktemp("llama"))
    byte_level_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Any]:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"
    sampling = resolve_sampling(Sampling(temperature=1.5, top_k=200), folder)
    model = ModelSettings(path=str(folder), dtype="float32")
    made = load_engine(VllmSettings(kind="vllm", enforce_eager=True), model, sampling)
    yield made
    made.close()
    made.close()


def test_an_empty_prompt_gives_a_different_sample_for_each_seed(engine: Any) -> None:
    generations = engine.generate([request([0], seed) for seed in range(20)])
    assert len({tuple(g.token_ids[:8]) for g in generations}) >= 18


def test_a_request_repeats_on_this_engine(engine: Any) -> None:
    requests = [request([0, 5, 6], seed, 8) for seed in range(8)]
    first, second = engine.generate(requests), engine.generate(requests)
    # Low bits may differ with the batch, so not every repeat is promised.
    assert sum(a.token_ids == b.token_ids for a, b in zip(first, second, strict=True)) >= 7


def test_log_probabilities_are_those_of_the_unmodified_model(engine: Any, folder: Path) -> None:
    prompts = [[0], [0, 300, 20, 31, 9, 17, 255, 3]]
    for generation in engine.generate([request(p, s) for s, p in enumerate(prompts)]):
        assert generation.logprobs == pytest.approx(score_alone(folder, generation), abs=1e-3)


def test_the_end_of_sequence_token_is_counted_and_ends_a_generation(engine: Any) -> None:
    generations = engine.generate([request([0], s, 100) for s in range(64)])
    assert {g.finish_reason for g in generations} == {"stop", "length"}
    for g in generations:
        assert 1 not in g.token_ids[:-1] and len(g.logprobs) == len(g.token_ids)
        assert (g.token_ids[-1] == 1) == (g.finish_reason == "stop")
        assert g.finish_reason == "stop" or len(g.token_ids) == 100


def test_more_prompt_tokens_than_one_step_takes_do_not_kill_the_engine(engine: Any) -> None:
    # 4,096 is what vLLM takes in one step on a CPU; the prompt that does not fit any more must not be cut.
    generations = engine.generate([request([0, 5, 6, 7] * 25, seed, 4) for seed in range(90)])
    assert all(g.finish_reason in ("stop", "length") for g in generations)


def test_requests_that_cannot_run_fail_alone(engine: Any) -> None:
    bad = [request([0] * 128, 1), request([0] * 500, 2), request([], 3), request([420], 4)]
    generations = engine.generate([bad[0], request([0], 7), *bad[1:], request([0] * 120, 8, 50)])
    assert [g.finish_reason == "failed" for g in generations] == [True, False, True, True, True, False]
    assert generations[5].finish_reason == "stop" or len(generations[5].token_ids) == 8


def test_only_requests_that_cannot_run_are_no_trouble(engine: Any) -> None:
    assert [g.finish_reason for g in engine.generate([request([], 1)])] == ["failed"]


def test_a_fault_closes_the_engine_and_later_calls_say_so(engine: Any) -> None:
    class Dead(VllmEngine):
        def __init__(self) -> None:
            self._sampling, self._max_length, self._vocabulary = engine._sampling, 128, 420
            self._llm = None  # as an engine whose processes are gone: every call on it raises

    dead = Dead()
    with pytest.raises(AttributeError):
        dead.generate([request([0])])
    with pytest.raises(RuntimeError, match="has died or was closed"):
        dead.generate([request([0])])


def test_every_sampling_field_reaches_vllm(engine: Any) -> None:
    settings = {"temperature": 0.7, "top_p": 0.9, "top_k": 11, "min_p": 0.05, "repetition_penalty": 1.1}
    settings |= {"presence_penalty": 0.2, "frequency_penalty": 0.3}
    other = copy.copy(engine)
    other._sampling = resolve_sampling(Sampling(**settings, stop_strings=("end",)), None, eos_token_id=1)
    sent = other._parameters(request([0] * 100, 5, 99))
    assert {name: getattr(sent, name) for name in settings} == settings
    assert (sent.seed, sent.max_tokens, sent.stop_token_ids, sent.stop) == (5, 28, [1], ["end"])


def test_what_really_ran_is_told(engine: Any) -> None:
    used = engine.settings_used()
    assert used["kind"] == "vllm" and used["dtype"] == "float32" and used["exact_repeats"] is False


def test_a_gguf_file_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    model = ModelSettings(path=str(tmp_path / "m.gguf"))
    with pytest.raises(InputError, match="needs a folder of safetensors"):
        load_engine(VllmSettings(kind="vllm"), model, resolve_sampling(Sampling(), None))


def test_a_quantisation_that_vllm_does_not_know_is_named(folder: Path) -> None:
    settings = VllmSettings(kind="vllm", quantization="four_bits_of_mine")
    with pytest.raises(InputError, match="engine: vLLM cannot load .*four_bits_of_mine"):
        load_engine(settings, ModelSettings(path=str(folder)), resolve_sampling(Sampling(), None))


@pytest.fixture(scope="module")
def adapted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """An engine with an adapter and stop strings, and a folder of the weights that both together stand for."""
    adapter, merged = lora_adapter(folder, tmp_path_factory.mktemp("adapter"))
    settings = VllmSettings(kind="vllm", enforce_eager=True, max_model_len=96, gpu_memory_utilization=0.5)
    model = ModelSettings(path=str(folder), dtype="float32", adapter=str(adapter))
    made = load_engine(settings, model, resolve_sampling(Sampling(stop_strings=("e", "th")), folder))
    yield made, merged
    made.close()


def test_an_adapter_is_over_the_model(adapted: tuple[Any, Path], folder: Path) -> None:
    engine, merged = adapted
    for generation in engine.generate([request([0, 5, 6], seed) for seed in range(6)]):
        assert generation.logprobs == pytest.approx(score_alone(merged, generation), abs=1e-3)
        assert generation.logprobs != pytest.approx(score_alone(folder, generation), abs=1e-2)
    assert engine.settings_used()["adapter"]


def test_a_stop_string_ends_a_generation_and_its_tokens_count(
    adapted: tuple[Any, Path], folder: Path
) -> None:
    table = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(path=str(folder))))
    stopped = 0
    for g in adapted[0].generate([request([0], seed, 60) for seed in range(24)]):
        *before, whole = (table.decode(g.token_ids[:n]) for n in range(len(g.token_ids) + 1))
        assert not any("e" in text or "th" in text for text in before)
        ended = "e" in whole or "th" in whole
        assert len(g.logprobs) == len(g.token_ids) and (not ended or g.finish_reason == "stop")
        stopped += ended
    assert stopped > 4


def test_the_settings_of_the_engine_are_its_own(adapted: tuple[Any, Path]) -> None:
    engine = adapted[0]
    assert engine.settings_used()["max_length"] == 96
    assert engine._llm.llm_engine.vllm_config.cache_config.gpu_memory_utilization == 0.5
    assert [g.finish_reason for g in engine.generate([request([0] * 96, 1)])] == ["failed"]


def test_an_adapter_without_a_rank_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    model = ModelSettings(path=str(folder), adapter=str(tmp_path))
    with pytest.raises(InputError, match=r"model.adapter: .*adapter_config.json: no rank `r` in it"):
        load_engine(VllmSettings(kind="vllm"), model, resolve_sampling(Sampling(), None))
