"""Log-probabilities of given tokens under a model: one forward pass, the same alone and in any batch.

What the ranking of candidates and the membership tests build on. Knows nothing of either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.model import ModelSettings, load_model

Floats = NDArray[np.float32]


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


class Scorer:
    """Scores texts with a `transformers` causal language model."""

    def __init__(self, model: Any, batch_tokens: int = 4096) -> None:
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
            InputError: it cannot be loaded.
        """
        return cls(load_model(settings, device))

    def score(self, texts: Sequence[Text]) -> list[TokenScores]:
        """Score texts, in their order.

        Args:
            texts: a text without tokens has empty scores.

        Raises:
            InputError: a text has no context, or a token that the model does not know.
        """
        for text in texts:
            self._check(text)
        found: dict[int, TokenScores] = {n: _nothing(text) for n, text in enumerate(texts) if not text.tokens}
        order = sorted((n for n in range(len(texts)) if n not in found), key=lambda n: len(texts[n]))
        for batch in self._batches(order, texts):
            found |= dict(zip(batch, self._score_batch([texts[n] for n in batch]), strict=True))
        return [found[n] for n in range(len(texts))]

    def _check(self, text: Text) -> None:
        if not text.context:
            raise InputError(
                "scoring: a text needs a token before it; this tokenizer has no beginning-of-sequence"
            )
        if any(not 0 <= token < self._vocabulary for token in (*text.context, *text.tokens)):
            raise InputError("scoring: a token id is not in the model's vocabulary; is this its tokenizer?")

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

    def _score_batch(self, texts: Sequence[Text]) -> list[TokenScores]:
        import torch

        width = max(map(self._length, texts))
        ids = torch.zeros(len(texts), width, dtype=torch.long)
        for row, text in enumerate(texts):
            known = [*text.context, *text.tokens][:width]
            ids[row, : len(known)] = torch.tensor(known)
        # Padding stands behind a text, where causal attention does not see it: no mask is needed.
        with torch.inference_mode():
            logits = self._model(input_ids=ids.to(self._model.device), use_cache=False).logits
        return [self._cut_out(text, logits[row], ids[row]) for row, text in enumerate(texts)]

    def _cut_out(self, text: Text, logits: Any, ids: Any) -> TokenScores:
        import torch

        first, end = len(text.context), self._length(text)
        if end <= first:
            return _nothing(text)
        with torch.inference_mode():
            logs = torch.log_softmax(logits[first - 1 : end - 1].float(), -1)
            chances = logs.exp()
            means = (chances * logs).sum(-1)
            # A token of probability 0 has no part in the spread; 0 times minus infinity would be NaN.
            squares = torch.where(chances > 0, chances * (logs - means[:, None]) ** 2, 0.0)
            chosen = logs.gather(-1, ids[first:end, None].to(logs.device))[:, 0]
        log_probs, expected, spreads = (
            value.cpu().numpy() for value in (chosen, means, squares.sum(-1).sqrt())
        )
        return TokenScores(log_probs, expected, spreads, len(text) - end)


def _nothing(text: Text) -> TokenScores:
    empty = np.zeros(0, dtype=np.float32)
    return TokenScores(empty, empty, empty, len(text.tokens))
