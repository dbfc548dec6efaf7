"""`review.sqlite`: one connection, changes one at a time, on the disk before anybody is told that they are kept."""

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extraction.errors import InputError

FILE = "review.sqlite"
VERSION = 2
WAIT_SECONDS = 30.0  # how long a change waits for that of another server
REMOVED = "(removed with the texts)"
"""What a purge leaves of words that quote a text."""

# Entries of the log are never changed; AUTOINCREMENT remembers the highest number, so a missing last entry shows.
# Words alone may be removed, by nobody but a purge: of a reason the salt goes too.
SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL,
    subject TEXT NOT NULL, reason TEXT NOT NULL, salt TEXT NOT NULL, reason_digest TEXT NOT NULL,
    details TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, reviewer TEXT NOT NULL, verdict TEXT NOT NULL,
    action TEXT NOT NULL, note TEXT NOT NULL, evidence TEXT NOT NULL, at TEXT NOT NULL,
    log_seq INTEGER NOT NULL REFERENCES log (seq)
);
CREATE TRIGGER log_is_not_changed
    BEFORE UPDATE OF seq, at, who, action, subject, reason_digest, details, previous, digest ON log
    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER reasons_are_not_changed BEFORE UPDATE OF reason, salt ON log
    WHEN NEW.reason <> '{REMOVED}' OR NEW.salt <> ''
    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER log_is_not_shortened BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER verdicts_are_not_changed
    BEFORE UPDATE OF id, item, reviewer, verdict, action, at, log_seq ON verdicts
    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER words_are_not_changed BEFORE UPDATE OF note, evidence ON verdicts
    WHEN NEW.note NOT IN (OLD.note, '{REMOVED}') OR NEW.evidence NOT IN (OLD.evidence, '{REMOVED}')
    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER verdicts_are_not_deleted BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


class Store:
    """The database of one run, open. Several processes may have it open at once."""

    def __init__(self, run: Path) -> None:
        """Open it, or make it, readable by its owner alone.

        Raises:
            InputError: the file is there but is no such database.
        """
        self.path = run / FILE
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._open()
        except sqlite3.DatabaseError:
            raise InputError(
                f"{self.path}: no database of reviews; restore it from a copy, or move it away"
            ) from None

    def _open(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(
            "PRAGMA synchronous = FULL"
        )  # a verdict that was confirmed survives a power cut
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute("PRAGMA temp_store = MEMORY")  # no copy of anything outside of the run
        with self.changing() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                raise InputError(f"{self.path}: of another version; open it with the one that made it")
            if version == 0:
                for statement in _statements(SCHEMA):
                    connection.execute(statement)
                connection.execute("INSERT INTO facts VALUES ('key', ?)", (secrets.token_hex(32),))
                connection.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Make changes that are kept all together or not at all; on return they are on the disk."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Read rows."""
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def fact(self, name: str) -> str | None:
        """A fact about the whole review; None where it was never said."""
        found = self.rows("SELECT value FROM facts WHERE name = ?", name)
        return str(found[0][0]) if found else None

    @property
    def key(self) -> bytes:
        """The key of this review's hashes: 32 random bytes."""
        return bytes.fromhex(self.fact("key") or "")

    def forget_key(self) -> None:
        """Put another key in the place of the key: nobody can try values against the hashes that it made."""
        with self.changing() as connection:
            connection.execute("UPDATE facts SET value = ? WHERE name = 'key'", (secrets.token_hex(32),))

    def shrink(self) -> None:
        """Write the file anew without what was deleted from it, and cut its log to nothing."""
        with self._lock:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()


def _statements(script: str) -> Iterator[str]:
    """Split a script at the ends of its statements; `executescript` would end the transaction around it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
