"""The audit log: who looked at what and why. Each entry carries the hash of the one before.

A changed, missing or inserted entry breaks the chain. Whoever may write the file can make a whole new chain: write the
last hash down elsewhere, as `extraction audit-log` prints it, where that matters.
"""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pipelines.review.store import Store
from pipelines.rundir import now

START = "0" * 64


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
        details: JSON, small facts.
        previous: hash of the entry before; zeros for the first.
        digest: SHA-256 of all of the above.
    """

    seq: int
    at: str
    who: str
    action: str
    subject: str
    reason: str
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
    fields = (seq, now(), who, action, subject, reason, json.dumps(details, sort_keys=True), previous)
    connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*fields, _digest(fields)))
    return seq


def record(store: Store, who: str, action: str, subject: str = "", reason: str = "", **details: Any) -> int:
    """Add an entry; on return it is on the disk."""
    with store.changing() as connection:
        return append(connection, who, action, subject, reason, **details)


def entries(store: Store) -> list[Entry]:
    """Read the whole log, in order."""
    return [Entry(*row) for row in store.rows("SELECT * FROM log ORDER BY seq")]


def fault(store: Store, log: Sequence[Entry]) -> str | None:
    """Say where a log was altered; None for one that is whole."""
    previous = START
    for number, entry in enumerate(log, 1):
        if entry.seq != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.digest != _digest(astuple(entry)[:-1]):
            return f"entry {number} was altered, or the one before it"
        previous = entry.digest
    highest = store.rows("SELECT seq FROM sqlite_sequence WHERE name = 'log'")
    if (highest[0][0] if highest else 0) != len(log):
        return f"entries after {len(log)} are missing"
    loose = store.rows("SELECT log_seq FROM verdicts WHERE log_seq > ? LIMIT 1", len(log))
    return f"entry {loose[0][0]}, of a verdict, is missing" if loose else None


def _digest(fields: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(list(fields)).encode()).hexdigest()
