"""The audit log: who looked at what and why. Each entry carries the hash of the one before.

A changed, missing or inserted entry breaks the chain. Whoever may write the file can make a whole new chain: write the
last hash down elsewhere, as `extraction audit-log` prints it, where that matters.

What a user wrote as a reason can quote a text, which a purge has to remove. So the chain holds a salted hash in its
place, and a purge writes down whose reasons it removed.
"""

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from pipelines.review.store import FILE, REMOVED, Store
from pipelines.rundir import now

START = "0" * 64
REASONS_REMOVED = "reasons removed"
REVEAL, VERDICT = "reveal", "verdict"


@dataclass(frozen=True)
class Entry:
    """One entry.

    Attributes:
        seq: its number, from 1.
        at: when, in UTC.
        who: the user.
        action: `reveal`, `verdict`, `login`, ...
        subject: the item, or what else it was done to; never a text.
        reason: in the words of the user, where one was asked for.
        salt: of the reason's hash; gone with the reason, which nobody can guess from its hash then.
        reason_digest: SHA-256 of salt and reason.
        details: JSON, small facts.
        previous: hash of the entry before; zeros for the first.
        digest: SHA-256 of all of the above but the reason and its salt.
    """

    seq: int
    at: str
    who: str
    action: str
    subject: str
    reason: str
    salt: str
    reason_digest: str
    details: str
    previous: str
    digest: str


def append(
    connection: sqlite3.Connection, who: str, action: str, subject: str = "", reason: str = "", **details: Any
) -> int:
    """Add an entry inside a change of the store; it is kept when the change is.

    Returns:
        Its number.
    """
    last = connection.execute("SELECT seq, digest FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    seq, previous = (last[0] + 1, last[1]) if last else (1, START)
    at, salt, said = now(), secrets.token_hex(16), json.dumps(details, sort_keys=True)
    hashed = _hash(salt, reason)
    digest = _hash(seq, at, who, action, subject, hashed, said, previous)
    fields = (seq, at, who, action, subject, reason, salt, hashed, said, previous, digest)
    connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", fields)
    return seq


def record(store: Store, who: str, action: str, subject: str = "", reason: str = "", **details: Any) -> int:
    """Add an entry; on return it is on the disk."""
    with store.changing() as connection:
        return append(connection, who, action, subject, reason, **details)


def remove_reasons(connection: sqlite3.Connection, who: str, seqs: Sequence[int]) -> None:
    """Remove the reasons of some entries, inside a change of the store, and say so in an entry of its own."""
    connection.executemany(
        "UPDATE log SET reason = ?, salt = '' WHERE seq = ?", [(REMOVED, seq) for seq in seqs]
    )
    append(connection, who, REASONS_REMOVED, entries=list(seqs))


def entries(store: Store) -> list[Entry]:
    """Read the whole log, in order."""
    return [Entry(*row) for row in store.rows("SELECT * FROM log ORDER BY seq")]


def inspect(run: Path) -> tuple[list[Entry], str | None]:
    """Read a run's log and say where it was altered.

    Raises:
        InputError: the database is damaged.
    """
    store = Store(run)
    try:
        log = entries(store)
        return log, fault(store, log)
    except (sqlite3.Error, TypeError):
        raise InputError(f"{run / FILE}: damaged; restore it from a copy") from None
    finally:
        store.close()


def fault(store: Store, log: Sequence[Entry]) -> str | None:
    """Say where a log, or the verdicts that it tells of, were altered; None where all is whole."""
    if not log:
        return "all entries are missing; the first is made when a review is opened"
    previous = START
    removed = {seq for entry in log if entry.action == REASONS_REMOVED for seq in _seqs(entry)}
    for number, entry in enumerate(log, 1):
        if entry.seq != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.digest != _digest(entry):
            return f"entry {number} was altered, or the one before it"
        if not _reason_is_whole(entry, removed):
            return f"entry {number} was altered: another reason"
        previous = entry.digest
    highest = store.rows("SELECT seq FROM sqlite_sequence WHERE name = 'log'")
    if (highest[0][0] if highest else 0) != len(log):
        return f"entries after {len(log)} are missing"
    return _verdict_fault(store, log)


def _verdict_fault(store: Store, log: Sequence[Entry]) -> str | None:
    """Hold the verdicts against their entries: by whom, which, and on how many items."""
    told = {entry.seq: _told(entry) for entry in log if entry.action == VERDICT}
    query = (
        "SELECT log_seq, min(reviewer), min(verdict), min(action), count(*), "
        "count(DISTINCT reviewer || ' ' || verdict || ' ' || action) FROM verdicts GROUP BY log_seq"
    )
    kept = {seq: tuple(rest) for seq, *rest in store.rows(query)}
    if loose := sorted(kept.keys() - told.keys()):
        return f"entry {loose[0]}, of a verdict, is missing"
    wrong = [seq for seq, facts in told.items() if kept.get(seq) != facts]
    return f"the verdicts of entry {wrong[0]} were altered" if wrong else None


def _told(entry: Entry) -> tuple[Any, ...]:
    details = json.loads(entry.details)
    return entry.who, details["verdict"], details["proposed"], details["items"], 1


def _seqs(entry: Entry) -> Collection[int]:
    try:
        return set(json.loads(entry.details)["entries"])
    except (ValueError, KeyError, TypeError):
        return ()  # then its own digest is wrong


def _reason_is_whole(entry: Entry, removed: Collection[int]) -> bool:
    if entry.reason == REMOVED and not entry.salt:
        return entry.seq in removed
    return entry.reason_digest == _hash(entry.salt, entry.reason)


def _digest(entry: Entry) -> str:
    return _hash(
        entry.seq,
        entry.at,
        entry.who,
        entry.action,
        entry.subject,
        entry.reason_digest,
        entry.details,
        entry.previous,
    )


def _hash(*fields: Any) -> str:
    """SHA-256 of fields; what somebody put there that is no text has a hash too, another one."""
    return hashlib.sha256(json.dumps(fields, default=repr).encode()).hexdigest()
