"""A deployed system as an engine: an OpenAI-compatible server, asked over HTTP.

Where the server returns token ids they are what is counted; where it returns text alone, the text is tokenised
again and the generation is marked so. Log-probabilities are the server's: those of the unmodified model where it is
a vLLM with its default `--logprobs-mode`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import sleep
from typing import Any

import httpx

from extraction.engines.openai_protocol import Answer, headers, protocol_of, sampling_fields
from extraction.engines.results import completed, failed
from extraction.engines.settings import EndpointSettings
from extraction.engines.stopping import StopStrings
from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer, token_ids
from extraction.records import Generation, Request
from extraction.sampling import ResolvedSampling

_REFUSED = {400, 413, 422}  # this request, for instance an over-long prompt
_AGAIN = {408, 429}  # and every 5xx
_LONGEST_WAIT = 60.0


class EndpointEngine:
    """Samples from an OpenAI-compatible server. Satisfies `Engine`."""

    def __init__(self, settings: EndpointSettings, model: ModelSettings, sampling: ResolvedSampling) -> None:
        """Prepare a client; nothing is asked yet.

        Raises:
            InputError: the key's environment variable is not set, the tokenizer cannot be loaded, or the
                sampling needs fields that the server is not to be sent.
        """
        self._settings, self._sampling = settings, sampling
        self._fields = sampling_fields(settings, sampling)
        self._tokenizer = load_tokenizer(model)
        self._protocol = protocol_of(settings, self._tokenizer)
        self._stops = StopStrings.load(sampling, model)
        self._url = f"{settings.base_url.rstrip('/')}/{self._protocol.path}"
        limits = httpx.Limits(max_connections=settings.concurrency)
        self._client = httpx.Client(headers=headers(settings), timeout=settings.timeout, limits=limits)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request; see `Engine`.

        Raises:
            InputError: the server knows neither the key nor the model.
            ConnectionError: the server did not answer, however often it was asked.
        """
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            return list(pool.map(self._ask, requests))

    def settings_used(self) -> dict[str, str | int | float | None]:
        """Say what really runs; see `Engine`. The key is no part of it."""
        return {
            "kind": self._settings.kind,
            "base_url": self._settings.base_url,
            "model_name": self._settings.model_name,
            "protocol": self._settings.protocol,
            "exact_repeats": False,
        }

    def close(self) -> None:
        """Close the connections; see `Engine`."""
        self._client.close()

    def _ask(self, request: Request) -> Generation:
        if not request.prompt_token_ids:
            return failed(request)
        content = self._post(request)
        if content is None:
            return failed(request)
        answer = self._protocol.read(content)
        prompt = answer.prompt_token_ids or self._protocol.prompt(request)
        own = answer.token_ids
        token_ids = self._tokens_of(answer) if own is None else own
        end = self._stops.end(token_ids)
        reason = "stop" if answer.stopped or end is not None else "length"
        asked = replace(request, prompt_token_ids=prompt)
        return completed(asked, token_ids[:end], answer.logprobs[:end], reason, own is None)

    def _post(self, request: Request) -> Any:
        """Post until it is answered; None where the server refuses this very request."""
        own = {"seed": request.seed, "max_tokens": request.max_tokens}
        body = {**self._fields, **self._protocol.body(request), **own}
        trouble, wait = "", 0.0
        for attempt in range(self._settings.retries + 1):
            sleep(wait)
            wait = _pause(attempt, request.seed)
            try:
                response = self._client.post(self._url, json=body)
            except httpx.TransportError as error:
                trouble = type(error).__name__
                continue
            if response.is_success:
                return self._content(response)
            if response.status_code in _REFUSED:
                return None
            trouble = f"status {response.status_code}"
            if response.status_code not in _AGAIN and response.status_code < 500:
                raise InputError(
                    f"engine.base_url: {self._settings.base_url}: {trouble}; check the key and model_name"
                )
            wait = max(wait, _retry_after(response))
        raise ConnectionError(
            f"{self._settings.base_url}: {trouble}, after {self._settings.retries + 1} tries"
        )

    def _content(self, response: httpx.Response) -> Any:
        try:
            content = response.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise InputError(
                f"engine.base_url: {self._settings.base_url}: what answers there does not speak the protocol; check "
                "the address, up to and including /v1"
            )
        return content if content.get("choices") else None  # a filter of the server's may withhold it

    def _tokens_of(self, answer: Answer) -> list[int]:
        """Tokenise a text again, with what ended it: both count.

        A model that stopped by itself wrote a stop string or drew an end-of-sequence token; a server that does not
        say which is taken to mean the latter.
        """
        whole = answer.text.removesuffix(answer.stop_string) + answer.stop_string
        ids = token_ids(self._tokenizer, whole)
        ended = answer.stopped and not answer.stop_string
        return [*ids, *self._sampling.stop_token_ids[:1]] if ended else ids


def _pause(attempt: int, seed: int) -> float:
    """Seconds before the next try: doubling from a half, spread by the seed so that requests do not return in step."""
    spread: float = 1 + seed % 1024 / 1024
    return min(0.5 * 2.0**attempt * spread, _LONGEST_WAIT)


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(float(response.headers.get("retry-after", 0)), _LONGEST_WAIT)
    except ValueError:  # a date: the doubling pause does as well
        return 0.0
