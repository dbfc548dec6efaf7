"""Reads a generation through the models that rank it: the model, a reference, and the model on lower case."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from extraction.engines.settings import TransformersSettings, VllmSettings
from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer, token_ids
from extraction.ranking.scores import Scored, scores_of
from extraction.records import Generation
from extraction.scoring import LogProbScorer, Scorer, Text
from extraction.token_bytes import TokenBytes


@dataclass(frozen=True)
class RankingModels:
    """What generations are read through.

    Attributes:
        model: the model that generated.
        reference: a smaller model, or one that did not see the data; None leaves its scores out.
        engine: what runs them.
    """

    model: ModelSettings
    reference: ModelSettings | None
    engine: TransformersSettings | VllmSettings

    def load(self) -> "Ranker":
        """Load them.

        Raises:
            InputError: one cannot be loaded.
        """
        engine = self.engine
        if isinstance(engine, VllmSettings) and self.reference is not None:
            # Both stand on the same GPUs, and each would take its share of them whole.
            engine = engine.model_copy(update={"gpu_memory_utilization": engine.gpu_memory_utilization / 2})
        reference = Reading.load(self.reference, engine) if self.reference else None
        return Ranker(Reading.load(self.model, engine), reference)


@dataclass
class Reading:
    """A model with its tokenizer."""

    scorer: LogProbScorer
    tokenizer: Any
    table: TokenBytes

    @classmethod
    def load(cls, model: ModelSettings, engine: TransformersSettings | VllmSettings) -> "Reading":
        """Load both.

        Raises:
            InputError: one cannot be loaded.
        """
        tokenizer = load_tokenizer(model)
        return cls(_scorer(model, engine), tokenizer, TokenBytes.from_tokenizer(tokenizer))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, no special tokens added."""
        return token_ids(self.tokenizer, text)

    def context(self, prompt: Sequence[int]) -> list[int]:
        """What stands before a generation: its prompt after one beginning-of-sequence token, or the token alone.

        Raises:
            InputError: the prompt is empty and the tokenizer has no such token.
        """
        start = self.tokenizer.bos_token_id
        if start is None:
            if not prompt:
                raise InputError(
                    "a generation has an empty prompt, and the tokenizer has no beginning-of-sequence"
                )
            return list(prompt)
        return list(prompt) if list(prompt[:1]) == [start] else [start, *prompt]

    def read(self, texts: Sequence[Text]) -> list[Scored]:
        """Score texts; what was beyond the model's length is left out."""
        scored = self.scorer.log_probs(texts)
        return [
            Scored(-one.log_probs.astype(np.float64), self.table.bytes_of(text.tokens)[: one.log_probs.size])
            for text, one in zip(texts, scored, strict=True)
        ]


def _scorer(model: ModelSettings, engine: TransformersSettings | VllmSettings) -> LogProbScorer:
    if isinstance(engine, VllmSettings):
        from extraction.vllm_scoring import VllmScorer

        return VllmScorer(engine, model)
    return Scorer.load(model, engine.device)


@dataclass
class Ranker:
    """Computes all scores of generations."""

    model: Reading
    reference: Reading | None

    def score(self, generations: Sequence[Generation]) -> Iterator[dict[str, float | None]]:
        """Score some generations, in order: the fields of `Scores`."""
        texts = [self.model.table.decode(g.token_ids) for g in generations]
        lowered = [
            Text(self.model.context(g.prompt_token_ids), self.model.encode(text.lower()))
            for g, text in zip(generations, texts, strict=True)
        ]
        references = self._references(generations, texts)
        rows = zip(self._own(generations), references, self.model.read(lowered), strict=True)
        for own, reference, lowercase in rows:
            yield asdict(scores_of(own, reference, lowercase))

    def _own(self, generations: Sequence[Generation]) -> list[Scored]:
        """The model's losses: those that generation kept, else a pass of their own."""
        kept = {n for n, g in enumerate(generations) if g.token_ids and len(g.logprobs) == len(g.token_ids)}
        missing = [n for n in range(len(generations)) if n not in kept]
        asked = [
            Text(self.model.context(generations[n].prompt_token_ids), generations[n].token_ids)
            for n in missing
        ]
        found = dict(zip(missing, self.model.read(asked), strict=True))
        for n in kept:
            losses = -np.array(generations[n].logprobs, dtype=np.float64)
            found[n] = Scored(losses, self.model.table.bytes_of(generations[n].token_ids))
        return [found[n] for n in range(len(generations))]

    def _references(self, generations: Sequence[Generation], texts: Sequence[str]) -> Sequence[Scored | None]:
        if self.reference is None:
            return [None] * len(texts)
        asked = []
        for g, text in zip(generations, texts, strict=True):
            prompt = self.model.table.decode(g.prompt_token_ids)
            # Prompt and text apart, so that the same bytes are scored whatever the tokens.
            asked.append(
                Text(self.reference.context(self.reference.encode(prompt)), self.reference.encode(text))
            )
        return self.reference.read(asked)
