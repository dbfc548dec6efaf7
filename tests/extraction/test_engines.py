"""What an engine cannot do is refused before anything is loaded."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import ValidationError

from extraction.engines import check_engine, check_environment, load_engine
from extraction.engines.settings import (
    DeterministicSettings,
    EndpointSettings,
    EngineSettings,
    ModelSettings,
    TransformersSettings,
    VllmSettings,
)
from extraction.errors import InputError
from extraction.sampling import Sampling, resolve_sampling

ENDPOINT = EndpointSettings(kind="endpoint", base_url="http://127.0.0.1:1/v1", model_name="m")
OTHERS = [VllmSettings(kind="vllm"), ENDPOINT, DeterministicSettings(kind="deterministic")]


@pytest.fixture
def adapted(tmp_path: Path) -> ModelSettings:
    """A model with an adapter, as far as can be seen without loading them."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 8}))
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    return ModelSettings(path=str(tmp_path), adapter=str(tmp_path))


@pytest.mark.parametrize("settings", OTHERS, ids=lambda s: s.kind)
def test_a_decaying_temperature_is_refused_where_it_cannot_be(settings: EngineSettings) -> None:
    sampling = resolve_sampling(Sampling(temperature_decay=True), None)
    with pytest.raises(
        InputError, match=f"sampling.temperature_decay: the {settings.kind} engine .* transformers"
    ):
        load_engine(settings, ModelSettings(), sampling)
    check_engine(TransformersSettings(), ModelSettings(), sampling)


@pytest.mark.parametrize("settings", [TransformersSettings(), *OTHERS[1:]], ids=lambda s: s.kind)
def test_an_adapter_is_refused_where_it_would_be_left_out(
    settings: EngineSettings, adapted: ModelSettings
) -> None:
    sampling = resolve_sampling(Sampling(), None)
    with pytest.raises(
        InputError, match=f"model.adapter: the {settings.kind} engine loads no adapter; .* merge"
    ):
        load_engine(settings, adapted, sampling)
    check_engine(OTHERS[0], adapted, sampling)


def test_a_vllm_worker_has_the_gpus_that_it_uses() -> None:
    with pytest.raises(ValidationError, match="gpus_per_worker: set it to 4, as tensor_parallel_size is"):
        VllmSettings(kind="vllm", tensor_parallel_size=4)
    for gpus in (0, 4):
        VllmSettings(kind="vllm", tensor_parallel_size=4, gpus_per_worker=gpus)


def test_a_system_prompt_needs_the_chat_protocol() -> None:
    with pytest.raises(ValidationError, match="system: a system prompt needs protocol: chat"):
        EndpointSettings.model_validate(ENDPOINT.model_dump() | {"system": "Be brief."})


def test_files_that_vllm_lacks_are_missed_before_it_is_loaded(adapted: ModelSettings, tmp_path: Path) -> None:
    sampling = resolve_sampling(Sampling(), None)
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF")
    for changes, message in [
        ({"path": str(gguf)}, "needs a folder of safetensors"),
        ({"adapter": str(tmp_path / "nowhere")}, "model.adapter: .*adapter_config.json is missing"),
    ]:
        with pytest.raises(InputError, match=message):
            check_engine(OTHERS[0], adapted.model_copy(update=changes), sampling)
    for rank, message in [("many", "no rank `r` in it"), (1000, "rank 1000 is above 512")]:
        (tmp_path / "adapter_config.json").write_text(json.dumps({"r": rank}))
        with pytest.raises(InputError, match=message):
            check_engine(OTHERS[0], adapted, sampling)


def test_fields_that_a_server_is_not_sent_are_missed_before_it_is_asked() -> None:
    sampling = resolve_sampling(Sampling(top_k=40), None)
    with pytest.raises(InputError, match="engine.vllm_fields: top_k"):
        check_engine(ENDPOINT.model_copy(update={"vllm_fields": False}), ModelSettings(), sampling)
    check_engine(ENDPOINT, ModelSettings(), sampling)


def test_what_this_environment_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY_OF_MINE", raising=False)
    with pytest.raises(InputError, match="A_KEY_OF_MINE is not set where a worker runs"):
        check_environment(ENDPOINT.model_copy(update={"api_key_env": "A_KEY_OF_MINE"}))
    monkeypatch.setenv("A_KEY_OF_MINE", "key")
    check_environment(ENDPOINT.model_copy(update={"api_key_env": "A_KEY_OF_MINE"}))
    check_environment(TransformersSettings())
    if find_spec("vllm") is None:
        with pytest.raises(InputError, match=r"vllm is not installed; pip install 'extraction\[vllm\]'"):
            check_environment(OTHERS[0])
