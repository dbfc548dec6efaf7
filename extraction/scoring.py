"""Log-probabilities of given tokens under a model: one forward pass, the same alone and in any batch.

What the ranking of candidates and the membership tests build on. Knows nothing of either.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.model import ModelSettings, load_model
from extraction.moments import moments
from extraction.sampling import ResolvedSampling

Floats = NDArray[np.float32]
T = TypeVar("T")

# Most tokens of a batch, padding included. Its logits are held whole: 0.4 GB for a vocabulary of 49,152 on a CPU.
CPU_BATCH_TOKENS, BATCH_TOKENS = 2048, 16_384


@dataclass(frozen=True)
class Text:
    """Tokens to score.

    Attributes:
        context: token ids that are given, the beginning-of-sequence token included; at least one.
        tokens: token ids that are scored after them.
    """

    context: Sequence[int]
    tokens: Sequence[int]

    def __len__(self) -> int:
        """Tokens of both."""
        return len(self.context) + len(self.tokens)


@dataclass(frozen=True)
class LogProbs:
    """How probable a model finds a text's tokens.

    Attributes:
        log_probs: float32[n], natural logarithm of each token's probability.
        cut: tokens at the end that were beyond the model's length, and are not scored.
    """

    log_probs: Floats
    cut: int


class LogProbScorer(Protocol):
    """Finds how probable a model finds given tokens."""

    def log_probs(self, texts: Sequence[Text]) -> list[LogProbs]:
        """Score texts, in their order.

        Raises:
            InputError: a text has no context, or a token that the model does not know.
        """
        ...


@dataclass(frozen=True)
class TokenScores:
    """What a model says of a text's tokens.

    Attributes:
        log_probs: float32[n], natural logarithm of each token's probability.
        means: float32[n], the expected log-probability at each place: sum over the vocabulary of p log p.
        deviations: float32[n], the standard deviation of the log-probability there.
        cut: tokens at the end that were beyond the model's length, and are not scored.
    """

    log_probs: Floats
    means: Floats
    deviations: Floats
    cut: int


@dataclass(frozen=True)
class SampledText:
    """How a sampler would come by a text's tokens.

    Attributes:
        log_probs: float64[n], natural logarithm of the probability with which each token is drawn after those before
            it, temperature, top-k, top-p and penalties applied; minus infinity for one that never is.
        greedy: bool[n], whether each is the model's most probable token there.
        cut: tokens at the end that were beyond the model's length, and are not scored.
    """

    log_probs: NDArray[np.float64]
    greedy: NDArray[np.bool_]
    cut: int


class Scorer:
    """Scores texts with a `transformers` causal language model."""

    def __init__(self, model: Any, batch_tokens: int = CPU_BATCH_TOKENS) -> None:
        """Prepare a model.

        Args:
            model: a causal language model in evaluation mode.
            batch_tokens: most tokens of a batch, padding included.
        """
        self._model, self._batch_tokens = model, batch_tokens
        config = model.config.get_text_config()
        self._vocabulary: int = config.vocab_size
        self._longest: int | None = getattr(config, "max_position_embeddings", None)

    @classmethod
    def load(cls, settings: ModelSettings, device: str = "cpu") -> "Scorer":
        """Load a model.

        Raises:
            InputError: it cannot be loaded, or has an adapter, which would be left out.
        """
        if settings.adapter is not None:
            raise InputError(
                f"{settings.adapter}: transformers scores without adapters; merge it into the model, or score with vllm"
            )
        return cls(load_model(settings, device), CPU_BATCH_TOKENS if device == "cpu" else BATCH_TOKENS)

    def log_probs(self, texts: Sequence[Text]) -> list[LogProbs]:
        """Find the log-probabilities alone: what `score` adds to them costs as much as a small model's pass.

        Args:
            texts: a text without tokens has none.

        Raises:
            InputError: a text has no context, or a token that the model does not know.
        """
        return self._each(texts, self._read_log_probs, _no_log_probs)

    def score(self, texts: Sequence[Text]) -> list[TokenScores]:
        """Score texts, in their order.

        Args:
            texts: a text without tokens has empty scores.

        Raises:
            InputError: a text has no context, or a token that the model does not know.
        """
        return self._each(texts, self._read_scores, _no_scores)

    def sampled(self, texts: Sequence[Text], sampling: ResolvedSampling) -> list[SampledText]:
        """Find with which probability a sampler draws texts, in their order; none of them is drawn.

        Args:
            texts: a text without tokens has none.
            sampling: the sampler's settings; what ends a generation is the caller's business.

        Raises:
            InputError: a text has no context, or a token that the model does not know.
        """
        return self._each(texts, partial(self._read_sampled, sampling), _nothing_sampled)

    def _each(
        self, texts: Sequence[Text], read: Callable[[Sequence[Text]], list[T]], none: Callable[[Text], T]
    ) -> list[T]:
        """Read every text that has something to score, in batches; `none` makes the result of the others."""
        for text in texts:
            check_text(text, self._vocabulary)
        found = {n: none(text) for n, text in enumerate(texts) if self._length(text) <= len(text.context)}
        order = sorted((n for n in range(len(texts)) if n not in found), key=lambda n: len(texts[n]))
        for batch in self._batches(order, texts):
            found |= dict(zip(batch, read([texts[n] for n in batch]), strict=True))
        return [found[n] for n in range(len(texts))]

    def _batches(self, order: Sequence[int], texts: Sequence[Text]) -> Iterator[list[int]]:
        """Texts of like length together, so that little is padding."""
        batch: list[int] = []
        for n in order:
            if batch and (len(batch) + 1) * self._length(texts[n]) > self._batch_tokens:
                yield batch
                batch = []
            batch.append(n)
        if batch:
            yield batch

    def _length(self, text: Text) -> int:
        return len(text) if self._longest is None else min(len(text), self._longest)

    def _forward(self, texts: Sequence[Text]) -> tuple[Any, Any]:
        """Logits and token ids of a batch, on the model's device: [texts, tokens, vocabulary] and [texts, tokens]."""
        import torch

        ids = torch.zeros(len(texts), max(map(self._length, texts)), dtype=torch.long)
        for row, text in enumerate(texts):
            known = [*text.context, *text.tokens][: ids.shape[1]]
            ids[row, : len(known)] = torch.tensor(known)
        ids = ids.to(self._model.device)
        # Padding stands behind a text, where causal attention does not see it: no mask is needed.
        return self._model(input_ids=ids, use_cache=False).logits, ids

    def _read_log_probs(self, texts: Sequence[Text]) -> list[LogProbs]:
        import torch
        from torch.nn.functional import cross_entropy

        with torch.inference_mode():
            logits, ids = self._forward(texts)
            found = []
            for row, text in enumerate(texts):
                first, end = len(text.context), self._length(text)
                scores = logits[
                    row, first - 1 : end - 1
                ].float()  # a row at a time: a batch of these would not fit
                found.append(-cross_entropy(scores, ids[row, first:end], reduction="none"))
            values = torch.cat(found).cpu().numpy()  # one copy from the device for a batch
        rows = np.split(values, np.cumsum([row.shape[0] for row in found])[:-1])
        return [LogProbs(row, len(text) - self._length(text)) for row, text in zip(rows, texts, strict=True)]

    def _read_sampled(self, sampling: ResolvedSampling, texts: Sequence[Text]) -> list[SampledText]:
        import torch

        from extraction.engines.sampler import Sampler

        lengths = [self._length(text) - len(text.context) for text in texts]
        columns, likeliest = [], []
        with torch.inference_mode():
            logits, ids = self._forward(texts)
            contexts = [list(text.context) for text in texts]
            sampler = Sampler(sampling, contexts, logits.shape[-1], str(logits.device))
            rows = torch.arange(len(texts), device=logits.device)
            first = torch.tensor([len(context) for context in contexts], device=logits.device)
            for step in range(max(lengths)):  # rows that have ended go on with what is not read
                places = (first + step).clamp(max=ids.shape[1] - 1)
                own, tokens = logits[rows, places - 1].float(), ids[rows, places]
                found = sampler.log_probability(own, tokens)
                columns.append(found.masked_fill(own.isnan().any(-1), torch.nan))
                likeliest.append(own.argmax(-1) == tokens)
            log_probs, greedy = (torch.stack(some, 1).cpu().numpy() for some in (columns, likeliest))
        return [
            SampledText(log_probs[row, :end], greedy[row, :end], len(text.tokens) - end)
            for row, (text, end) in enumerate(zip(texts, lengths, strict=True))
        ]

    def _read_scores(self, texts: Sequence[Text]) -> list[TokenScores]:
        import torch

        with torch.inference_mode():
            logits, ids = self._forward(texts)
            found = []
            for row, text in enumerate(texts):
                first, end = len(text.context), self._length(text)
                found.append(moments(logits[row, first - 1 : end - 1], ids[row, first:end]))
            values = torch.cat(found, dim=1).cpu().numpy()  # one copy from the device for a batch
        rows = np.split(values, np.cumsum([row.shape[1] for row in found])[:-1], axis=1)
        return [
            TokenScores(log_probs, means, deviations, len(text) - self._length(text))
            for (log_probs, means, deviations), text in zip(rows, texts, strict=True)
        ]


def check_text(text: Text, vocabulary: int) -> None:
    """Refuse a text that a model cannot score.

    Raises:
        InputError: it has no context, or a token that the model does not know.
    """
    if not text.context:
        raise InputError(
            "scoring: a text needs a token before it; this tokenizer has no beginning-of-sequence"
        )
    if any(not 0 <= token < vocabulary for token in (*text.context, *text.tokens)):
        raise InputError("scoring: a token id is not in the model's vocabulary; is this its tokenizer?")


def _no_log_probs(text: Text) -> LogProbs:
    return LogProbs(np.zeros(0, dtype=np.float32), len(text.tokens))


def _no_scores(text: Text) -> TokenScores:
    empty = np.zeros(0, dtype=np.float32)
    return TokenScores(empty, empty, empty, len(text.tokens))


def _nothing_sampled(text: Text) -> SampledText:
    return SampledText(np.zeros(0), np.zeros(0, dtype=np.bool_), len(text.tokens))
