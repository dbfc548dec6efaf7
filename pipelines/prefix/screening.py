"""The cheap screen on Ray: the stretches of a sample of documents, each read once by one model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.discoverable.drawing import Drawn
from extraction.discoverable.screen import Screened, distribution, extractable, stretches
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.model import load_tokenizer, token_ids
from extraction.sampling import ResolvedSampling
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.documents import Sample
from pipelines.prefix.readings import load_scorer

STRETCH_SCHEMA = pa.schema(
    [("document", pa.int64()), ("log_probability", pa.float64()), ("too_long", pa.bool_())]
)
NO_STRETCH = "no document of the sample is long enough for a stretch"


@dataclass(frozen=True)
class ScreenJob:
    """Reads the stretches of one part of documents after another.

    Attributes:
        model: what reads.
        engine: how it is run.
        sampling: the sampler whose draws are asked about.
        prefix_tokens: tokens of a stretch's first part.
        target_tokens: tokens of its second.
        before: special tokens in front of every stretch.
        sample: the documents.
        read: where the probabilities go.
    """

    model: ModelSettings
    engine: TransformersSettings
    sampling: ResolvedSampling
    prefix_tokens: int
    target_tokens: int
    before: tuple[int, ...]
    sample: Sample
    read: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the model in the worker's own process."""
        scorer, tokenizer = load_scorer(self.model, self.engine), load_tokenizer(self.model)

        def process(name: str) -> Facts:
            first = (self.sample.parts.facts(name) or {})["first"]
            documents = self.sample.read(name)
            rows = list(self._rows(scorer, tokenizer, documents, first))
            table = pa.Table.from_pylist(rows, schema=STRETCH_SCHEMA)
            self.read.publish(name, table, {"first": first, "bytes": [len(one.text) for one in documents]})
            return {}

        return process

    def _rows(
        self, scorer: Any, tokenizer: Any, documents: Sequence[Drawn], first: int
    ) -> Iterator[dict[str, Any]]:
        for number, document in enumerate(documents, first):
            ids = token_ids(tokenizer, document.text.decode("utf-8", "ignore"))
            texts = stretches(ids, self.prefix_tokens, self.target_tokens, self.before)
            for one in scorer.sampled(texts, self.sampling):
                value = float(one.log_probs.sum())
                yield {"document": number, "log_probability": value, "too_long": one.cut > 0}


def screen_section(
    read: PartStore, sample: Sample, draws: Sequence[int], certainties: Sequence[float]
) -> dict[str, Any]:
    """What a screen says of one model: the distribution, and how many stretches draws bring out.

    Raises:
        ValueError: a document was read twice, or not at all.
    """
    found, too_long, lost = _screened(read)
    if found.bytes.size != sample.documents:
        raise ValueError("documents of the screen are missing or stand there twice")
    counted = {"stretches": int(found.document.size), "too_long": too_long, "not_a_number": lost}
    if not found.document.size:
        return counted | {"extractable": [], "distribution": [], "reason": NO_STRETCH}
    return counted | {
        "extractable": [
            asdict(extractable(found, n, p, sample.corpus_bytes)) for n in draws for p in certainties
        ],
        "distribution": [asdict(one) for one in distribution(found)],
        "reason": None,
    }


def _screened(read: PartStore) -> tuple[Screened, int, int]:
    """All that was read, how many stretches do not fit the model, and how many it gave no number for."""
    table = read.read_all(STRETCH_SCHEMA)
    values = np.array(table["log_probability"].to_pylist(), dtype=np.float64)
    too_long = np.array(table["too_long"].to_pylist(), dtype=np.bool_)
    lost = np.isnan(values) & ~too_long
    usable = ~too_long & ~lost
    document = np.array(table["document"].to_pylist(), dtype=np.int64)[usable]
    parts = sorted(read.markers().values(), key=lambda facts: int(facts["first"]))
    sizes = [size for facts in parts for size in facts["bytes"]]
    screened = Screened(values[usable], document, np.array(sizes, dtype=np.int64))
    return screened, int(too_long.sum()), int(lost.sum())
