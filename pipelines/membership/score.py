"""Scores the records of two cohorts under a model: one row for each record and score."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.membership.score_files import MODEL_KEY
from extraction.model import ModelSettings, model_fingerprint
from index.pieces import ReadOptions
from pipelines.membership.scoring import CHUNK, Scoring, records_of
from pipelines.membership.settings import ScoreSettings
from pipelines.progress import LineProgress, progress

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

    @property
    def options(self) -> ReadOptions:
        """How both are read."""
        return ReadOptions(self.text_column, self.id_column)


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
    cohorts: Cohorts, model: ModelSettings, settings: ScoreSettings, out: Path, device: str = "cpu"
) -> Scored:
    """Score both cohorts and write one Parquet file of `SCORE_SCHEMA`, which names the model's digest.

    Args:
        cohorts: the records.
        model: the model under test.
        settings: what is computed, and from what.
        out: the file, written whole or not at all.
        device: where the models run.

    Raises:
        InputError: a model cannot be loaded, a cohort has no record, or two records have one id.
        SourceError: a cohort cannot be read.
    """
    _refuse_ids_that_come_twice(cohorts)
    scoring = Scoring.load(model, settings, settings.names, device)
    counts, cut = {True: 0, False: 0}, 0
    unfinished = out.with_name(f".{out.name}.unfinished")
    os.makedirs(out.parent, mode=0o700, exist_ok=True)
    schema = SCORE_SCHEMA.with_metadata({MODEL_KEY: model_fingerprint(model)})
    try:
        with pq.ParquetWriter(unfinished, schema) as writer, progress("score", "records", 0) as shown:
            for member, source in ((True, cohorts.members), (False, cohorts.nonmembers)):
                for table in _tables(source, cohorts, member, scoring, shown):
                    writer.write_table(table.cast(schema))
                    counts[member] += table.num_rows // len(settings.names)
                    cut += sum(lost > 0 for lost in table["cut"].to_pylist()) // len(settings.names)
                if not counts[member]:
                    raise InputError(f"{source}: no record in it; is this the cohort that you mean?")
        os.replace(unfinished, out)
    finally:
        unfinished.unlink(missing_ok=True)
    return Scored(counts[True], counts[False], cut)


def _refuse_ids_that_come_twice(cohorts: Cohorts) -> None:
    """Before anything is scored: nothing that reads the scores could tell such records apart."""
    seen: set[str] = set()
    for source in (cohorts.members, cohorts.nonmembers):
        for name, _ in records_of(source, cohorts.options):
            if name in seen:
                raise InputError(
                    f"{source}: an id comes twice, here or on both sides; give each record its own (--id-column)"
                )
            seen.add(name)


def _tables(
    source: Path, cohorts: Cohorts, member: bool, scoring: Scoring, shown: LineProgress
) -> Iterator[pa.Table]:
    records = records_of(source, cohorts.options)
    while chunk := list(islice(records, CHUNK)):
        scored = scoring.score([text for _, text in chunk])
        rows = [
            {"id": name, "member": member, "name": kind, "score": value, "tokens": one.tokens, "cut": one.cut}
            for (name, _), one in zip(chunk, scored, strict=True)
            for kind, value in one.scores.items()
        ]
        yield pa.Table.from_pylist(rows, schema=SCORE_SCHEMA)
        shown.total += len(chunk)
        shown.advance(len(chunk))
