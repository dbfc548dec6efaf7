"""What a purge leaves: every column decoded, token ids detokenised, raw bytes searched."""

import json
import sqlite3

import pyarrow.parquet as pq
import pytest

from extraction.model import ModelSettings, load_tokenizer
from extraction.token_bytes import TokenBytes
from pipelines.review import log
from pipelines.review.items import load_items
from pipelines.review.opened import review_lock
from pipelines.review.store import FILE, Store
from pipelines.review.verdicts import Judgement, give
from pipelines.run import run_pipeline
from tests.pipelines.review import cases
from tests.pipelines.small_run import small_config, write_inputs

TEXTS = (cases.LETTER, cases.NOTE, cases.COPY, cases.LICENCE, cases.FILLER, cases.PROMPT)


def words_in(value, table):
    """Everything that a value says: strings, bytes, numbers as tokens."""
    if isinstance(value, dict):
        return "".join(words_in(v, table) for v in value.values())
    if isinstance(value, list):
        if value and all(isinstance(v, int) for v in value):
            return table.decode(value)
        return "".join(words_in(v, table) for v in value)
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def leftovers(run, texts):
    """The files that still say one of the texts, or a run of 20 characters of it."""
    table = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(tokenizer="bytes")))
    pieces = {text[at : at + 20] for text in texts for at in range(0, len(text) - 19, 5)}
    pieces |= {text for text in texts if len(text) < 20}
    found = []
    for path in sorted(run.rglob("*")):
        if not path.is_file():
            continue
        said = path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            said += words_in(pq.read_table(path).to_pylist(), table)
        found += [path.name for piece in pieces if piece in said][:1]
    return found


@pytest.fixture
def whole(run):
    cases.write_index(run)
    (run / ".passages.parquet.0123.tmp").write_text(cases.LETTER)
    (run / "candidates.csv").write_text(
        f'candidate_id,prompt,text,verdict\nc1,{cases.PROMPT},"{cases.LETTER}",\n'
    )
    store = Store(run)
    items, _ = load_items(run, store.key)
    give(store, "rosa", [item.id for item in items], Judgement("private", "remove"))
    store.close()
    return run


def test_nothing_is_left_of_any_text(whole, command):
    texts = (*TEXTS, *cases.SECRETS)
    assert len(leftovers(whole, texts)) > 5
    status, out, err = command("purge", whole)
    assert status == 0, err
    assert leftovers(whole, texts) == []
    assert "passages.parquet" in out and "index" in out and ".tmp" in out
    assert not any(text in out + err for text in texts)


def test_counts_hashes_verdicts_and_the_log_stay(whole, command):
    before = pq.read_table(whole / "passages.parquet").to_pylist()
    store = Store(whole)
    named = {item.id for item in load_items(whole, store.key)[0]}
    verdicts, entries = store.rows("SELECT * FROM verdicts"), log.entries(store)
    store.close()
    assert command("purge", whole)[0] == 0
    after = pq.read_table(whole / "passages.parquet").to_pylist()
    assert [row | {"text": ""} for row in before] == after
    assert json.loads((whole / "report.json").read_text())["schema_version"] == 1
    store = Store(whole)
    items, _ = load_items(whole, store.key)
    assert {item.id for item in items} == named  # verdicts on identifiers find theirs
    assert store.rows("SELECT * FROM verdicts") == verdicts
    log_after = log.entries(store)
    assert log_after[: len(entries)] == entries and log.fault(store, log_after) is None
    assert [entry.action for entry in log_after[-2:]] == ["purge began", "purge"]
    store.close()


def test_a_dry_run_says_the_same_and_changes_nothing(whole, command):
    before = {
        path: path.read_bytes() for path in whole.rglob("*") if path.is_file() and "sqlite" not in path.name
    }
    status, said, _ = command("purge", whole, "--dry-run")
    assert status == 0
    assert before == {p: p.read_bytes() for p in before}
    _, done, _ = command("purge", whole)
    assert [line.split("  ")[1] for line in said.splitlines()[:-1]] == [
        line.split("  ")[1] for line in done.splitlines()[:-1]
    ]
    assert command("purge", whole)[1] == "0 files and folders\n"  # there is nothing left to do


def test_the_page_still_opens_on_a_purged_run(whole, command):
    command("purge", whole)
    client = cases.browser(whole, "rosa")
    assert client.get("/").status_code == 200
    assert "Its text was purged" in client.get("/items/a1").text
    assert "private finding" in client.get("/items/a1").text


def test_a_file_that_nobody_knows_is_not_passed_over(whole, command):
    (whole / "notes.txt").write_text(f"I copied this: {cases.LETTER}")
    status, _, err = command("purge", whole)
    assert status == 2 and "notes.txt" in err and cases.LETTER not in err
    (whole / "notes.txt").unlink()
    (whole / "other.txt").write_text("nothing")
    status, out, _ = command("purge", whole)
    assert status == 0 and "other.txt" in out


def test_an_open_page_holds_the_purge_off(whole, command):
    with review_lock(whole, alone=False):
        status, _, err = command("purge", whole)
    assert status == 2 and "stop it first" in err


def test_a_purged_run_is_not_gone_on_with(whole, command):
    from extraction.errors import InputError
    from pipelines.rundir import RunDirectory

    command("purge", whole)
    with pytest.raises(InputError, match="purged"):
        RunDirectory(whole).open({}, {})


def test_what_was_deleted_from_the_database_is_not_in_its_file(whole, command):
    with sqlite3.connect(whole / FILE) as connection:
        connection.execute("CREATE TABLE scratch (text TEXT)")
        connection.execute("INSERT INTO scratch VALUES (?)", (cases.LETTER,))
        connection.execute("DROP TABLE scratch")
    connection.close()
    assert command("purge", whole)[0] == 0
    assert leftovers(whole, TEXTS) == []
    wal = whole / f"{FILE}-wal"
    assert not wal.exists() or wal.stat().st_size == 0


def test_nothing_is_left_of_a_whole_run(tmp_path, command, ray_cluster):
    """The real pipeline, with everything that it writes: reruns, look-ups, control text, its own index."""
    documents, *_ = write_inputs(tmp_path)
    config = small_config(tmp_path, control={"text": [str(tmp_path / "held_out.jsonl")]}, budgets=[3000])
    run = tmp_path / "run"
    run_pipeline(config, run, None, False)
    public = (tmp_path / "public.txt").read_text().splitlines()
    texts = [text[:40] for text in (*documents, *public)]
    assert leftovers(run, texts)
    status, out, err = command("purge", run)
    assert status == 0, err
    assert "not known" not in out
    assert leftovers(run, texts) == []
    assert command("report", run)[0] == 0
