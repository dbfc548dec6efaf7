"""A deployed system as an engine: an OpenAI-compatible completions server, asked over HTTP.

Prompts go as token ids. Where the server returns token ids they are what is counted; where it returns text
alone, the text is tokenised again and the number of such generations is stated in `settings_used`.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from extraction.engines.results import completed, failed
from extraction.engines.settings import EndpointSettings
from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
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
        self._fields = _sampling_fields(settings, sampling)
        self._tokenizer = load_tokenizer(model)
        self._retokenised = 0
        limits = httpx.Limits(max_connections=settings.concurrency)
        self._client = httpx.Client(headers=_headers(settings), timeout=settings.timeout, limits=limits)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request; see `Engine`.

        Raises:
            InputError: the server knows neither the key nor the model.
            ConnectionError: the server did not answer, however often it was asked.
        """
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            answers = list(pool.map(self._ask, requests))
        self._retokenised += sum(again for _, again in answers)
        return [generation for generation, _ in answers]

    def settings_used(self) -> dict[str, object]:
        """Say what really runs; see `Engine`. The key is no part of it."""
        return {
            "kind": self._settings.kind,
            "base_url": self._settings.base_url,
            "model_name": self._settings.model_name,
            "exact_repeats": False,
            "retokenised_generations": self._retokenised,
            "sampling": self._sampling.as_dict(),
        }

    def close(self) -> None:
        """Close the connections; see `Engine`."""
        self._client.close()

    def _ask(self, request: Request) -> tuple[Generation, bool]:
        """Ask for one generation; the flag says whether its text had to be tokenised again."""
        if not request.prompt_token_ids:
            return failed(request), False
        answer = self._post(request)
        if answer is None:
            return failed(request), False
        choice = answer["choices"][0]
        reason = "stop" if choice.get("finish_reason") == "stop" else "length"
        token_ids = choice.get("token_ids")
        if token_ids is None:
            return completed(request, self._tokens_of(choice["text"], reason), [], reason), True
        scores = (choice.get("logprobs") or {}).get("token_logprobs") or []
        logprobs = [float(score) for score in scores] if len(scores) == len(token_ids) else []
        return completed(request, list(token_ids), logprobs, reason), False

    def _post(self, request: Request) -> Any:
        """Post until it is answered; None where the server refuses this very request."""
        body = {
            **self._fields,
            "prompt": request.prompt_token_ids,
            "seed": request.seed,
            "max_tokens": request.max_tokens,
        }
        trouble, wait = "", 0.0
        for attempt in range(self._settings.retries + 1):
            time.sleep(wait)
            wait = _pause(attempt, request.seed)
            try:
                response = self._client.post(f"{self._settings.base_url.rstrip('/')}/completions", json=body)
            except httpx.TransportError as error:
                trouble = type(error).__name__
                continue
            if response.is_success:
                return response.json()
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

    def _tokens_of(self, text: str, reason: str) -> list[int]:
        """Tokenise a text again. A generation that stopped by itself drew an end-of-sequence token, which counts."""
        ids: list[int] = self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return [*ids, *self._sampling.stop_token_ids[:1]] if reason == "stop" else ids


def _sampling_fields(settings: EndpointSettings, sampling: ResolvedSampling) -> dict[str, object]:
    """State every field: a server fills what is left out from defaults of its own."""
    fields: dict[str, object] = {
        "model": settings.model_name,
        "n": 1,
        "logprobs": 1,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
    }
    further = {
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
    }
    if settings.vllm_fields:
        return {**fields, **further, "return_token_ids": True}
    if further != {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}:
        raise InputError(
            "engine.vllm_fields: top_k, min_p and repetition_penalty need it; set it or leave them out"
        )
    return fields


def _headers(settings: EndpointSettings) -> dict[str, str]:
    if settings.api_key_env is None:
        return {}
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise InputError(f"engine.api_key_env: the environment variable {settings.api_key_env} is not set")
    return {"Authorization": f"Bearer {key}"}


def _pause(attempt: int, seed: int) -> float:
    """Seconds before the next try: doubling from a half, spread by the seed so that requests do not return in step."""
    spread: float = 1 + seed % 1024 / 1024
    return min(0.5 * 2.0**attempt * spread, _LONGEST_WAIT)


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(float(response.headers.get("retry-after", 0)), _LONGEST_WAIT)
    except ValueError:  # a date: the doubling pause does as well
        return 0.0
