"""Finding, refusing, fingerprinting and loading models and tokenizers."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from extraction.errors import InputError
from extraction.model import (
    BYTE_TOKENIZER,
    ModelSettings,
    adapter_path,
    load_model,
    load_tokenizer,
    model_fingerprint,
    tokenizer_fingerprint,
)
from tests.extraction.tiny_models import byte_level_tokenizer, gpt2, llama


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = llama(tmp_path / "model")
    byte_level_tokenizer(path)
    return path


def settings(path: Path) -> ModelSettings:
    return ModelSettings(path=str(path))


def test_a_model_loads_in_float32_on_a_cpu(folder: Path) -> None:
    model = load_model(settings(folder))
    assert model.dtype == torch.float32 and not model.training


def test_models_loaded_at_once_keep_their_tied_weights(tmp_path: Path) -> None:
    path = gpt2(tmp_path / "gpt2")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(load_model, [settings(path)] * 32))
    model = load_model(settings(path))
    assert model.lm_head.weight is model.transformer.wte.weight


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nowhere"), "no-such-org/no-such-model"):
        with pytest.raises(InputError, match=f"model.path: {name}: no such folder or file"):
            load_model(ModelSettings(path=name))
    with pytest.raises(InputError, match="needs a model"):
        load_model(ModelSettings())


def test_pickled_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    for path in (folder, folder / "pytorch_model.bin"):
        with pytest.raises(InputError, match="pickled weights are refused"):
            load_model(settings(path))


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no safetensors or GGUF file"):
        load_model(settings(tmp_path))


def test_weights_without_a_config_are_named(folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match="config.json is missing"):
        load_model(settings(folder))


def test_a_file_that_is_no_gguf_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"something else")
    with pytest.raises(InputError, match="not a GGUF file"):
        load_model(settings(tmp_path / "model.gguf"))


def test_cut_weights_are_named(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model(settings(folder))


def test_missing_weights_are_not_filled_with_random_numbers(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        InputError, match=r"1 weights are missing, the first is model.layers.1.mlp.up_proj.weight"
    ):
        load_model(settings(folder))


def test_a_missing_tokenizer_is_named(folder: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(InputError, match=r"model.tokenizer: "):
        load_tokenizer(settings(folder))
    with pytest.raises(InputError, match="no tokenizer files here"):
        load_tokenizer(ModelSettings(path=str(folder), tokenizer=str(tmp_path)))


def test_truncation_and_padding_of_the_training_are_switched_off(folder: Path) -> None:
    tokenizer = load_tokenizer(settings(folder))
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    again = load_tokenizer(settings(folder))
    assert len(again.backend_tokenizer.encode("the branch " * 9).ids) > 9
    assert len(again.backend_tokenizer.encode("the").ids) < 4


def test_fingerprints_follow_the_content_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert model_fingerprint(settings(copy)) == model_fingerprint(settings(folder))
    assert tokenizer_fingerprint(settings(copy)) == tokenizer_fingerprint(settings(folder))
    weights = load_file(copy / "model.safetensors")
    weights["model.norm.weight"][0] += 1
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert model_fingerprint(settings(copy)) != model_fingerprint(settings(folder))
    assert tokenizer_fingerprint(settings(copy)) == tokenizer_fingerprint(settings(folder))
    (copy / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert tokenizer_fingerprint(settings(copy)) != tokenizer_fingerprint(settings(folder))


def test_the_byte_tokenizer_needs_no_files() -> None:
    dry = ModelSettings(tokenizer=BYTE_TOKENIZER)
    assert len(load_tokenizer(dry)) == 258
    assert len(tokenizer_fingerprint(dry)) == 64


def write_adapter(path: Path, data: bytes = b"weights") -> Path:
    path.mkdir(parents=True)
    (path / "adapter_config.json").write_text('{"r": 4}')
    (path / "adapter_model.safetensors").write_bytes(data)
    return path


def test_an_adapter_is_part_of_the_fingerprint_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    def fingerprint(adapter: Path | None) -> str:
        own = None if adapter is None else str(adapter)
        return model_fingerprint(ModelSettings(path=str(folder), adapter=own))

    first = fingerprint(write_adapter(tmp_path / "a"))
    assert fingerprint(write_adapter(tmp_path / "z" / "copy")) == first
    other = fingerprint(write_adapter(tmp_path / "b", b"other weights"))
    assert len({first, other, fingerprint(None), model_fingerprint(settings(folder))}) == 3


@pytest.mark.parametrize("missing", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_adapter_that_lacks_a_file_is_named(tmp_path: Path, missing: str) -> None:
    (write_adapter(tmp_path / "a") / missing).unlink()
    with pytest.raises(InputError, match=f"model.adapter: .*/a: {missing} is missing"):
        adapter_path(ModelSettings(adapter=str(tmp_path / "a")))
    assert adapter_path(ModelSettings()) is None
