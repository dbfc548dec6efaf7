"""The endpoint engine against a real HTTP server on the loopback address, with a real tiny model behind it."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from extraction.engines import load_engine
from extraction.engines.settings import EndpointSettings, ModelSettings, TransformersSettings
from extraction.errors import InputError
from extraction.records import Request
from extraction.sampling import Sampling, resolve_sampling
from tests.extraction.tiny_models import byte_level_tokenizer, llama, request

KEY = "a-key-for-this-test"


class CompletionsServer(ThreadingHTTPServer):
    """Answers /v1/completions with a transformers model; can be told to fail first, or to keep token ids back."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokenizer = byte_level_tokenizer(folder)
        self.model = ModelSettings(path=str(llama(folder)))
        self.engine = load_engine(
            TransformersSettings(batch_size=4), self.model, resolve_sampling(Sampling(), folder)
        )
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.to_fail: list[int | str] = []
        self.with_token_ids = True
        self.running = self.most_running = 0
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: CompletionsServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            fault = self.server.to_fail.pop(0) if self.server.to_fail else None
            self.server.running += 1
            self.server.most_running = max(self.server.most_running, self.server.running)
        time.sleep(self.server.delay)
        with (
            self.server.lock
        ):  # before the answer goes out: after it, the client may send the next request at once
            self.server.running -= 1
        self._answer(body, fault)

    def _answer(self, body: dict[str, Any], fault: int | str | None) -> None:
        if fault == "drop":
            self.connection.close()
        elif isinstance(fault, int):
            self._send(fault, {"error": {"message": "no"}})
        elif self.path != "/v1/completions" or self.headers.get("authorization") != f"Bearer {KEY}":
            self._send(401, {"error": {"message": "who are you?"}})
        elif len(body["prompt"]) > 100:
            self._send(400, {"error": {"message": "too long"}})
        else:
            self._send(200, self._complete(body))

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        with self.server.lock:
            wanted = Request("r", "f", 0, body["prompt"], body["seed"], body["max_tokens"])
            (generation,) = self.server.engine.generate([wanted])
        choice: dict[str, Any] = {
            "text": self.server.tokenizer.decode(generation.token_ids, skip_special_tokens=True),
            "finish_reason": generation.finish_reason,
            "logprobs": {"token_logprobs": generation.logprobs},
        }
        if self.server.with_token_ids:
            choice["token_ids"] = generation.token_ids
        return {"choices": [choice]}

    def _send(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompletionsServer]:
    with CompletionsServer(tmp_path_factory.mktemp("served")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(running: CompletionsServer, monkeypatch: pytest.MonkeyPatch) -> CompletionsServer:
    running.reset()
    monkeypatch.setenv("TEST_ENDPOINT_KEY", KEY)
    return running


def engine(server: CompletionsServer, sampling: dict[str, Any] | None = None, **settings: Any) -> Any:
    section = {"api_key_env": "TEST_ENDPOINT_KEY", "base_url": server.url, "model_name": "tiny", **settings}
    return load_engine(
        EndpointSettings(kind="endpoint", **section),
        server.model,
        resolve_sampling(Sampling(**(sampling or {})), Path(str(server.model.path))),
    )


def test_generations_are_what_the_served_model_sampled(server: CompletionsServer) -> None:
    requests = [request([0, seed], seed) for seed in range(1, 9)]
    client = engine(server)
    assert client.generate(requests) == server.engine.generate(requests)
    assert client.settings_used()["retokenised_generations"] == 0
    assert all(body["seed"] == body["prompt"][1] for body in server.bodies)
    client.close()


def test_every_sampling_field_is_sent(server: CompletionsServer) -> None:
    client = engine(server, {"temperature": 0.7, "top_p": 0.9, "top_k": 11})
    client.generate([request([0])])
    client.close()
    assert server.bodies[0] | {"prompt": None} == {
        "model": "tiny", "n": 1, "logprobs": 1, "temperature": 0.7, "top_p": 0.9, "top_k": 11, "min_p": 0.0,
        "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "return_token_ids": True,
        "prompt": None, "seed": 0, "max_tokens": 24,
    }  # fmt: skip


def test_text_without_token_ids_is_tokenised_again_and_counted(server: CompletionsServer) -> None:
    server.with_token_ids = False
    requests = [request([0], seed, 40) for seed in range(12)]
    client = engine(server, vllm_fields=False)
    client.generate(requests)
    assert "top_k" not in server.bodies[0]
    stopped = 0
    for g, own in zip(client.generate(requests), server.engine.generate(requests), strict=True):
        text = server.tokenizer.decode(own.token_ids, skip_special_tokens=True)
        again = server.tokenizer(text, add_special_tokens=False).input_ids
        assert g.token_ids == again + [1] * (own.finish_reason == "stop")
        assert g.logprobs == [] and g.finish_reason == own.finish_reason
        stopped += g.finish_reason == "stop"
        assert (g.token_ids[-1] == 1) == (g.finish_reason == "stop")
    assert stopped and client.settings_used()["retokenised_generations"] == 24
    client.close()


def test_fields_that_the_server_does_not_know_are_not_dropped_in_silence(server: CompletionsServer) -> None:
    with pytest.raises(InputError, match="engine.vllm_fields: top_k"):
        engine(server, {"top_k": 40}, vllm_fields=False)


@pytest.mark.parametrize("fault", [429, 503, "drop"])
def test_passing_trouble_is_tried_again(server: CompletionsServer, fault: int | str) -> None:
    server.to_fail = [fault]
    client = engine(server)
    assert client.generate([request([0])]) == server.engine.generate([request([0])])
    assert len(server.bodies) == 2
    client.close()


def test_trouble_that_stays_is_an_error_and_no_failed_generation(server: CompletionsServer) -> None:
    server.to_fail = [500] * 2
    client = engine(server, retries=1)
    with pytest.raises(ConnectionError, match="status 500, after 2 tries"):
        client.generate([request([0])])
    client.close()


def test_a_refused_request_fails_alone(server: CompletionsServer) -> None:
    client = engine(server)
    reasons = [
        g.finish_reason for g in client.generate([request([0] * 101), request([], 1), request([0], 2)])
    ]
    assert reasons[:2] == ["failed", "failed"] and reasons[2] in ("stop", "length")
    client.close()


def test_a_wrong_key_is_named_and_never_shown(
    server: CompletionsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_ENDPOINT_KEY", "wrong")
    client = engine(server)
    with pytest.raises(InputError, match="status 401; check the key") as caught:
        client.generate([request([0])])
    assert "wrong" not in str(caught.value) and "wrong" not in json.dumps(client.settings_used())
    client.close()
    monkeypatch.delenv("TEST_ENDPOINT_KEY")
    with pytest.raises(InputError, match="environment variable TEST_ENDPOINT_KEY is not set"):
        engine(server)


def test_requests_in_flight_are_bounded(server: CompletionsServer) -> None:
    server.delay = 0.05
    client = engine(server, concurrency=3)
    client.generate([request([0], seed, 1) for seed in range(12)])
    client.close()
    assert server.most_running == 3
