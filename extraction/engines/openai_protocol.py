"""What is sent to an OpenAI-compatible server, and what its answers hold: completions and chat completions.

Completions take the prompt's token ids. A chat takes messages and the server writes them into a template of its
own, so a prompt goes as its text, and comes back as what the server made of it where the server says so.
"""

import os
from dataclasses import dataclass
from typing import Any

from extraction.engines.settings import EndpointSettings
from extraction.errors import InputError
from extraction.model import token_ids
from extraction.records import Request
from extraction.sampling import ResolvedSampling
from extraction.token_bytes import TokenBytes


@dataclass(frozen=True)
class Answer:
    """What a server said about one request.

    Attributes:
        text: the generated text; a server may leave the stop string out of it.
        token_ids: the sampled tokens; None where the server keeps them to itself.
        logprobs: of the sampled tokens, or empty.
        stopped: the model ended by itself, at an end-of-sequence token or a stop string.
        stop_string: the stop string that ended it, where the server says so.
        prompt_token_ids: what the model was really fed; None where the server does not say.
    """

    text: str
    token_ids: list[int] | None
    logprobs: list[float]
    stopped: bool
    stop_string: str
    prompt_token_ids: list[int] | None


class Completions:
    """The completions protocol: the prompt goes as token ids."""

    path = "completions"

    def body(self, request: Request) -> dict[str, Any]:
        """What is sent for this request, beside the sampling fields."""
        return {"prompt": request.prompt_token_ids, "logprobs": 1}

    def prompt(self, request: Request) -> list[int]:
        """The tokens that the request's prompt stands for."""
        return request.prompt_token_ids

    def read(self, answer: dict[str, Any]) -> Answer:
        """Read what the server answered."""
        choice = answer["choices"][0]
        scores = (choice.get("logprobs") or {}).get("token_logprobs") or []
        return _answer(choice, choice["text"], scores, choice.get("prompt_token_ids"))


class ChatCompletions:
    """The chat protocol: the prompt's text goes as a user's message, behind an optional system prompt."""

    path = "chat/completions"

    def __init__(self, system: str | None, tokenizer: Any) -> None:
        """Prepare the system prompt and what turns prompts into text."""
        self._bytes = TokenBytes.from_tokenizer(tokenizer)
        self._first = [] if system is None else [{"role": "system", "content": system}]
        self._system_ids = token_ids(tokenizer, system or "")

    def body(self, request: Request) -> dict[str, Any]:
        """What is sent for this request, beside the sampling fields."""
        runs = self._bytes.runs(request.prompt_token_ids, starts_text=True)
        text = b"".join(run.data for run in runs).decode(errors="replace")
        return {"messages": [*self._first, {"role": "user", "content": text}], "logprobs": True}

    def prompt(self, request: Request) -> list[int]:
        """The tokens of the messages, for a server that does not say what it fed the model."""
        return [*self._system_ids, *request.prompt_token_ids]

    def read(self, answer: dict[str, Any]) -> Answer:
        """Read what the server answered."""
        choice = answer["choices"][0]
        scores = [token["logprob"] for token in (choice.get("logprobs") or {}).get("content") or []]
        return _answer(choice, choice["message"].get("content"), scores, answer.get("prompt_token_ids"))


def protocol_of(settings: EndpointSettings, tokenizer: Any) -> Completions | ChatCompletions:
    """The protocol that the settings name."""
    return (
        Completions() if settings.protocol == "completions" else ChatCompletions(settings.system, tokenizer)
    )


def _answer(
    choice: dict[str, Any], text: str | None, scores: list[float], prompt: list[int] | None
) -> Answer:
    token_ids, why = choice.get("token_ids"), choice.get("stop_reason")
    whole = token_ids is not None and len(scores) == len(token_ids)
    return Answer(
        text=text or "",
        token_ids=None if token_ids is None else list(token_ids),
        logprobs=[float(score) for score in scores] if whole else [],
        stopped=choice.get("finish_reason") == "stop",
        stop_string=why if isinstance(why, str) else "",
        prompt_token_ids=None if prompt is None else list(prompt),
    )


def sampling_fields(settings: EndpointSettings, sampling: ResolvedSampling) -> dict[str, object]:
    """State every field: a server fills what is left out from defaults of its own.

    Raises:
        InputError: the sampling needs fields that the server is not to be sent.
    """
    fields: dict[str, object] = {
        "model": settings.model_name,
        "n": 1,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
    }
    if sampling.stop_strings:
        fields["stop"] = list(sampling.stop_strings)
    further = {
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
    }
    if settings.vllm_fields:
        # A stop string may be a special token, which a server does not write out unasked.
        return {
            **fields,
            **further,
            "return_token_ids": True,
            "skip_special_tokens": not sampling.stop_strings,
        }
    if further != {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}:
        raise InputError(
            "engine.vllm_fields: top_k, min_p and repetition_penalty need it; set it or leave them out"
        )
    return fields


def headers(settings: EndpointSettings) -> dict[str, str]:
    """What is sent in front of every request: the key, which stands in no file.

    Raises:
        InputError: its environment variable is not set.
    """
    if settings.api_key_env is None:
        return {}
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise InputError(
            f"engine.api_key_env: the environment variable {settings.api_key_env} is not set where a worker runs; "
            "set it, on every node of a cluster"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"engine.api_key_env: the environment variable {settings.api_key_env} holds a line end or another "
            "character that no key has; set it to the key alone"
        )
    return {"Authorization": f"Bearer {key}"}
