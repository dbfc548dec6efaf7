"""Paths that a worker follows wherever it runs: absolute, as the process that was started sees them.

A worker of a cluster has a working directory of its own, so a relative path would lead it elsewhere.
"""

from pathlib import Path

from extraction.engines.settings import DeterministicSettings
from extraction.model import ModelSettings
from pipelines.config import RunConfig

MODEL_PATHS = ("path", "tokenizer", "adapter")


def with_absolute_paths(config: RunConfig) -> RunConfig:
    """The same configuration, its models and passages named by absolute paths.

    What is no file or folder here stays as it is: a name of the Hugging Face cache, or `bytes`.
    """
    engine, control, ranking = config.engine, config.control, config.ranking
    if isinstance(engine, DeterministicSettings) and engine.passages:
        engine = engine.model_copy(update={"passages": engine.passages.expanduser().absolute()})
    if control.model:
        control = control.model_copy(update={"model": absolute_model(control.model)})
    if ranking and ranking.reference:
        ranking = ranking.model_copy(update={"reference": absolute_model(ranking.reference)})
    changes = {
        "model": absolute_model(config.model),
        "engine": engine,
        "control": control,
        "ranking": ranking,
    }
    return config.model_copy(update=changes)


def absolute_model(model: ModelSettings) -> ModelSettings:
    """The same model, its files named by absolute paths."""
    named = {field: getattr(model, field) for field in MODEL_PATHS}
    return model.model_copy(update={field: _absolute(name) for field, name in named.items() if name})


def _absolute(name: str) -> str:
    path = Path(name).expanduser()
    return str(path.absolute()) if path.exists() else name
