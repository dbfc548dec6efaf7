"""Deletes the texts of a run and keeps what was counted: ids, keyed hashes, numbers, verdicts and the audit log.

What is not known to be harmless is emptied: a new text column needs no line here. Killed, it is run again. Copies in
backups and snapshots, and what a disk keeps of overwritten blocks, are out of its reach, as is an index that stands
outside of the run directory.
"""

import csv
import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from extraction.errors import InputError
from pipelines.parts import MARKER, PartStore, write_file
from pipelines.review import log
from pipelines.review.items import PASSAGES, identifier_id
from pipelines.review.opened import review_lock
from pipelines.review.store import FILE, Store
from pipelines.rundir import RunDirectory, now
from pipelines.work import one_at_a_time

PURGED = {b"purged": b"yes"}
# Columns of words that are names of things and never text. Document ids stay: they are what is left to act on.
NAMES = frozenset(
    "passage_id kind cluster_id families request_id request_ids generation_id candidate_id family picked_by type "
    "group identifier_types document_ids example_ids finish_reason recogniser".split()
)
FOLDERS = ("index", "control_text")  # indexes hold the text that they index
TEXT_FIELDS = ("prompt", "text")  # of candidates.csv
HARMLESS = frozenset(
    "run.json report.json report.html model_card.md gate.json gate.html compare.json compare.html ranking.json "
    "confirmed.json .lock .review.lock".split()
) | {FILE, f"{FILE}-wal", f"{FILE}-shm"}
_LEAST = 24  # bytes of a text that is looked for afterwards


@dataclass(frozen=True)
class Removed:
    """What was removed from one file or folder, or would be.

    Attributes:
        path: within the run directory.
        what: `file`, `folder`, or the columns that were emptied.
        rows: rows that they had; 0 for whole files.
    """

    path: str
    what: str
    rows: int = 0


@dataclass(frozen=True)
class Purge:
    """What a purge did.

    Attributes:
        removed: in the order of paths.
        unknown: files that it does not know and left as they are.
    """

    removed: list[Removed]
    unknown: list[str]


def purge(run: Path, who: str, dry_run: bool) -> Purge:
    """Delete all texts and token ids of a run.

    Args:
        run: the run directory.
        who: for the audit log.
        dry_run: only say what would be removed.

    Raises:
        InputError: a page is open, a run is going on, or text is still there afterwards.
    """
    if not any((run / name).exists() for name in ("run.json", PASSAGES)):
        raise InputError(f"{run}: no run directory; name one that `extraction run` made")
    with review_lock(run, alone=True), one_at_a_time(run):
        if dry_run:
            return Purge(list(_removals(run)), _unknown(run))
        store = Store(run)
        needles = _needles(run)
        log.record(store, who, "purge began")
        _mark(run)
        removed = [_remove(run, found, store.key) for found in list(_removals(run))]
        rows = sum(found.rows for found in removed)
        log.record(store, who, "purge", files=len(removed), rows=rows)
        store.shrink()
        store.close()
        _refuse_leftovers(run, needles)
        return Purge(removed, _unknown(run))


def _mark(run: Path) -> None:
    """Say in every run.json that its texts are gone, before they are: what is half purged is never gone on with."""
    for file in run.glob("**/run.json"):
        directory = RunDirectory(file.parent)
        facts = directory.read()
        directory.write(facts | {"purged": facts.get("purged") or now()})


def _removals(run: Path) -> Iterator[Removed]:
    """Everything that holds text or tokens, by path."""
    yield from (Removed(name, "folder") for name in FOLDERS if (run / name).is_dir())
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if name.split("/")[0] in FOLDERS or not path.is_file():
            continue
        if path.name.startswith(".") and path.name.endswith(".tmp"):
            yield Removed(name, "file")
        elif path.suffix == ".parquet" and (columns := _text_columns(path)):
            yield Removed(name, ", ".join(columns), pq.read_metadata(path).num_rows)
        elif path.name == "candidates.csv" and set(TEXT_FIELDS) & set(_header(path)):
            yield Removed(name, ", ".join(TEXT_FIELDS))


