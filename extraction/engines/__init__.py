"""Engines: what turns requests into generations. Each is loaded only when it is asked for."""

from extraction.engines.protocol import Engine
from extraction.engines.settings import (
    DeterministicSettings,
    EndpointSettings,
    EngineSettings,
    ModelSettings,
    TransformersSettings,
)
from extraction.sampling import ResolvedSampling

__all__ = ["Engine", "load_engine"]


def load_engine(settings: EngineSettings, model: ModelSettings, sampling: ResolvedSampling) -> Engine:
    """Load an engine in this process.

    Args:
        settings: which engine, and its options.
        model: the model; the endpoint and the deterministic engine need its tokenizer alone.
        sampling: the settings that every request is sampled with.

    Raises:
        InputError: the model, the tokenizer or an option cannot be used.
    """
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
