"""What an engine cannot do is refused before anything is loaded."""

import pytest
from pydantic import ValidationError

from extraction.engines import check_engine, load_engine
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


@pytest.mark.parametrize("settings", OTHERS, ids=lambda s: s.kind)
def test_a_decaying_temperature_is_refused_where_it_cannot_be(settings: EngineSettings) -> None:
    sampling = resolve_sampling(Sampling(temperature_decay=True), None)
    with pytest.raises(
        InputError, match=f"sampling.temperature_decay: the {settings.kind} engine .* transformers"
    ):
        load_engine(settings, ModelSettings(), sampling)
    check_engine(TransformersSettings(), ModelSettings(), sampling)


@pytest.mark.parametrize("settings", [TransformersSettings(), *OTHERS[1:]], ids=lambda s: s.kind)
def test_an_adapter_is_refused_where_it_would_be_left_out(settings: EngineSettings) -> None:
    sampling, model = resolve_sampling(Sampling(), None), ModelSettings(adapter="adapters/a")
    with pytest.raises(
        InputError, match=f"model.adapter: the {settings.kind} engine loads no adapter; .* merge"
    ):
        load_engine(settings, model, sampling)
    check_engine(OTHERS[0], model, sampling)


def test_a_vllm_worker_has_the_gpus_that_it_uses() -> None:
    with pytest.raises(ValidationError, match="gpus_per_worker: set it to 4, as tensor_parallel_size is"):
        VllmSettings(kind="vllm", tensor_parallel_size=4)
    for gpus in (0, 4):
        VllmSettings(kind="vllm", tensor_parallel_size=4, gpus_per_worker=gpus)


def test_a_system_prompt_needs_the_chat_protocol() -> None:
    with pytest.raises(ValidationError, match="system: a system prompt needs protocol: chat"):
        EndpointSettings.model_validate(ENDPOINT.model_dump() | {"system": "Be brief."})
