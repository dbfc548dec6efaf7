"""The restricted ledger: declarations and audits in an append-only file, record-level scores apart from it.

Each line holds the digest of the line before it, so that a line that was changed or taken out shows. Record-level
scores are guesses about persons: they stand here alone, until their retention date, and `purge` removes them.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.errors import InputError
from pipelines.digests import file_digest
from pipelines.membership.config import AuditConfig, digest_of
from pipelines.parts import write_file

FILE, RECORDS = "ledger.jsonl", "records"
DECLARED, AUDITED, PURGED = "declared", "audited", "purged"
FIRST = "0" * 64


@dataclass(frozen=True)
class Ledger:
    """A folder, readable by its owner alone.

    Attributes:
        path: of the folder; made at the first declaration.
    """

    path: Path

    def entries(self) -> list[dict[str, Any]]:
        """Every entry, oldest first.

        Raises:
            InputError: a line was changed or taken out.
        """
        try:
            lines = (self.path / FILE).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        before, found = FIRST, []
        for number, line in enumerate(lines, 1):
            entry = _parsed(line)
            if entry is None or entry.get("before") != before or entry.get("digest") != _digest(entry):
                raise InputError(
                    f"{self.path / FILE}: line {number} is not as it was written; restore the file"
                )
            before = str(entry["digest"])
            found.append(entry)
        return found

    def declaration(self, name: str) -> dict[str, Any] | None:
        """The entry that declared an audit of this name."""
        declared = [one for one in self.entries() if one["kind"] == DECLARED and one["name"] == name]
        return declared[0] if declared else None

    def append(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """Add an entry.

        Returns:
            The entry, with its time, its own digest and that of the one before it.
        """
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        with self._locked() as handle:
            entries = self.entries()
            entry = {
                "kind": kind,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                **content,
                "before": entries[-1]["digest"] if entries else FIRST,
            }
            entry["digest"] = _digest(entry)
            _write_whole(handle, json.dumps(entry, ensure_ascii=False).encode() + b"\n", self.path / FILE)
        return entry

    def keep_records(self, result: str, table: pa.Table) -> Path:
        """Keep the record-level scores of a result."""
        folder = self.path / RECORDS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        path = folder / f"{result}.parquet"
        write_file(str(path), sink.getvalue())
        return path

    def purge(self, today: date, everything: bool) -> list[str]:
        """Remove record-level scores whose retention has ended, and say so in the ledger.

        Args:
            today: the date that retention dates are compared with.
            everything: remove those too that may still be kept.

        Returns:
            The ids of the results whose scores were removed.
        """
        last: dict[str, str] = {}  # a result that was audited twice has one file, and the later date
        for one in self.entries():
            if one["kind"] == AUDITED:
                last[one["result"]] = max(one["delete_after"], last.get(one["result"], ""))
        ended = sorted(one for one, end in last.items() if everything or date.fromisoformat(end) < today)
        removed = []
        for result in ended:
            path = self.path / RECORDS / f"{result}.parquet"
            if path.exists():
                path.unlink()
                removed.append(result)
        if removed:
            self.append(PURGED, {"results": removed})
        return removed

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file for appending; two commands at once would both follow the same line."""
        handle = os.open(self.path / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)


def declare(config: AuditConfig) -> dict[str, Any]:
    """Write an audit's plan into the ledger, before any score is computed.

    Returns:
        The entry; the one that stands there, where the same plan was declared before.

    Raises:
        InputError: the name stands there with another plan, or a cohort cannot be read.
    """
    ledger, plan = Ledger(config.ledger), _declared_plan(config)
    before = ledger.declaration(config.name)
    if before is not None:
        _refuse_another(config, before, plan)
        return before
    return ledger.append(
        DECLARED, {"name": config.name, "plan": plan, "config": config.model_dump(mode="json")}
    )


def declaration_of(config: AuditConfig) -> dict[str, Any]:
    """The entry that declared this very plan.

    Raises:
        InputError: there is none, or it declared something else.
    """
    before = Ledger(config.ledger).declaration(config.name)
    if before is None:
        raise InputError(
            f"{config.ledger}: holds no declaration of {config.name}; run `extraction membership declare` first"
        )
    _refuse_another(config, before, _declared_plan(config))
    return before


def delete_after(config: AuditConfig) -> str:
    """The last day on which record-level scores may be kept."""
    return (datetime.now(UTC).date() + timedelta(days=config.retention_days)).isoformat()


def plan_digest(entry: Mapping[str, Any]) -> str:
    """The digest of a declared plan."""
    return digest_of(entry["plan"])


def _declared_plan(config: AuditConfig) -> dict[str, Any]:
    """The plan with its cohorts named by what they hold: a file moved is the same file."""
    cohorts = {name: file_digest(getattr(config, name)) for name in ("members", "nonmembers")}
    # Where the ledger lies, and for how long it keeps what, is no part of the question.
    others = {
        name: value for name, value in config.plan().items() if name not in ("ledger", "retention_days")
    }
    return {**others, **cohorts}


def _refuse_another(config: AuditConfig, before: dict[str, Any], plan: dict[str, Any]) -> None:
    changed = sorted(name for name in plan if before["plan"].get(name) != plan[name])
    if changed:
        raise InputError(
            f"{config.ledger}: {config.name} was declared on {before['time'][:10]} with another {changed[0]}; ask "
            "what was declared, or declare a new question under another name"
        )


def _write_whole(handle: int, line: bytes, file: Path) -> None:
    """Add a line whole or not at all: a piece of one, on a full disk, would be a ledger that was changed."""
    before = os.fstat(handle).st_size
    try:
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
    except OSError as error:
        os.ftruncate(handle, before)
        error.filename = str(file)  # writing to an open file does not say to which
        raise


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _digest(entry: dict[str, Any]) -> str:
    return digest_of({name: value for name, value in entry.items() if name != "digest"})
