"""Engines: what turns requests into generations. Each is loaded only when it is asked for."""

from importlib.util import find_spec

from extraction.engines.protocol import Engine
from extraction.engines.settings import (
    NO_VLLM,
    DeterministicSettings,
    EndpointSettings,
    EngineSettings,
    ModelSettings,
    TransformersSettings,
    VllmSettings,
)
from extraction.errors import InputError
from extraction.sampling import ResolvedSampling

__all__ = ["Engine", "check_engine", "check_environment", "load_engine"]


def check_engine(settings: EngineSettings, model: ModelSettings, sampling: ResolvedSampling) -> None:
    """Refuse what an engine cannot do, before anything is loaded.

    Raises:
        InputError: the sampling or the model asks for it, or files that it needs are missing.
    """
    if sampling.temperature_decay and not isinstance(settings, TransformersSettings):
        raise InputError(
            f"sampling.temperature_decay: the {settings.kind} engine has one temperature for a whole generation; "
            "use engine.kind transformers or leave it out"
        )
    if model.adapter is not None and not isinstance(settings, VllmSettings):
        raise InputError(
            f"model.adapter: the {settings.kind} engine loads no adapter; use engine.kind vllm, or merge it into "
            "the model's weights"
        )
    if isinstance(settings, VllmSettings):
        from extraction.engines.vllm_engine import check_vllm

        check_vllm(model)
    if isinstance(settings, EndpointSettings):
        from extraction.engines.openai_protocol import sampling_fields

        sampling_fields(settings, sampling)


def check_environment(settings: EngineSettings) -> None:
    """Refuse an engine that cannot start in an environment like this process'.

    Raises:
        InputError: vLLM is not installed, or the variable that holds the key of an endpoint is not set.
    """
    if isinstance(settings, VllmSettings) and find_spec("vllm") is None:
        raise InputError(NO_VLLM)
    if isinstance(settings, EndpointSettings):
        from extraction.engines.openai_protocol import headers

        headers(settings)


def load_engine(settings: EngineSettings, model: ModelSettings, sampling: ResolvedSampling) -> Engine:
    """Load an engine in this process.

    Args:
        settings: which engine, and its options.
        model: the model; the endpoint and the deterministic engine need its tokenizer alone.
        sampling: the settings that every request is sampled with.

    Raises:
        InputError: the model, the tokenizer or an option cannot be used.
    """
    check_engine(settings, model, sampling)
    if isinstance(settings, TransformersSettings):
        from extraction.engines.transformers_engine import TransformersEngine

        return TransformersEngine(settings, model, sampling)
    if isinstance(settings, EndpointSettings):
        from extraction.engines.endpoint_engine import EndpointEngine

        return EndpointEngine(settings, model, sampling)
    if isinstance(settings, DeterministicSettings):
        from extraction.engines.deterministic_engine import DeterministicEngine

        return DeterministicEngine(settings, model, sampling)
    from extraction.engines.vllm_engine import VllmEngine

    return VllmEngine(settings, model, sampling)
