"""The cheap screen on Ray: the stretches of a sample of documents, each read once by one model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.discoverable.cutting import REASONS, TOO_SHORT, Cutter, Target
from extraction.discoverable.screen import Screened, distribution, extractable
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.entropy import LowEntropyRule
from extraction.model import load_tokenizer
from extraction.sampling import ResolvedSampling
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.documents import Sample
from pipelines.prefix.readings import TargetReader

STRETCH_SCHEMA = pa.schema(
    [
        ("document", pa.int64()),
        ("low_entropy", pa.bool_()),
        ("log_probability", pa.float64()),
        ("too_long", pa.bool_()),
    ]
)
NO_STRETCH = "no document of the sample holds a stretch that can be asked about"


@dataclass(frozen=True)
class ScreenJob:
    """Reads the stretches of one part of documents after another.

    Attributes:
        model: what reads.
        engine: how it is run.
        sampling: the sampler whose draws are asked about.
        prefix_tokens: tokens of a stretch's first part.
        target_tokens: tokens of its second.
        low_entropy: what counts as filler.
        before: special tokens in front of every stretch.
        sample: the documents.
        read: where the probabilities go.
    """

    model: ModelSettings
    engine: TransformersSettings
    sampling: ResolvedSampling
    prefix_tokens: int
    target_tokens: int
    low_entropy: LowEntropyRule
    before: tuple[int, ...]
    sample: Sample
    read: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the model in the worker's own process."""
        reader = TargetReader.load(self.model, self.engine, self.sampling)
        cutter = Cutter(load_tokenizer(self.model), "first", self.target_tokens, self.low_entropy)

        def process(name: str) -> Facts:
            first = (self.sample.parts.facts(name) or {})["first"]
            documents = self.sample.read(name)
            cut = [
                (n, one)
                for n, own in enumerate(documents, first)
                for one in cutter.stretches(own, self.prefix_tokens)
            ]
            kept = [(number, one) for number, one in cut if isinstance(one, Target)]
            table = pa.Table.from_pylist(self._rows(reader, kept), schema=STRETCH_SCHEMA)
            left_out = Counter(one for _, one in cut if isinstance(one, str))
            sizes = [len(one.text) for one in documents]
            self.read.publish(name, table, {"first": first, "bytes": sizes, "left_out": dict(left_out)})
            return {}

        return process

    def _rows(self, reader: TargetReader, stretches: Sequence[tuple[int, Target]]) -> list[dict[str, Any]]:
        read = reader.read(
            [[*self.before, *one.prefix] for _, one in stretches],
            [[tuple(one.tokens)] for _, one in stretches],
        )
        return [
            {
                "document": number,
                "low_entropy": one.low_entropy,
                "log_probability": found["log_probability"],
                "too_long": found["too_long"],
            }
            for (number, one), found in zip(stretches, read, strict=True)
        ]


def screen_section(
    read: PartStore, sample: Sample, draws: Sequence[int], certainties: Sequence[float]
) -> dict[str, Any]:
    """What a screen says of one model: the distribution, and how many stretches draws bring out.

    Raises:
        ValueError: a document was read twice, or not at all.
    """
    found, not_counted = _screened(read)
    if found.bytes.size != sample.documents:
        raise ValueError("documents of the screen are missing or stand there twice")
    counted = {"stretches": int(found.document.size), "left_out": _left_out(read), **not_counted}
    if not found.document.size:
        return counted | {"extractable": [], "distribution": [], "reason": NO_STRETCH}
    return counted | {
        "extractable": [
            asdict(extractable(found, n, p, sample.corpus_bytes)) for n in draws for p in certainties
        ],
        "distribution": [asdict(one) for one in distribution(found)],
        "reason": None,
    }


def _left_out(read: PartStore) -> dict[str, int]:
    """By reason, how many stretches are no target; every reason that a stretch can have stands there."""
    counted = sum((Counter(facts["left_out"]) for facts in read.markers().values()), Counter[str]())
    return {reason: counted[reason] for reason in REASONS if reason != TOO_SHORT}


def _screened(read: PartStore) -> tuple[Screened, dict[str, int]]:
    """The stretches that count, and how many others there are, each by the first reason that holds."""
    table = read.read_all(STRETCH_SCHEMA)
    values = np.array(table["log_probability"].to_pylist(), dtype=np.float64)
    filler, too_long = (
        np.array(table[name].to_pylist(), dtype=np.bool_) for name in ("low_entropy", "too_long")
    )
    lost = np.isnan(values) & ~too_long
    other = {"too_long": too_long, "not_a_number": lost, "low_entropy": filler & ~too_long & ~lost}
    usable = ~np.logical_or.reduce(list(other.values()))
    document = np.array(table["document"].to_pylist(), dtype=np.int64)[usable]
    parts = sorted(read.markers().values(), key=lambda facts: int(facts["first"]))
    sizes = np.array([size for facts in parts for size in facts["bytes"]], dtype=np.int64)
    return Screened(values[usable], document, sizes), {name: int(own.sum()) for name, own in other.items()}
