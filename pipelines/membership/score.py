"""Scores the records of two cohorts under a model: one row for each record and score.

Chunks of records lie beside the result until it is whole: the command, killed and given again, keeps those that were
made from the same records, models and settings.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.membership.score_files import MODEL_KEY
from extraction.model import ModelSettings, model_fingerprint
from index.errors import SourceError
from index.pieces import ReadOptions
from pipelines.membership.config import digest_of
from pipelines.membership.scoring import CHUNK, Scoring, records_of
from pipelines.membership.settings import ScoreSettings
from pipelines.parts import PartStore
from pipelines.progress import LineProgress, progress
from pipelines.work import one_at_a_time

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
        InputError: a model cannot be loaded, a cohort has no record, two records have one id, or another process makes
            the same file.
        SourceError: a cohort cannot be read.
    """
    _refuse_ids_that_come_twice(cohorts)
    folder = out.with_name(f".{out.name}.unfinished")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with one_at_a_time(folder):
        try:
            found = _score(cohorts, model, settings, out, device, PartStore(str(folder)))
        except (InputError, SourceError):
            _empty(folder)
            raise
        _empty(folder)
    return found


def _empty(folder: Path) -> None:
    """Remove all but the lock, with which the folder goes."""
    for file in folder.iterdir():
        if file.name != ".lock":
            file.unlink()


def _score(
    cohorts: Cohorts, model: ModelSettings, settings: ScoreSettings, out: Path, device: str, parts: PartStore
) -> Scored:
    digest = model_fingerprint(model)
    scoring = Scoring.load(model, settings, settings.names, device)
    chunks = _Chunks(scoring, digest_of([digest, _beside(settings)]), parts)
    with progress("score", "records", 0) as shown:
        members = chunks.scored(cohorts.members, cohorts.options, True, shown)
        others = chunks.scored(cohorts.nonmembers, cohorts.options, False, shown)
    return _write(parts, [*members, *others], digest, out)


def _beside(settings: ScoreSettings) -> list[Any]:
    """What scores depend on but the model under test and the records."""
    models = [*filter(None, [settings.reference]), *settings.shadows]
    files = [file for file in (settings.prefix, settings.population) if file is not None]
    return [
        settings.model_dump(mode="json"),
        [model_fingerprint(one) for one in models],
        [list(records_of(file, ReadOptions())) for file in files],
    ]


@dataclass(frozen=True)
class _Chunks:
    """Scores some records at a time, unless they lie there already.

    Attributes:
        scoring: what scores them.
        made_from: digest of all that scores depend on but the records.
        parts: where they lie.
    """

    scoring: Scoring
    made_from: str
    parts: PartStore

    def scored(self, source: Path, options: ReadOptions, member: bool, shown: LineProgress) -> list[str]:
        """Score a cohort; the names of its parts, in order."""
        names: list[str] = []
        records = records_of(source, options)
        while chunk := list(islice(records, CHUNK)):
            names.append(f"{'members' if member else 'others'}-{len(names):06d}")
            of = digest_of([self.made_from, chunk])
            if (self.parts.facts(names[-1]) or {}).get("of") != of:
                self.parts.publish(names[-1], self._table(chunk, member), {"of": of})
            shown.total += len(chunk)
            shown.advance(len(chunk))
        if not names:
            raise InputError(f"{source}: no record in it; is this the cohort that you mean?")
        return names

    def _table(self, chunk: Sequence[tuple[str, str]], member: bool) -> pa.Table:
        scored = self.scoring.score([text for _, text in chunk])
        rows = [
            {"id": name, "member": member, "name": kind, "score": value, "tokens": one.tokens, "cut": one.cut}
            for (name, _), one in zip(chunk, scored, strict=True)
            for kind, value in one.scores.items()
        ]
        return pa.Table.from_pylist(rows, schema=SCORE_SCHEMA)


def _write(parts: PartStore, names: Sequence[str], digest: str, out: Path) -> Scored:
    """Write the file from its parts, whole or not at all."""
    schema = SCORE_SCHEMA.with_metadata({MODEL_KEY: digest})
    whole = Path(parts.root) / out.name
    counts, cut = {True: 0, False: 0}, 0
    with pq.ParquetWriter(whole, schema) as writer:
        for name in names:
            table = parts.read(name)
            writer.write_table(table.cast(schema))
            for of in table.filter(pc.equal(table["name"], table["name"][0])).to_pylist():  # one row a record
                counts[of["member"]] += 1
                cut += of["cut"] > 0
    os.replace(whole, out)
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
