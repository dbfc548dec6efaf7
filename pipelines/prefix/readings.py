"""Reads the probability of every target under the sampler really used, from one forward pass for each continuation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.discoverable.continuations import Tokens
from extraction.discoverable.outcomes import together
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.sampling import ResolvedSampling
from extraction.scoring import Scorer, Text
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.targets import TrueContinuations

READING_SCHEMA = pa.schema(
    [
        ("target", pa.int64()),
        ("log_probability", pa.float64()),
        ("greedy", pa.bool_()),
        ("continuations", pa.int32()),
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
        from extraction.engines.stopping import StopStrings

        reader = TargetReader(
            load_scorer(self.model, self.engine), self.sampling, StopStrings.load(self.sampling, self.model)
        )
        true = TrueContinuations(self.continuations, self.most)

        def process(name: str) -> Facts:
            rows = self.targets.read(name, ["target", "prompt_token_ids", "token_ids"]).to_pylist()
            texts = [true.of(row["target"], row["token_ids"]) for row in rows]
            read = reader.read([row["prompt_token_ids"] for row in rows], texts)
            found = [{"target": row["target"], **one} for row, one in zip(rows, read, strict=True)]
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

    def read(
        self, prompts: Sequence[Sequence[int]], texts: Sequence[Sequence[Tokens]]
    ) -> list[dict[str, Any]]:
        """Read some prompts, each with its true continuations; the fields of `READING_SCHEMA` but the target."""
        asked = [Text(prompt, tokens) for prompt, own in zip(prompts, texts, strict=True) for tokens in own]
        sampled = iter(zip(asked, self.scorer.sampled(asked, self.sampling), strict=True))
        found = []
        for own in texts:
            read = [next(sampled) for _ in own]
            values = [self._whole(text.tokens, one.log_probs) for text, one in read]
            found.append(
                {
                    "log_probability": together(values),
                    "greedy": any(one.cut == 0 and bool(one.greedy.all()) for _, one in read),
                    "continuations": len(own),
                    "too_long": any(one.cut > 0 for _, one in read),
                }
            )
        return found

    def _whole(self, tokens: Sequence[int], log_probs: Any) -> float:
        """The probability of all tokens; none where the sampler would have ended before the last."""
        stop = next(
            (place for place, t in enumerate(tokens) if t in self.sampling.stop_token_ids), len(tokens)
        )
        end = self.stops.end(tokens) or len(tokens)
        if np.isnan(log_probs).any():
            return float("nan")
        return float(log_probs.sum()) if min(stop + 1, end) >= len(tokens) else float("-inf")
