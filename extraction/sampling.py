"""How tokens are drawn: the settings, where each of them came from, and nothing about any engine.

`from: model` reads the model's `generation_config.json`; explicit fields override it; what neither states
takes the default here, which is plain sampling from the model. `do_sample` is not read: this instrument
always samples.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator

from extraction.errors import InputError
from extraction.settings import Settings


class Sampling(Settings):
    """Sampling settings. A field left out comes from the model (with `from: model`) or from the defaults."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: Literal["model"] | None = Field(
        None, alias="from", description="`model` reads the model's generation_config.json."
    )
    temperature: float | None = Field(
        None, ge=0, le=100, description="Divides the logits; 0 is greedy. Default 1."
    )
    top_p: float | None = Field(None, gt=0, le=1, description="Least mass of likely tokens kept; 1 is off.")
    top_k: int | None = Field(None, ge=0, description="Number of likely tokens kept; 0 is off.")
    min_p: float | None = Field(
        None, ge=0, le=1, description="Least probability kept, relative to the top; 0 is off."
    )
    repetition_penalty: float | None = Field(
        None, gt=0, le=10, description="Divides the logits of tokens seen in prompt and output; 1 is off."
    )
    presence_penalty: float | None = Field(
        None, ge=-2, le=2, description="Taken off the logit of each token already generated; 0 is off."
    )
    frequency_penalty: float | None = Field(
        None, ge=-2, le=2, description="Taken off for each time that the token was generated; 0 is off."
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Most tokens of one generation; a family may override it. Default 256.",
    )
    stop_strings: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        None,
        max_length=16,
        description="A generation ends with the first of these in its text, and the tokens that write it count. "
        "Default none.",
    )
    temperature_decay: bool | None = Field(
        None,
        description="Start at temperature 10 and fall to `temperature` over the first 20 tokens; transformers "
        "alone. Default no.",
    )

    @field_validator("stop_strings", mode="before")
    @classmethod
    def _one_string_is_a_list_of_one(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value  # generation_config.json has either


@dataclass(frozen=True)
class ResolvedSampling:
    """The settings that are really used.

    Attributes:
        stop_strings: a generation ends after the token that completes the first of these; that token and all
            before it count as generated, as an end-of-sequence token does. Special tokens are written out.
        temperature_decay: the sampling of Carlini et al. (2021), which makes openings diverse: the first token
            is drawn at temperature 10, the twenty-first and all later ones at `temperature`.
        stop_token_ids: a generation ends after the first of these; it counts as generated.
        origins: for each other attribute, `config`, `generation_config.json`, `config.json`, `tokenizer`
            or `default`.
    """

    temperature: float
    top_p: float
    top_k: int
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    max_tokens: int
    stop_strings: tuple[str, ...]
    temperature_decay: bool
    stop_token_ids: tuple[int, ...]
    origins: Mapping[str, str]

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Give each setting with its origin, for run.json and the report: `{"top_k": {"value", "from"}}`."""
        values = {name: getattr(self, name) for name in self.origins}
        return {
            name: {"value": list(value) if isinstance(value, tuple) else value, "from": self.origins[name]}
            for name, value in values.items()
        }

    def stated(self) -> Sampling:
        """The same as a section of a configuration that states every field."""
        return Sampling(**{name: getattr(self, name) for name in _DEFAULTS})


_DEFAULTS: dict[str, float | int | tuple[str, ...]] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "max_tokens": 256,
    "stop_strings": (),
    "temperature_decay": False,
}
_NAMES_IN_FILE = {"max_tokens": "max_new_tokens"}


def resolve_sampling(
    sampling: Sampling, model_path: Path | None, eos_token_id: int | None = None
) -> ResolvedSampling:
    """Settle every setting and remember where it came from.

    Args:
        sampling: the config section.
        model_path: the model's folder; None, or a GGUF file, has no `generation_config.json`.
        eos_token_id: the tokenizer's end-of-sequence token, used where the model's files name none.

    Raises:
        InputError: `generation_config.json` is wanted and is not there, or holds an impossible value.
    """
    stated = _stated_by_model(sampling, model_path)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, default in _DEFAULTS.items():
        explicit = getattr(sampling, name)
        if explicit is not None:
            values[name], origins[name] = explicit, "config"
        elif name in stated:
            values[name], origins[name] = stated[name], "generation_config.json"
        else:
            values[name], origins[name] = default, "default"
    stop, origins["stop_token_ids"] = _stop_tokens(model_path, eos_token_id)
    return ResolvedSampling(**values, stop_token_ids=stop, origins=origins)


def _stated_by_model(sampling: Sampling, model_path: Path | None) -> dict[str, Any]:
    if sampling.source is None:
        return {}
    if model_path is None or not (model_path / "generation_config.json").is_file():
        raise InputError(
            f"sampling.from: {model_path or 'this engine'} has no generation_config.json; state the fields"
        )
    file = model_path / "generation_config.json"
    content = _read_json(file)
    found = {name: content.get(_NAMES_IN_FILE.get(name, name)) for name in _DEFAULTS}
    stated = {name: value for name, value in found.items() if value is not None}
    try:
        return Sampling.model_validate(stated).model_dump(exclude_none=True)
    except ValueError as error:
        names = ", ".join(stated)
        raise InputError(
            f"sampling.from: {file}: a value is out of bounds (of {names}); override it"
        ) from error


def _stop_tokens(model_path: Path | None, eos_token_id: int | None) -> tuple[tuple[int, ...], str]:
    for name in ("generation_config.json", "config.json"):
        file = None if model_path is None else model_path / name
        stated = _read_json(file).get("eos_token_id") if file is not None and file.is_file() else None
        if stated is not None:
            return tuple(stated) if isinstance(stated, list) else (int(stated),), name
    if eos_token_id is not None:
        return (eos_token_id,), "tokenizer"
    return (), "default"


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not readable as JSON; repair or remove it") from error
    if not isinstance(content, dict):
        raise InputError(f"{file}: not a JSON object; repair or remove it")
    return content
