"""Reads the probability of every target under the sampler really used, from one forward pass for each continuation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.discoverable.continuations import Tokens
from extraction.discoverable.outcomes import together
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.sampling import ResolvedSampling
from extraction.scoring import SampledText, Scorer, Text
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.targets import TrueContinuations

READING_SCHEMA = pa.schema(
    [
        ("target", pa.int64()),
        ("log_probability", pa.float64()),
        ("greedy", pa.bool_()),
        ("continuations", pa.int32()),
        ("more", pa.bool_()),  # the prompt goes on in more ways than count
        ("too_long", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class ReadJob:
    """Reads the targets of one part after another through one model: a forward pass for each continuation.

    Attributes:
        model: what reads.
        engine: how it is run.
        sampling: the sampler whose draws are asked about.
        most: true continuations of one prompt that count.
        targets: the targets.
        continuations: what follows their prompts in the corpus.
        readings: where the probabilities go.
    """

    model: ModelSettings
    engine: TransformersSettings
    sampling: ResolvedSampling
    most: int
    targets: PartStore
    continuations: PartStore
    readings: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the model in the worker's own process."""
        reader = TargetReader.load(self.model, self.engine, self.sampling)
        true = TrueContinuations(self.continuations, self.most)

        def process(name: str) -> Facts:
            rows = self.targets.read(name, ["target", "prompt_token_ids", "token_ids"]).to_pylist()
            texts = [true.of(row["target"], row["token_ids"]) for row in rows]
            read = reader.read([row["prompt_token_ids"] for row in rows], texts)
            found = [
                {"target": row["target"], "more": true.more(row["target"], row["token_ids"]), **one}
                for row, one in zip(rows, read, strict=True)
            ]
            self.readings.publish(
                name, pa.Table.from_pylist(found, schema=READING_SCHEMA), {"targets": len(found)}
            )
            return {}

        return process


def load_scorer(model: ModelSettings, engine: TransformersSettings) -> Scorer:
    """Load what reads probabilities, with as many threads as a worker has cores."""
    import torch

    if engine.device == "cpu":
        torch.set_num_threads(engine.cpus_per_worker)
    return Scorer.load(model, engine.device)


@dataclass(frozen=True)
class TargetReader:
    """Reads how probable a sampler is to give any of the true continuations of a prompt.

    Attributes:
        scorer: the model.
        sampling: the sampler.
        stops: the stop strings of that sampling, as `StopStrings`.
    """

    scorer: Scorer
    sampling: ResolvedSampling
    stops: Any

    @classmethod
    def load(
        cls, model: ModelSettings, engine: TransformersSettings, sampling: ResolvedSampling
    ) -> "TargetReader":
        """Load the model and what ends its generations."""
        from extraction.engines.stopping import StopStrings

        return cls(load_scorer(model, engine), sampling, StopStrings.load(sampling, model))

    def read(
        self, prompts: Sequence[Sequence[int]], texts: Sequence[Sequence[Tokens]]
    ) -> list[dict[str, Any]]:
        """Read some prompts, each with its true continuations: what `READING_SCHEMA` says of their probability.

        What several prompts have in common, because documents begin alike, is read once.
        """
        pairs = [[(tuple(prompt), own) for own in some] for prompt, some in zip(prompts, texts, strict=True)]
        asked = list(dict.fromkeys(chain.from_iterable(pairs)))
        sampled = self.scorer.sampled([Text(*pair) for pair in asked], self.sampling)
        read = dict(zip(asked, sampled, strict=True))
        return [self._together([(tokens, read[prompt, tokens]) for prompt, tokens in own]) for own in pairs]

    def _together(self, read: Sequence[tuple[Tokens, SampledText]]) -> dict[str, Any]:
        return {
            "log_probability": together([self._whole(tokens, one.log_probs) for tokens, one in read]),
            "greedy": any(one.cut == 0 and bool(one.greedy.all()) for _, one in read),
            "continuations": len(read),
            "too_long": any(one.cut > 0 for _, one in read),
        }

    def _whole(self, tokens: Sequence[int], log_probs: Any) -> float:
        """The probability of all tokens; none where the sampler would have ended before the last."""
        stop = next(
            (place for place, t in enumerate(tokens) if t in self.sampling.stop_token_ids), len(tokens)
        )
        end = self.stops.end(tokens) or len(tokens)
        if np.isnan(log_probs).any():
            return float("nan")
        return float(log_probs.sum()) if min(stop + 1, end) >= len(tokens) else float("-inf")
