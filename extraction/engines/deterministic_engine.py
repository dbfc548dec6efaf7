"""A seeded stand-in for a model, for tests and dry runs: passages of a text amid random tokens, in microseconds."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from extraction.engines.results import completed, failed
from extraction.engines.settings import DeterministicSettings
from extraction.engines.stopping import StopStrings
from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
from extraction.records import Generation, Request
from extraction.sampling import ResolvedSampling
from extraction.token_bytes import TokenBytes

_FILLER = 40
"""Most random tokens between two passages."""


class DeterministicEngine:
    """Emits passages and random tokens as the request's seed says, whatever the prompt. Satisfies `Engine`.

    A generation ends with an end-of-sequence token at a random length, at a stop string, or at its limit.
    """

    def __init__(
        self, settings: DeterministicSettings, model: ModelSettings, sampling: ResolvedSampling
    ) -> None:
        """Tokenise the passages.

        Raises:
            InputError: the tokenizer or the passages cannot be read.
        """
        tokenizer = load_tokenizer(model)
        self._settings, self._sampling = settings, sampling
        self._stops = StopStrings.load(sampling, model)
        self._filler = _filler(tokenizer)
        texts = [] if settings.passages is None else read_passages(settings.passages)
        encoded = tokenizer.backend_tokenizer.encode_batch(texts, add_special_tokens=False)
        self._passages: list[list[int]] = [e.ids for e in encoded]

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request; see `Engine`."""
        return [self._one(request) if request.prompt_token_ids else failed(request) for request in requests]

    def settings_used(self) -> dict[str, str | int | float | None]:
        """Say what really runs; see `Engine`."""
        return {
            "kind": self._settings.kind,
            "passages": len(self._passages),
            "passage_share": self._settings.passage_share,
            "exact_repeats": True,
        }

    def close(self) -> None:
        """Hold nothing; see `Engine`."""

    def _one(self, request: Request) -> Generation:
        rng = np.random.default_rng(request.seed)
        length = int(rng.integers(1, 2 * request.max_tokens, endpoint=True))
        tokens: list[int] = []
        while len(tokens) < min(length, request.max_tokens):
            tokens += self._piece(rng)
        reason = "length"
        if length < request.max_tokens and self._sampling.stop_token_ids:
            tokens[length - 1 :] = self._sampling.stop_token_ids[:1]
            reason = "stop"
        tokens = tokens[: request.max_tokens]
        if (end := self._stops.end(tokens)) is not None:
            tokens, reason = tokens[:end], "stop"
        return completed(request, tokens, (-rng.exponential(1.0, len(tokens))).tolist(), reason)

    def _piece(self, rng: np.random.Generator) -> list[int]:
        if self._passages and rng.random() < self._settings.passage_share:
            return self._passages[int(rng.integers(len(self._passages)))]
        chosen: list[int] = rng.choice(self._filler, int(rng.integers(1, _FILLER, endpoint=True))).tolist()
        return chosen


def _filler(tokenizer: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Every token that has bytes."""
    table = TokenBytes.from_tokenizer(tokenizer).bytes_of(range(len(tokenizer)))  # type: ignore[arg-type]
    return np.array([i for i, data in enumerate(table) if data], np.int64)


def read_passages(path: Path) -> list[str]:
    """Read the passages that are emitted, parted by blank lines.

    Raises:
        InputError: the file is missing, is no UTF-8 text, or holds nothing.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"engine.passages: {path}: not readable as UTF-8 text") from error
    passages = [passage for passage in text.split("\n\n") if passage.strip()]
    if not passages:
        raise InputError(f"engine.passages: {path}: no text in there")
    return passages