def _text_columns(path: Path) -> list[str]:
    """The columns of a file that may hold text or tokens; none once it was purged."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return ["damaged"]
    if (schema.metadata or {}).get(b"purged"):
        return []
    return [field.name for field in schema if not _is_harmless(field)]


def _is_harmless(field: pa.Field) -> bool:
    kind = field.type
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind):
        return True
    if kinds.is_fixed_size_binary(kind):
        return True  # a keyed hash
    return field.name in NAMES


def _remove(run: Path, found: Removed, key: bytes) -> Removed:
    path = run / found.path
    if found.what == "folder":
        shutil.rmtree(path)
    elif found.what in ("file", "damaged"):
        path.unlink()
    elif path.suffix == ".csv":
        _drop_fields(path)
    else:
        _empty(path, key)
    return found


def _empty(path: Path, key: bytes) -> None:
    """Write a Parquet file anew without its texts; row groups stay, and so does what its marker says."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow.with_metadata(PURGED)
        groups = [_emptied(file.read_row_group(n), key) for n in range(file.num_row_groups)]
    if path.with_suffix(MARKER).exists():
        store = PartStore(str(path.parent.resolve()))
        store.publish_groups(path.stem, groups, schema, store.facts(path.stem) or {})
        return
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group)
    write_file(str(path), sink.getvalue())


def _emptied(table: pa.Table, key: bytes) -> pa.Table:
    for number, field in enumerate(table.schema):
        if _is_harmless(field):
            continue
        values = [_nothing(field.type)] * table.num_rows
        if (
            field.name == "value" and "type" in table.column_names
        ):  # verdicts on identifiers know them by this
            pairs = zip(table["type"].to_pylist(), table["value"].to_pylist(), strict=True)
            values = [identifier_id(key, kind, value) for kind, value in pairs]
        table = table.set_column(number, field, pa.array(values, field.type))
    return table


def _nothing(kind: pa.DataType) -> Any:
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return []
    if kinds.is_binary(kind) or kinds.is_large_binary(kind):
        return b""
    return "" if kinds.is_string(kind) or kinds.is_large_string(kind) else None


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as handle:
        return next(csv.reader(handle), [])


def _drop_fields(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    kept = [name for name in _header(path) if name not in TEXT_FIELDS]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, kept, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_file(str(path), out.getvalue().encode())


def _needles(run: Path) -> list[bytes]:
    """Openings of the run's passages, to look for afterwards."""
    if not (run / PASSAGES).exists():
        return []
    texts = pq.read_table(run / PASSAGES, columns=["text"])["text"].to_pylist()
    openings = {text.encode()[: 2 * _LEAST] for text in texts if text}
    return [opening for opening in openings if len(opening) >= _LEAST]


def _refuse_leftovers(run: Path, needles: list[bytes]) -> None:
    """Read every file that is left, byte by byte: a text in one that nobody thought of must not stay unseen."""
    if not needles:
        return
    from ahocorasick_rs import BytesAhoCorasick

    search = BytesAhoCorasick(needles)
    holding = [path for path in sorted(run.rglob("*")) if path.is_file() and _holds(search, path)]
    if holding:
        raise InputError(f"{holding[0]}: still holds text of this run; delete it, or move it out of {run}")


def _holds(search: Any, path: Path) -> bool:
    return bool(search.find_matches_as_indexes(path.read_bytes(), overlapping=False))


def _unknown(run: Path) -> list[str]:
    """Files that no part of this project writes."""
    found = []
    for path in sorted(run.rglob("*")):
        known = path.name in HARMLESS or path.suffix in (".parquet", MARKER, ".tmp")
        name = str(path.relative_to(run))
        if (
            path.is_file()
            and not known
            and path.name != "candidates.csv"
            and name.split("/")[0] not in FOLDERS
        ):
            found.append(name)
    return found
