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


def score_cohorts(cohorts: Cohorts, model: ModelSettings, settings: ScoreSettings, out: Path) -> Scored:
    """Score both cohorts and write one Parquet file of `SCORE_SCHEMA`, which names the model's digest.

    Args:
        cohorts: the records.
        model: the model under test.
        settings: what is computed, and from what.
        out: the file, written whole or not at all.

    Raises:
        InputError: a model cannot be loaded, or a cohort has no record.
        SourceError: a cohort cannot be read.
    """
    scoring = Scoring.load(model, settings, settings.names)
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


def _tables(
    source: Path, cohorts: Cohorts, member: bool, scoring: Scoring, shown: LineProgress
) -> Iterator[pa.Table]:
    records = records_of(source, ReadOptions(cohorts.text_column, cohorts.id_column))
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
