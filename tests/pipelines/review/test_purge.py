"""What a purge leaves: every column decoded, token ids detokenised, raw bytes searched."""

import json
import shutil
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from extraction.model import ModelSettings, load_tokenizer
from extraction.token_bytes import TokenBytes
from pipelines.parts import PartStore
from pipelines.rank.scored import SCORE_SCHEMA
from pipelines.review import log, purge
from pipelines.review.emptying import empty
from pipelines.review.items import identifier_id, load_items
from pipelines.review.opened import review_lock
from pipelines.review.store import FILE, REMOVED, Store
from pipelines.review.verdicts import Judgement, give
from pipelines.run import run_pipeline
from tests.pipelines.leftovers import leftovers as left_in
from tests.pipelines.review import cases
from tests.pipelines.small_run import small_config, write_inputs

TEXTS = (cases.LETTER, cases.NOTE, cases.COPY, cases.LICENCE, cases.FILLER, cases.PROMPT)


def leftovers(run, texts):
    """The files that still say one of the texts; a token of these runs is a byte."""
    return left_in(run, texts, TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(tokenizer="bytes"))))


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


def reviewed(run):
    """People who write down more than they should."""
    client = cases.browser(run, "rosa")
    client.submit("/items/a1/reveal", reason="is it the letter to account 2048-1377?")
    client.submit("/items/b1/reveal", reason="a customer asked")
    said = {
        "a1": "a letter, ticket 4711",
        "b1": "it says: the wound  has healed WELL, he may go home to his own garden, word for word",
        "b2": "about Tomas Hale's stay",
        "c1": f"I read: {cases.LETTER[-25:]} And it went on.",  # stands in what was revealed, and in no passage
    }
    for name, note in said.items():
        client.submit(f"/items/{name}/verdict", verdict="private", action="remove", note=note)
    client.review.store.close()


def test_words_that_quote_a_text_go_with_it_and_the_log_stays_whole(whole, command):
    reviewed(whole)
    _, said, _ = command("purge", whole, "--dry-run")
    assert "review.sqlite: notes and reasons that repeat a text of 4 rows" in said
    status, out, err = command("purge", whole)
    assert status == 0, err
    assert "review.sqlite: notes and reasons that repeat a text of 4 rows" in out
    assert leftovers(whole, (*TEXTS, *cases.SECRETS, "2048-1377", "may go home")) == []
    entries, fault = log.inspect(whole)
    assert fault is None
    assert [entry.reason for entry in entries if entry.action == "reveal"] == [REMOVED, "a customer asked"]
    store = Store(whole)
    notes = dict(store.rows("SELECT item, note FROM verdicts WHERE reviewer = 'rosa' AND note <> ''"))
    assert notes == {"a1": "a letter, ticket 4711", "b1": REMOVED, "b2": REMOVED, "c1": REMOVED}
    assert {verdict for (verdict,) in store.rows("SELECT verdict FROM verdicts")} == {"private"}
    store.close()


def test_a_second_purge_still_sees_what_the_first_one_stumbled_over(whole, command):
    (whole / "notes.txt").write_text(f"I copied this: {cases.LETTER}")
    for _ in range(2):
        status, _, err = command("purge", whole)
        assert status == 2 and "notes.txt" in err
    (whole / "notes.txt").unlink()
    assert command("purge", whole)[0] == 0
    assert leftovers(whole, TEXTS) == []


@pytest.mark.parametrize("after", range(0, 12, 2))
def test_a_purge_that_was_killed_is_gone_on_with(whole, command, monkeypatch, after):
    reviewed(whole)
    done = []

    def stop(path, key):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(path)
        empty(path, key)

    with monkeypatch.context() as patched:
        patched.setattr(purge, "empty", stop)
        command("purge", whole)
    assert command("purge", whole)[0] == 0
    assert leftovers(whole, (*TEXTS, *cases.SECRETS)) == []
    assert log.inspect(whole)[1] is None


def test_hashes_of_identifiers_cannot_be_tried_afterwards(whole, command):
    store = Store(whole)
    named, key = identifier_id(store.key, "ACCOUNT_NUMBER", "20481377"), store.key
    store.close()
    assert command("purge", whole)[0] == 0
    (row,) = pq.read_table(whole / "identifiers" / "in_corpus.parquet").to_pylist()
    assert row["value"] == named
    assert key.hex().encode() not in b"".join(path.read_bytes() for path in whole.glob("review.sqlite*"))


def test_everything_that_a_ranking_and_another_index_leave_goes_too(whole, command):
    """Scores stand in a folder for each reference model; an index may have any name, or be a link."""
    scores = PartStore(str(whole / "scores" / "0123456789abcdef"))
    row = dict.fromkeys(SCORE_SCHEMA.names) | {
        "generation_id": "g1",
        "family": "empty",
        "prompt_token_ids": cases.byte_ids(cases.PROMPT),
        "token_ids": cases.byte_ids(cases.LETTER),
    }
    scores.publish("part-00000", pa.Table.from_pylist([row], schema=SCORE_SCHEMA), {"generations": 1})
    shutil.copytree(whole / "index", whole / "deep" / "ours")
    (whole / "index").rename(whole.parent / "elsewhere")
    (whole / "index").symlink_to(whole.parent / "elsewhere")
    cases.write_candidates(whole, [cases.LETTER])
    cases.write_run(whole / "control")
    status, out, err = command("purge", whole)
    assert status == 0, err
    assert "deep/ours" in out and "scores/0123456789abcdef/part-00000.parquet" in out
    assert leftovers(whole, (*TEXTS, *cases.SECRETS)) == []
    assert scores.complete() == ["part-00000"]  # it is still a whole part
    assert not (whole / "index").is_symlink() and (whole.parent / "elsewhere" / "index.json").exists()


def test_filler_that_stands_everywhere_holds_no_purge_up(tmp_path, command):
    filler = [cases.passage(f"f{n}", text * 100, kind="low_entropy") for n, text in enumerate("\0 -0")]
    run = cases.write_run(tmp_path / "filler", filler)
    (run / "zeros.bin").write_bytes(bytes(5000))
    status, out, err = command("purge", run)
    assert status == 0, err
    assert "not known, left as it is: zeros.bin" in out


def test_a_damaged_part_is_deleted(whole, command):
    part = whole / "generations" / "part-00000.parquet"
    data = bytearray(part.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    part.write_bytes(data)
    status, _, err = command("purge", whole)
    assert status == 0, err
    assert leftovers(whole, TEXTS) == []
