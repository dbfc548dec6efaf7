"""Where each sampling setting comes from."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from extraction.errors import InputError
from extraction.sampling import Sampling, resolve_sampling


def folder_with(path: Path, generation: Any, config: Any = None) -> Path:
    (path / "generation_config.json").write_text(json.dumps(generation))
    if config is not None:
        (path / "config.json").write_text(json.dumps(config))
    return path


def test_explicit_fields_override_the_models_and_the_rest_is_default(tmp_path: Path) -> None:
    stated = {
        "temperature": 0.6,
        "top_p": 0.9,
        "max_new_tokens": 99,
        "do_sample": True,
        "eos_token_id": [2, 7],
    }
    path = folder_with(tmp_path, stated)
    resolved = resolve_sampling(Sampling.model_validate({"from": "model", "top_p": 0.5}), path)
    assert resolved.as_dict() == {
        "temperature": {"value": 0.6, "from": "generation_config.json"},
        "top_p": {"value": 0.5, "from": "config"},
        "top_k": {"value": 0, "from": "default"},
        "min_p": {"value": 0.0, "from": "default"},
        "repetition_penalty": {"value": 1.0, "from": "default"},
        "presence_penalty": {"value": 0.0, "from": "default"},
        "frequency_penalty": {"value": 0.0, "from": "default"},
        "max_tokens": {"value": 99, "from": "generation_config.json"},
        "stop_strings": {"value": [], "from": "default"},
        "temperature_decay": {"value": False, "from": "default"},
        "stop_token_ids": {"value": [2, 7], "from": "generation_config.json"},
    }


@pytest.mark.parametrize(
    ("stated", "expected"), [("User:", ["User:"]), (["\n\n", "User:"], ["\n\n", "User:"])]
)
def test_stop_strings_are_the_models_own_or_the_configs(
    tmp_path: Path, stated: Any, expected: list[str]
) -> None:
    path = folder_with(tmp_path, {"stop_strings": stated})
    found = resolve_sampling(Sampling.model_validate({"from": "model"}), path).as_dict()["stop_strings"]
    assert found == {"value": expected, "from": "generation_config.json"}
    own = Sampling.model_validate({"from": "model", "stop_strings": "###"})
    assert resolve_sampling(own, path).stop_strings == ("###",)


def test_the_models_settings_are_not_read_unasked(tmp_path: Path) -> None:
    path = folder_with(tmp_path, {"temperature": 0.6, "eos_token_id": 2})
    resolved = resolve_sampling(Sampling(top_k=40), path)
    assert (resolved.temperature, resolved.top_k, resolved.max_tokens) == (1.0, 40, 256)
    assert resolved.stop_token_ids == (2,)  # the end of a text is the model's own, whatever the sampling


def test_stop_tokens_fall_back_to_the_config_and_then_to_the_tokenizer(tmp_path: Path) -> None:
    assert resolve_sampling(Sampling(), None).stop_token_ids == ()
    assert resolve_sampling(Sampling(), tmp_path, 5).as_dict()["stop_token_ids"] == {
        "value": [5],
        "from": "tokenizer",
    }
    path = folder_with(tmp_path, {}, {"eos_token_id": 3})
    assert resolve_sampling(Sampling(), path, 5).as_dict()["stop_token_ids"] == {
        "value": [3],
        "from": "config.json",
    }


def test_a_model_without_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path} has no generation_config.json"):
        resolve_sampling(Sampling.model_validate({"from": "model"}), tmp_path)


@pytest.mark.parametrize("content", ["no json", "[1]", '{"temperature": -3}'])
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "generation_config.json").write_text(content)
    with pytest.raises(InputError, match="generation_config.json"):
        resolve_sampling(Sampling.model_validate({"from": "model"}), tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_p": 0},
        {"top_p": 1.1},
        {"temperature": -1},
        {"top_k": -1},
        {"topk": 3},
        {"stop_strings": [""]},
        {"stop_strings": [f"{i}" for i in range(17)]},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(wrong)


def test_the_section_survives_being_written_and_read() -> None:
    sampling = Sampling.model_validate({"from": "model", "top_k": 3, "stop_strings": ["a", "b"]})
    assert Sampling.model_validate_json(sampling.model_dump_json()) == sampling
    assert sampling.model_dump()["from"] == "model"


def test_what_was_resolved_can_be_stated_for_another_model(tmp_path: Path) -> None:
    stated = {"temperature": 0.6, "top_p": 0.9, "stop_strings": "User:", "eos_token_id": 2}
    resolved = resolve_sampling(Sampling.model_validate({"from": "model"}), folder_with(tmp_path, stated))
    again = resolve_sampling(resolved.stated(), None, eos_token_id=5).as_dict()
    own = {"value": [5], "from": "tokenizer"}  # what ends a text is each model's own
    assert again.pop("stop_token_ids") == own
    assert again == {
        name: {"value": item["value"], "from": "config"}
        for name, item in resolved.as_dict().items()
        if name != "stop_token_ids"
    }
