"""Reads the two cohorts of an audit, and drops what cannot be told to be on one side alone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.errors import InputError
from extraction.membership.overlap import Identity, crossing
from extraction.membership.score_files import read_table
from pipelines.lines import parse_line
from pipelines.membership.config import AuditConfig

NO_TEXT, TWICE = "no text", "same text twice in its cohort"
TABLES = (".csv", ".parquet", ".pq")


@dataclass(frozen=True)
class Record:
    """One record of a cohort.

    Attributes:
        id: its id.
        text: its text; None where the cohort has none.
        group: what it belongs to; None where nothing is known.
        values: its declared columns, None where unknown.
        words: what a baseline that never sees the model may read: the text, or every field where there is none.
    """

    id: str
    text: str | None
    group: str | None
    values: Mapping[str, Any]
    words: str


@dataclass(frozen=True)
class Cohort:
    """One side of an audit.

    Attributes:
        loaded: records in its file.
        kept: those that are compared.
        dropped: how many were not, by reason.
        crossing: how many of these also stand on the other side.
    """

    loaded: int
    kept: Sequence[Record]
    dropped: Mapping[str, int]
    crossing: int


@dataclass(frozen=True)
class Columns:
    """Which columns or keys of a file are read.

    Attributes:
        id: of the id.
        text: of the text; None where records have none.
        group: of what a record belongs to; None where nothing is known.
        values: others that are wanted.
    """

    id: str
    text: str | None
    group: str | None
    values: tuple[str, ...] = ()


def read_cohorts(config: AuditConfig) -> tuple[Cohort, Cohort]:
    """Read both cohorts of an audit and drop what cannot be used.

    Raises:
        InputError: a file cannot be read, lacks a declared column, or an id comes twice in it.
    """
    values = (*config.compare, *config.subgroups)
    columns = Columns(config.id_column, config.text_column, config.group_column, values)
    members, others = (read_records(path, columns) for path in (config.members, config.nonmembers))
    return parted_cohorts(members, others, config.near_duplicate)


def parted_cohorts(
    members: Sequence[Record], others: Sequence[Record], near_duplicate: float
) -> tuple[Cohort, Cohort]:
    """Drop what cannot be used: without text, twice in its cohort, or on both sides.

    Args:
        members: one cohort.
        others: the other.
        near_duplicate: similarity from which two texts are near duplicates.
    """
    loaded = [members, others]
    usable = [_usable(records) for records in loaded]
    kept = [[one for one, reason in side if reason is None] for side in usable]
    both = crossing(_identities(kept[0]), _identities(kept[1]), near_duplicate)
    cohorts = []
    for records, side, own, places in zip(loaded, usable, kept, both, strict=True):
        reasons = Counter(reason for _, reason in side if reason) + Counter(places.values())
        cohorts.append(
            Cohort(
                loaded=len(records),
                kept=[one for n, one in enumerate(own) if n not in places],
                dropped=dict(sorted(reasons.items())),
                crossing=len(places),
            )
        )
    return cohorts[0], cohorts[1]


def read_records(path: Path, columns: Columns) -> list[Record]:
    """Read one file of records.

    Raises:
        InputError: it cannot be read, lacks a wanted column, an id is missing or comes twice, or a text is none.
    """
    rows = read_table(path).to_pylist() if path.suffix.lower() in TABLES else list(_lines(path))
    known = {name for row in rows for name in row}
    for name in (columns.id, columns.text, columns.group, *columns.values):
        if rows and name is not None and name not in known:
            raise InputError(f"{path}: no column {name!r}; it has: {', '.join(sorted(known))}")
    for number, row in enumerate(rows, 1):
        _check(row, columns, f"{path}: record {number:,}")
    records = [_record(row, columns) for row in rows]
    if len({one.id for one in records}) < len(records):
        raise InputError(f"{path}: an id comes twice; give each record its own")
    return records


def _check(row: Mapping[str, Any], columns: Columns, place: str) -> None:
    if row.get(columns.id) is None:
        raise InputError(f"{place}: no {columns.id!r}; give each record its own id")
    if columns.text is not None and isinstance(row.get(columns.text), list | dict):
        raise InputError(f"{place}: {columns.text!r} is no text; mend it or name another column")


def _record(row: Mapping[str, Any], columns: Columns) -> Record:
    text = None if columns.text is None else str(row.get(columns.text) or "")
    group = _known(row.get(columns.group)) if columns.group else None
    apart = (columns.id, columns.group)
    fields = (f"{name}={value}" for name, value in sorted(row.items()) if name not in apart)
    return Record(
        id=str(row.get(columns.id)),
        text=text,
        group=None if group is None else str(group),
        values={name: _known(row.get(name)) for name in columns.values},
        words=" ".join(fields) if text is None else text,
    )


def _known(value: Any) -> Any:
    return None if value == "" else value


def _usable(records: Sequence[Record]) -> list[tuple[Record, str | None]]:
    """Each record with the reason why it is no evidence of its own, or None."""
    seen: set[str] = set()
    found: list[tuple[Record, str | None]] = []
    for one in records:
        if one.text is None:
            found.append((one, None))
            continue
        reason = NO_TEXT if not one.text.strip() else TWICE if one.text in seen else None
        seen.add(one.text)
        found.append((one, reason))
    return found


def _identities(records: Sequence[Record]) -> list[Identity]:
    return [Identity(one.id, one.group, one.text) for one in records]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            data = stream.read()
    except (OSError, pa.ArrowInvalid):
        raise InputError(f"{path}: cannot be read; name Parquet, JSON lines or CSV") from None
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        row = parse_line(line)
        if isinstance(row, str):
            raise InputError(f"{path}: line {number} is {row}; mend or remove it")
        yield row
