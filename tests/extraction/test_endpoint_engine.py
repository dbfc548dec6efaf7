"""The endpoint engine against a real HTTP server on the loopback address, with a real tiny model behind it."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from extraction.engines import endpoint_engine, load_engine
from extraction.engines.settings import EndpointSettings, ModelSettings, TransformersSettings
from extraction.errors import InputError
from extraction.records import Generation, Request
from extraction.sampling import Sampling, resolve_sampling
from tests.extraction.tiny_models import byte_level_tokenizer, llama, request

KEY = "a-key-for-this-test"


class CompletionsServer(ThreadingHTTPServer):
    """Answers with a transformers model, as text completion or as chat.

    It can be told to fail first, or to keep token ids to itself.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokenizer = byte_level_tokenizer(folder)
        self.model = ModelSettings(path=str(llama(folder)))
        self.engine = self.stopping_at()
        self.lock = threading.Lock()
        self.reset()

    def stopping_at(self, *strings: str) -> Any:
        sampling = resolve_sampling(Sampling(stop_strings=strings), Path(str(self.model.path)))
        return load_engine(TransformersSettings(batch_size=4), self.model, sampling)

    def chat_ids(self, messages: list[dict[str, str]]) -> list[int]:
        ids: list[int] = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_dict=False
        )
        return ids

    def reset(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.to_fail: list[int | str] = []
        self.with_token_ids, self.retry_after = True, 0
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
        elif fault == "page":
            self._send(200, "a page for people")
        elif fault == "withheld":
            self._send(200, {"choices": []})
        elif isinstance(fault, int):
            self._send(fault, {"error": {"message": "no"}})
        elif self.headers.get("authorization") != f"Bearer {KEY}":
            self._send(401, {"error": {"message": "who are you?"}})
        elif len(body.get("prompt", ())) > 100:
            self._send(400, {"error": {"message": "too long"}})
        elif self.path == "/v1/completions":
            self._send(200, self._complete(body))
        elif self.path == "/v1/chat/completions":
            self._send(200, self._chat(body))
        else:
            self._send(404, {"error": {"message": "no such place"}})

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        choice, generation = self._choice(body, body["prompt"])
        choice["logprobs"] = {"token_logprobs": generation.logprobs}
        return {"choices": [choice]}

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = self.server.chat_ids(body["messages"])
        choice, generation = self._choice(body, prompt)
        choice["message"] = {"role": "assistant", "content": choice.pop("text")}
        choice["logprobs"] = {"content": [{"logprob": score} for score in generation.logprobs]}
        return {"choices": [choice]} | ({"prompt_token_ids": prompt} if self.server.with_token_ids else {})

    def _choice(self, body: dict[str, Any], prompt: list[int]) -> tuple[dict[str, Any], Generation]:
        """Generate, and leave the stop string out of the text, as servers do."""
        stops = tuple(body.get("stop", ()))
        engine = self.server.stopping_at(*stops) if stops else self.server.engine
        with self.server.lock:
            (generation,) = engine.generate([Request("r", "f", 0, prompt, body["seed"], body["max_tokens"])])
        text = self.server.tokenizer.decode(generation.token_ids, skip_special_tokens=True)
        why = next((stop for stop in stops if stop in text), None)
        choice = {"text": text if why is None else text[: text.index(why)], "stop_reason": why}
        choice["finish_reason"] = generation.finish_reason
        return choice | (
            {"token_ids": generation.token_ids} if self.server.with_token_ids else {}
        ), generation

    def _send(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", str(self.server.retry_after))
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
    assert all(body["seed"] == body["prompt"][1] for body in server.bodies)
    client.close()


def test_every_sampling_field_is_sent(server: CompletionsServer) -> None:
    settings = {"temperature": 0.7, "top_p": 0.9, "top_k": 11, "min_p": 0.05, "repetition_penalty": 1.1}
    settings |= {"presence_penalty": 0.2, "frequency_penalty": 0.3}
    client = engine(server, settings)
    client.generate([request([0])])
    client.close()
    assert server.bodies[0] | {"prompt": None} == {
        **settings, "model": "tiny", "n": 1, "logprobs": 1, "return_token_ids": True, "skip_special_tokens": True,
        "prompt": None, "seed": 0, "max_tokens": 24,
    }  # fmt: skip


def test_text_without_token_ids_is_tokenised_again_and_marked(server: CompletionsServer) -> None:
    server.with_token_ids = False
    requests = [request([0], seed, 40) for seed in range(12)]
    client = engine(server, vllm_fields=False)
    stopped = 0
    for g, own in zip(client.generate(requests), server.engine.generate(requests), strict=True):
        text = server.tokenizer.decode(own.token_ids, skip_special_tokens=True)
        again = server.tokenizer(text, add_special_tokens=False).input_ids
        assert g.token_ids == again + [1] * (own.finish_reason == "stop")
        assert g.tokenised_again and g.logprobs == [] and g.finish_reason == own.finish_reason
        stopped += g.finish_reason == "stop"
        assert (g.token_ids[-1] == 1) == (g.finish_reason == "stop")
    assert stopped and "top_k" not in server.bodies[0]
    client.close()


@pytest.mark.parametrize("with_token_ids", [True, False])
@pytest.mark.parametrize("protocol", ["completions", "chat"])
def test_the_tokens_of_a_stop_string_count(
    server: CompletionsServer, with_token_ids: bool, protocol: str
) -> None:
    server.with_token_ids = with_token_ids
    client = engine(server, {"stop_strings": ["e", "th"]}, protocol=protocol)
    requests = [request([0], seed, 40) for seed in range(12)]
    stopped = 0
    for g in client.generate(requests):
        texts = [server.tokenizer.decode(g.token_ids[:n]) for n in range(len(g.token_ids) + 1)]
        assert not any("e" in text or "th" in text for text in texts[:-1])
        ended = "e" in texts[-1] or "th" in texts[-1]
        assert g.finish_reason == "stop" or not ended
        stopped += ended
    assert stopped > 3 and server.bodies[0]["stop"] == ["e", "th"]
    assert server.bodies[0]["skip_special_tokens"] is False
    client.close()


def test_a_chat_is_what_the_served_model_answers_to_the_message(server: CompletionsServer) -> None:
    texts = ["the branch opens", "an account pays interest", ""]
    encode = server.tokenizer.backend_tokenizer.encode
    requests = [request([0, *encode(t, add_special_tokens=False).ids], n) for n, t in enumerate(texts)]
    client = engine(server, protocol="chat", system="Be brief.")
    for text, sent, found in zip(texts, requests, client.generate(requests), strict=True):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
        fed = replace(sent, prompt_token_ids=server.chat_ids(messages))
        assert (
            found == server.engine.generate([fed])[0]
        )  # tokens, log-probabilities and the prompt as it was fed
        assert messages in [body["messages"] for body in server.bodies]
    assert client.settings_used()["protocol"] == "chat"
    client.close()


def test_a_chat_without_token_ids_has_the_messages_as_its_prompt(server: CompletionsServer) -> None:
    server.with_token_ids = False
    encode = server.tokenizer.backend_tokenizer.encode
    client = engine(server, protocol="chat", system="Be brief.")
    (found,) = client.generate([request([0, 5, 6])])
    assert found.prompt_token_ids == [*encode("Be brief.", add_special_tokens=False).ids, 0, 5, 6]
    assert found.logprobs == [] and found.tokenised_again
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


def test_each_try_waits_longer_and_as_long_as_the_server_asks(
    server: CompletionsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(endpoint_engine, "sleep", waits.append)
    server.to_fail, server.retry_after = [503, "drop", 500, 429], 45
    client = engine(server)
    assert client.generate([request([0])]) == server.engine.generate([request([0])])
    assert waits == [0, 0.5, 1, 2, 45]
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
    server.to_fail = ["withheld"]
    assert [g.finish_reason for g in client.generate([request([0], 3)])] == ["failed"]
    client.close()


def test_what_is_no_such_server_is_named(server: CompletionsServer) -> None:
    server.to_fail = ["page"]
    client = engine(server)
    with pytest.raises(InputError, match="does not speak the protocol; check the address"):
        client.generate([request([0])])
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
    monkeypatch.setenv("TEST_ENDPOINT_KEY", KEY + "\n")  # as a file gives it that was read whole
    with pytest.raises(InputError, match="variable TEST_ENDPOINT_KEY holds a line end") as caught:
        engine(server)
    assert KEY not in str(caught.value)
    monkeypatch.delenv("TEST_ENDPOINT_KEY")
    with pytest.raises(InputError, match="environment variable TEST_ENDPOINT_KEY is not set"):
        engine(server)


def test_requests_in_flight_are_bounded(server: CompletionsServer) -> None:
    server.delay = 0.05
    client = engine(server, concurrency=3)
    client.generate([request([0], seed, 1) for seed in range(12)])
    client.close()
    assert server.most_running == 3
