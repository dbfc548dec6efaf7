"""Scores the records of two cohorts under a model: one row for each record and score."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.membership.scores import NAMES, membership_scores
from extraction.model import ModelSettings
from extraction.scoring import Scorer, Text
from index.pieces import ReadOptions
from index.sources import list_pieces, read_documents
from pipelines.progress import LineProgress, progress

CHUNK = 512

SCORE_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("member", pa.bool_()),
        ("name", pa.string()),
        ("score", pa.float64()),
        ("tokens", pa.int32()),
        ("cut", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Cohorts:
    """The records to score.

    Attributes:
        members: Parquet, JSON lines or text files of records that the model was trained on.
        nonmembers: the same of records that it was not.
        text_column: the column or key that holds the text.
        id_column: the column or key that holds the id.
    """

    members: Path
    nonmembers: Path
    text_column: str = "text"
    id_column: str = "id"


@dataclass(frozen=True)
class Scored:
    """What was scored.

    Attributes:
        members: records.
        nonmembers: records.
        cut: records that were longer than the model's context; what is beyond is not scored.
    """

    members: int
    nonmembers: int
    cut: int


def score_cohorts(
    cohorts: Cohorts, model: ModelSettings, reference: ModelSettings | None, k: float, out: Path
) -> Scored:
    """Score both cohorts and write one Parquet file of `SCORE_SCHEMA`.

    Args:
        cohorts: the records.
        model: the model under test.
        reference: a model that did not see the members; None leaves its score NaN.
        k: share of the tokens that Min-K% looks at.
        out: the file, written whole or not at all.

    Raises:
        InputError: a model cannot be loaded, or a cohort has no record.
        SourceError: a cohort cannot be read.
    """
    models = _Models(_Model.load(model), _Model.load(reference) if reference else None, k)
    counts, cut = {True: 0, False: 0}, 0
    unfinished = out.with_name(f".{out.name}.unfinished")
    os.makedirs(out.parent, mode=0o700, exist_ok=True)
    try:
        with pq.ParquetWriter(unfinished, SCORE_SCHEMA) as writer, progress("score", "records", 0) as shown:
            for member, source in ((True, cohorts.members), (False, cohorts.nonmembers)):
                for table in _tables(source, cohorts, member, models, shown):
                    writer.write_table(table)
                    counts[member] += table.num_rows // len(NAMES)
                    cut += sum(lost > 0 for lost in table["cut"].to_pylist()) // len(NAMES)
                if not counts[member]:
                    raise InputError(f"{source}: no record in it; is this the cohort that you mean?")
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
    return Scored(counts[True], counts[False], cut)


@dataclass
class _Model:
    scorer: Scorer
    tokenizer: Any

    @classmethod
    def load(cls, settings: ModelSettings) -> "_Model":
        from extraction.model import load_tokenizer

        return cls(Scorer.load(settings), load_tokenizer(settings))

    def text(self, text: str) -> Text:
        """Tokens as the tokenizer makes them for the model, an end token included where it adds one."""
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text).ids
        start = self.tokenizer.bos_token_id
        if start is None:  # then the first token is given and not scored
            return Text(ids[:1] or [0], ids[1:])
        return Text([start], ids[1:] if ids[:1] == [start] else ids)


@dataclass
class _Models:
    model: _Model
    reference: _Model | None
    k: float

    def rows(self, records: Sequence[tuple[str, str]], member: bool) -> Iterator[dict[str, Any]]:
        """Score some records, each an id and a text."""
        texts = [text for _, text in records]
        own = self.model.scorer.score([self.model.text(text) for text in texts])
        lowered = self.model.scorer.score([self.model.text(text.lower()) for text in texts])
        reference = self.reference
        others = (
            reference.scorer.score([reference.text(text) for text in texts])
            if reference
            else [None] * len(texts)
        )
        for (name, text), scored, low, other in zip(records, own, lowered, others, strict=True):
            about = {"id": name, "member": member, "tokens": scored.log_probs.size, "cut": scored.cut}
            for kind, value in membership_scores(text, scored, other, low, self.k).items():
                yield {**about, "name": kind, "score": value}


def _tables(
    source: Path, cohorts: Cohorts, member: bool, models: _Models, shown: LineProgress
) -> Iterator[pa.Table]:
    records = _records(source, cohorts)
    while chunk := list(islice(records, CHUNK)):
        yield pa.Table.from_pylist(list(models.rows(chunk, member)), schema=SCORE_SCHEMA)
        shown.total += len(chunk)
        shown.advance(len(chunk))


def _records(source: Path, cohorts: Cohorts) -> Iterator[tuple[str, str]]:
    options = ReadOptions(cohorts.text_column, cohorts.id_column)
    for batch in read_documents(list_pieces([source], options), options):
        yield from zip(batch.ids.to_pylist(), batch.texts.to_pylist(), strict=True)
