"""Cuts targets out of the drawn documents, and finds everything else that follows their prompts in the corpus."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extraction.discoverable.continuations import Continuations, Tokens, keep_most
from extraction.discoverable.cutting import REASONS, Cutter, Opening, Target
from extraction.discoverable.drawing import Drawn
from extraction.entropy import LowEntropyRule
from extraction.model import ModelSettings, load_tokenizer
from index import open_index
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.documents import Sample

TARGET_SCHEMA = pa.schema(
    [
        ("target", pa.int64()),  # the document's number times the lengths, and the place of its length
        ("document", pa.int64()),
        ("prefix_tokens", pa.int32()),
        ("copies", pa.int64()),
        ("document_count", pa.int64()),
        ("low_entropy", pa.bool_()),
        ("prompt_token_ids", pa.list_(pa.int32())),
        ("token_ids", pa.list_(pa.int32())),
        ("prefix_bytes", pa.binary()),
        ("target_bytes", pa.binary()),
    ]
)
CONTINUATION_SCHEMA = pa.schema(
    [("target", pa.int64()), ("token_ids", pa.list_(pa.int32())), ("documents", pa.int64())]
)


@dataclass(frozen=True)
class CutJob:
    """Cuts targets out of one part of documents after another.

    Attributes:
        model: whose tokenizer cuts.
        opening: where prompts stand.
        lengths: tokens of the prompts.
        target_tokens: tokens of what follows.
        low_entropy: what counts as filler.
        before: special tokens in front of every prompt.
        index: the folder of the corpus' index.
        sample: the documents.
        targets: where the targets go.
    """

    model: ModelSettings
    opening: Opening
    lengths: tuple[int, ...]
    target_tokens: int
    low_entropy: LowEntropyRule
    before: tuple[int, ...]
    index: str
    sample: Sample
    targets: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Open index and tokenizer in the worker's own process."""
        index = open_index(self.index)
        cutter = Cutter(load_tokenizer(self.model), self.opening, self.target_tokens, self.low_entropy)

        def process(name: str) -> Facts:
            first = (self.sample.parts.facts(name) or {})["first"]
            left_out: Counter[str] = Counter()
            rows = list(self._rows(cutter, self.sample.read(name), first, left_out))
            counts = index.count([row["target_bytes"] for row in rows]).documents.tolist()
            rows = [row | {"document_count": count} for row, count in zip(rows, counts, strict=True)]
            table = pa.Table.from_pylist(rows, schema=TARGET_SCHEMA)
            self.targets.publish(name, table, {"targets": len(rows), "left_out": dict(left_out)})
            return {}

        return process

    def _rows(
        self, cutter: Cutter, documents: Sequence[Drawn], first: int, left_out: Counter[str]
    ) -> Iterator[dict[str, Any]]:
        for number, document in enumerate(documents, first):
            cut = zip(self.lengths, cutter.cut(document, self.lengths), strict=True)
            for place, (length, found) in enumerate(cut):
                if isinstance(found, str):
                    left_out[f"{length} {REASONS.index(found)}"] += 1
                else:
                    target = number * len(self.lengths) + place
                    yield self._row(found, document, target, number, length)

    def _row(self, found: Target, document: Drawn, target: int, number: int, length: int) -> dict[str, Any]:
        return {
            "target": target,
            "document": number,
            "prefix_tokens": length,
            "copies": document.copies,
            "low_entropy": found.low_entropy,
            "prompt_token_ids": [*self.before, *found.prefix],
            "token_ids": found.tokens,
            "prefix_bytes": found.prefix_bytes,
            "target_bytes": found.target_bytes,
        }


def left_out_of(targets: PartStore, length: int) -> dict[str, int]:
    """By reason, how many documents gave no target with a prompt of one length; every reason stands there."""
    counted: Counter[int] = Counter()
    for facts in targets.markers().values():
        for key, count in facts["left_out"].items():
            own, reason = map(int, key.split())
            counted[reason] += count if own == length else 0
    return {reason: counted[place] for place, reason in enumerate(REASONS)}


@dataclass(frozen=True)
class ContinuationJob:
    """Finds what follows every prompt in one share of the corpus after another.

    Attributes:
        model: whose tokenizer.
        tokens: of a continuation.
        most: continuations of a prompt that count.
        shares: into how many the corpus is cut.
        index: the folder of the corpus' index.
        targets: whose prompts.
        found: where the continuations go.
    """

    model: ModelSettings
    tokens: int
    most: int
    shares: tuple[str, ...]
    index: str
    targets: PartStore
    found: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Compile the prompts in the worker's own process."""
        table = self.targets.read_all(TARGET_SCHEMA, ["target", "prefix_bytes"])
        numbers = table["target"].to_pylist()
        search = Continuations(
            table["prefix_bytes"].to_pylist(), load_tokenizer(self.model), self.tokens, self.most + 1
        )  # one more than counts, which shows that there are more
        shards = open_index(self.index).shards(len(self.shares))

        def process(name: str) -> Facts:
            rows = [
                {"target": numbers[one.prompt], "token_ids": one.tokens, "documents": one.documents}
                for one in search.search(shards[self.shares.index(name)])
            ]
            self.found.publish(name, pa.Table.from_pylist(rows, schema=CONTINUATION_SCHEMA), {})
            return {}

        return process


class TrueContinuations:
    """The true continuations of some targets, merged over the shares of the corpus."""

    def __init__(self, found: PartStore, most: int) -> None:
        """Read them.

        Args:
            found: parts of `CONTINUATION_SCHEMA`.
            most: how many of one prompt count.
        """
        self._most = most
        self._table = found.read_all(CONTINUATION_SCHEMA)
        order = pc.sort_indices(self._table["target"])
        self._table = self._table.take(order)
        self._targets = np.asarray(self._table["target"].to_numpy(), dtype=np.int64)

    def of(self, target: int, own: Sequence[int]) -> list[Tokens]:
        """The continuations of one target's prompt; its own is always the first."""
        kept = keep_most(target, self._counted(target), self._most)
        others = [one.tokens for one in kept if one.tokens != tuple(own)]
        return [tuple(own), *others[: self._most - 1]]

    def more(self, target: int, own: Sequence[int]) -> bool:
        """Whether one target's prompt goes on in more ways than count."""
        return len(self._counted(target).keys() | {tuple(own)}) > self._most

    def _counted(self, target: int) -> Counter[Tokens]:
        low, high = np.searchsorted(self._targets, [target, target + 1]).tolist()
        counted: Counter[Tokens] = Counter()
        for row in self._table.slice(low, high - low).to_pylist():
            counted[tuple(row["token_ids"])] += row["documents"]
        return counted
