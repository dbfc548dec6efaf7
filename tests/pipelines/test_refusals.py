"""What would end a run after hours of work is refused before anything is made."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from extraction.errors import InputError
from pipelines import run
from pipelines.config import parse_config
from pipelines.run import run_pipeline
from pipelines.sample import prepare
from tests.extraction.tiny_models import byte_level_tokenizer
from tests.pipelines.small_run import raw_config, write_inputs

ROOT = Path(__file__).parents[2]
SERVER = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model_name": "m"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    byte_level_tokenizer(folder / "tokenizer")
    byte_level_tokenizer(folder / "bare", bos=False, chat=False)
    (folder / "tokenizer" / "config.json").write_text("{}")
    (folder / "tokenizer" / "model.safetensors").write_bytes(b"")
    return folder


def refused(folder, out, message, **changes):
    with pytest.raises(InputError, match=message):
        run_pipeline(parse_config(raw_config(folder, **changes), "small"), out, None, skip_bad_records=False)
    assert not out.exists()


def test_an_engine_that_cannot_start(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("A_KEY_OF_MINE", raising=False)
    out, model = tmp_path / "run", {"path": str(folder / "tokenizer")}
    refused(folder, out, "A_KEY_OF_MINE is not set", engine={**SERVER, "api_key_env": "A_KEY_OF_MINE"})
    refused(folder, out, "min_p .*need it", engine={**SERVER, "vllm_fields": False}, sampling={"min_p": 0.1})
    refused(
        folder,
        out,
        "adapter_config.json is missing",
        engine={"kind": "vllm"},
        model={**model, "adapter": "no"},
    )


def test_a_control_that_cannot_be_sampled_as_the_model_is(folder, tmp_path):
    control = {"model": {"tokenizer": str(folder / "bare")}}
    out, model = tmp_path / "run", {"tokenizer": str(folder / "tokenizer")}
    refused(folder, out, "no beginning-of-sequence token", model=model, control=control)
    families = {"families": {"talk": {"kind": "repeat", "share": 1, "chat": True}}}
    refused(folder, out, "chat template cannot be used", model=model, control=control, prompts=families)


def test_a_control_is_sampled_with_the_settings_of_the_model(folder):
    stated = {"top_p": 0.9, "max_new_tokens": 99}
    (folder / "tokenizer" / "generation_config.json").write_text(json.dumps(stated))
    config = parse_config(
        raw_config(
            folder,
            model={"path": str(folder / "tokenizer")},
            sampling={"from": "model"},
            control={"model": {"tokenizer": str(folder / "tokenizer")}},  # names no generation_config.json
        ),
        "small",
    )
    _, control = run._control_of(config, prepare(config))
    assert (control.sampling.top_p, control.sampling.max_tokens, control.longest["empty"]) == (0.9, 99, 99)


def test_prompts_of_the_text_that_an_index_was_built_from(command, folder, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    shutil.copy(folder / "public.txt", texts)
    assert command("index", "build", texts / "public.txt", "--out", tmp_path / "ix")[0] == 0
    corpus = {"index": str(tmp_path / "ix")}
    prompts = {"families": {"public": {"share": 1}}, "public_text": [str(texts)]}
    message = "is part of what the index .* was built from; .*public_text_is_corpus: true"
    refused(folder, tmp_path / "run", message, corpus=corpus, prompts=prompts)


def extraction(folder, *arguments):
    """The command in a process without any Ray."""
    environment = {n: v for n, v in os.environ.items() if n != "RAY_ADDRESS"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pipelines", "run", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=120)
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stderr.splitlines()[-1]


def test_more_than_this_machine_has(folder, tmp_path):
    config = folder / "large.yaml"
    engine = {"kind": "deterministic", "cpus_per_worker": 1024}
    config.write_text(yaml.safe_dump(raw_config(folder, engine=engine)))
    status, told = extraction(folder, config, "--out", tmp_path / "run")
    assert status == 2
    assert told.startswith("extraction: engine: a worker holds 1024 cores and 0 GPUs, and this machine has ")
    assert told.endswith("or name a cluster with --ray-address")


def test_a_cluster_that_is_not_there(folder, tmp_path):
    config = folder / "small.yaml"
    config.write_text(yaml.safe_dump(raw_config(folder)))
    status, told = extraction(folder, config, "--out", tmp_path / "run", "--ray-address", "nowhere")
    assert status == 2
    assert told.startswith("extraction: --ray-address nowhere: Ray cannot be joined there: ")
