import re
import sqlite3

import pytest

from pipelines.review import log
from pipelines.review.store import FILE, REMOVED, Store
from pipelines.review.verdicts import Judgement, give


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path)
    for number in range(4):
        log.record(made, "rosa", "reveal", f"item-{number}", "a customer asked")
    yield made
    made.close()


def broken(tmp_path, *statements):
    """What is found after somebody with the file in hand has changed it."""
    with sqlite3.connect(tmp_path / FILE) as connection:
        for name in ("log_is_not_changed", "reasons_are_not_changed", "log_is_not_shortened"):
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()
    store = Store(tmp_path)
    found = log.fault(store, log.entries(store))
    store.close()
    return found


def test_a_log_is_whole_and_chained(store):
    entries = log.entries(store)
    assert log.fault(store, entries) is None
    assert [entry.previous for entry in entries] == [log.START, *(entry.digest for entry in entries[:-1])]


def test_the_database_itself_refuses_changes(store):
    for statement in ("UPDATE log SET reason = ''", "DELETE FROM log"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"), store.changing() as connection:
            connection.execute(statement)
    assert log.fault(store, log.entries(store)) is None


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE log SET reason = 'nothing' WHERE seq = 2", "entry 2 was altered"),
        ("UPDATE log SET who = 'rolf' WHERE seq = 4", "entry 4 was altered"),
        ("DELETE FROM log WHERE seq = 1", "entry 1 is missing"),
        ("DELETE FROM log WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM log WHERE seq = 4", "entries after 3 are missing"),
        ("DELETE FROM log", "all entries are missing"),
        ("UPDATE log SET seq = 9 WHERE seq = 4", "entry 4 is missing"),
    ],
)
def test_an_altered_or_missing_entry_is_found(store, tmp_path, statement, said):
    assert said in broken(tmp_path, statement)


def test_a_verdict_whose_entry_was_cut_off_is_found(store, tmp_path):
    give(store, "rosa", ["x"], Judgement("private"))
    forged = "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'log'"
    assert "of a verdict, is missing" in broken(tmp_path, "DELETE FROM log WHERE seq = 5", forged)


def test_the_command_prints_the_log_and_finds_what_was_altered(store, tmp_path, command):
    log.record(store, "rosa", "reveal", "x", "\x1b[2J wiped \u202e")
    status, out, _ = command("audit-log", tmp_path)
    assert (status, out.count("a customer asked")) == (0, 4)
    assert "\x1b" not in out and "\u202e" not in out
    assert "altered" in broken(tmp_path, "UPDATE log SET reason = '' WHERE seq = 2")
    status, _, err = command("audit-log", tmp_path)
    assert status == 2 and "entry 2 was altered" in err


def test_only_the_owner_may_read_the_database(store):
    assert store.path.stat().st_mode & 0o077 == 0


def test_a_verdict_that_is_not_what_its_entry_says_is_found(store, tmp_path):
    give(store, "rosa", ["x", "y"], Judgement("private", "remove"))
    for statement in (
        "UPDATE verdicts SET verdict = 'public' WHERE item = 'y'",
        "UPDATE verdicts SET reviewer = 'rolf'",
        "DELETE FROM verdicts WHERE item = 'x'",
        "DELETE FROM verdicts",
    ):
        with sqlite3.connect(tmp_path / FILE) as connection:
            copy = tmp_path / "copy"
            copy.mkdir(exist_ok=True)
            with sqlite3.connect(copy / FILE) as other:
                connection.backup(other)
            for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                other.execute(f"DROP TRIGGER {name}")
            other.execute(statement)
            other.commit()
            other.close()
        connection.close()
        assert log.inspect(copy)[1] == "the verdicts of entry 5 were altered"


def test_a_reason_that_no_purge_removed_is_missed(store, tmp_path):
    removed = f"UPDATE log SET reason = '{REMOVED}', salt = '' WHERE seq = 2"
    assert broken(tmp_path, removed) == "entry 2 was altered: another reason"


def test_a_reason_can_be_removed_on_record(store, tmp_path):
    with store.changing() as connection:
        log.remove_reasons(connection, "ada", [2, 3])
    entries, fault = log.inspect(tmp_path)
    assert fault is None and [entry.reason for entry in entries[:4]] == [
        "a customer asked",
        REMOVED,
        REMOVED,
        "a customer asked",
    ]
    assert (entries[-1].action, entries[-1].details) == ("reasons removed", '{"entries": [2, 3]}')
    assert "altered" in broken(tmp_path, "UPDATE log SET details = '{\"entries\": [2]}' WHERE seq = 5")


@pytest.mark.parametrize(
    ("ruin", "said"),
    [
        (lambda path: path.write_bytes(b""), "all entries are missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged|no database"),
        (lambda path: path.write_text("nothing of the kind " * 500), "no database of reviews"),
        (lambda path: changed(path, "DROP TABLE log"), "damaged"),
        (lambda path: changed(path, "UPDATE log SET reason = x'00ff' WHERE seq = 3"), "entry 3 was altered"),
        (lambda path: changed(path, "UPDATE log SET details = 7 WHERE seq = 3"), "entry 3 was altered"),
        (
            lambda path: changed(path, "DELETE FROM log; DELETE FROM sqlite_sequence"),
            "all entries are missing",
        ),
    ],
)
def test_a_database_that_somebody_ruined_is_one_line(tmp_path, command, ruin, said):
    made = Store(tmp_path)
    for number in range(4):
        log.record(made, "rosa", "reveal", f"item-{number}", "a customer asked")
    made.shrink()
    made.close()
    ruin(tmp_path / FILE)
    status, out, err = command("audit-log", tmp_path)
    assert status == 2 and err.count("\n") == 1 and "whole" not in out
    assert re.search(said, err)


def changed(path, script):
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(script)
    connection.close()
