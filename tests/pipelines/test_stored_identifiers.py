"""Identifiers stored with an index: a join with them gives what a pass over the text gives."""

import json
import shutil

import pytest
import typer

from extraction.identifiers import IdentifierSettings, Tagger
from extraction.identifiers.settings import UserRecogniser
from index import BuildOptions, SourceError, add_to_index, build_index, open_index
from pipelines.commands import index as commands
from pipelines.commands.identifiers import identifiers
from pipelines.identify import run_here
from pipelines.parts import PartStore
from pipelines.stored import FOLDER, TABLE, description, misfit, stored_rows
from pipelines.storing import store_identifiers
from pipelines.values import STORED, LookupJob, look_up, merge_lookup

NUMBERS = IdentifierSettings(types=("EMAIL", "PHONE", "ACCOUNT_NUMBER", "DATE_OF_BIRTH"))
TEXTS = [
    "Account 12345678 belongs to a@example.com, born 17/04/1961. Call 020 7946 0958.",
    "Account 12345678 belongs to a@example.com, born 17/04/1961. Call 020 7946 0958.",
    "The account 1234-5678 again.\n\nThe ledger has 87654321. +44 20 7946 0958, born 17 April 1961.",
    "A@EXAMPLE.COM wrote of account 55556666 and of ledger 55556666 twice.",
]
MORE = ["New: account 55556666 and account 99990000.", "a@example.com, b@example.com"]
# What a run may ask for: what was tagged in the corpus, what only stands there, and what does not.
ASKED = [
    ("ACCOUNT_NUMBER", "12345678"),
    ("ACCOUNT_NUMBER", "87654321"),
    ("ACCOUNT_NUMBER", "55556666"),
    ("ACCOUNT_NUMBER", "99990000"),
    ("ACCOUNT_NUMBER", "10000001"),
    ("EMAIL", "a@example.com"),
    ("EMAIL", "b@example.com"),
    ("PHONE", "+442079460958"),
    ("DATE_OF_BIRTH", "1961-04-17"),
]


def write(path, texts, first=0):
    rows = [{"id": f"d{first + n}", "text": text} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def index(tmp_path):
    source = write(tmp_path / "corpus.jsonl", TEXTS)
    folder = build_index([source], tmp_path / "index", BuildOptions())
    store_identifiers(folder, NUMBERS, run_here)
    return folder


def looked_up(index, folder, settings=NUMBERS, values=ASKED):
    """The merged rows, and the parts that the look-up made."""
    found = PartStore(str(folder))
    look_up(LookupJob(tuple(values), settings, str(index), found), run_here)
    return merge_lookup(found, settings.document_ids).to_pylist(), found.complete()


def searched(index, tmp_path, settings=NUMBERS):
    """The same from an index that stores nothing."""
    bare = tmp_path / "bare"
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(index, bare)
    shutil.rmtree(bare / FOLDER)
    return looked_up(bare, bare / "looked_up", settings)[0]


def test_joined_counts_are_those_of_a_pass_over_the_text(index, tmp_path, capsys):
    rows, _ = looked_up(index, tmp_path / "joined")
    assert rows == searched(index, tmp_path)
    by_value = {row["value"]: (row["documents"], row["occurrences"]) for row in rows}
    assert by_value["12345678"] == (3, 3) and by_value["87654321"] == (1, 1)
    assert by_value["55556666"] == (1, 2) and "10000001" not in by_value
    stored = {row["value"] for row in stored_rows(index, NUMBERS, set(ASKED))}
    assert "12345678" in stored and "87654321" not in stored
    assert "5 of 9 values are stored" in capsys.readouterr().err


def test_where_every_value_is_stored_the_text_is_not_read(index, tmp_path, capsys):
    values = [(row["type"], row["value"]) for row in stored_rows(index, NUMBERS, set(ASKED))]
    for segment in (index / "segments").rglob("text.bin"):
        segment.write_bytes(b"\0" * segment.stat().st_size)
    capsys.readouterr()
    rows, parts = looked_up(index, tmp_path / "joined", values=values)
    assert parts == [STORED] and len(rows) == len(values) > 3
    assert "searched" not in capsys.readouterr().err


def test_a_look_up_that_goes_on_keeps_to_what_it_began_with(index, tmp_path):
    found = PartStore(str(tmp_path / "found"))
    job = LookupJob(tuple(ASKED), NUMBERS, str(index), found)
    with pytest.raises(KeyboardInterrupt):
        look_up(job, interrupted)
    shutil.rmtree(index / FOLDER)  # what was joined before is not searched for again
    look_up(job, run_here)
    assert merge_lookup(found, 10).to_pylist() == looked_up(index, tmp_path / "again")[0]


def interrupted(label, job, done, names):
    run_here(label, job, done, list(names)[:3])
    raise KeyboardInterrupt


def test_other_kinds_are_searched_for_and_that_is_said(index, tmp_path, capsys):
    rule = UserRecogniser(name="LEDGER", pattern="[0-9]{8}", context=("ledger",))
    for settings, reason in (
        (IdentifierSettings(types=("EMAIL", "IBAN")), "without IBAN"),
        (NUMBERS.model_copy(update={"day_first": False}), "another `identifiers.day_first`"),
        (NUMBERS.model_copy(update={"recognisers": (rule,)}), "another `identifiers.recognisers`"),
        (NUMBERS.model_copy(update={"document_ids": 2}), "another `identifiers.document_ids`"),
    ):
        rows, parts = looked_up(index, tmp_path / reason.replace(" ", "_"), settings)
        assert reason in (said := capsys.readouterr().err) and "the text is searched instead" in said
        assert rows == searched(index, tmp_path, settings) and len(parts) > 1


def test_an_addition_brings_them_up_to_date_and_tags_the_new_documents_alone(index, tmp_path):
    tagged = PartStore(str(index / FOLDER / "tagged"))
    (first,) = tagged.complete()
    write(tmp_path / "more.jsonl", MORE, 4)
    commands.add(index, [tmp_path / "more.jsonl"], workers=1)
    rows, _ = looked_up(index, tmp_path / "joined")
    assert rows == searched(index, tmp_path)
    assert {row["value"]: row["documents"] for row in rows}["55556666"] == 2
    (new,) = set(tagged.complete()) - {first}
    assert set(tagged.read(new)["value"].to_pylist()) == {
        "55556666",
        "99990000",
        "a@example.com",
        "b@example.com",
    }
    assert misfit(index) is None and description(index)["segments"] == open_index(index).info.segments


def test_what_is_older_than_the_corpus_is_not_used(index, tmp_path, capsys):
    add_to_index([write(tmp_path / "more.jsonl", MORE, 4)], index, BuildOptions())
    rows, _ = looked_up(index, tmp_path / "joined")
    assert "older than its last documents; the text is searched" in capsys.readouterr().err
    assert rows == searched(index, tmp_path)
    with pytest.raises(SourceError, match="older than its last documents"):
        commands.verify(index)


@pytest.mark.parametrize("name", [TABLE, "identifiers.json"])
def test_damage_is_found_and_never_joined_with(index, tmp_path, capsys, name):
    commands.verify(index)
    path = index / FOLDER / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match=name):
        commands.verify(index)
    rows, _ = looked_up(index, tmp_path / "joined")
    assert "are damaged" in capsys.readouterr().err
    assert rows == searched(index, tmp_path)
    store_identifiers(index, NUMBERS, run_here)
    commands.verify(index)


def test_storing_goes_on_where_it_was_killed(index, tmp_path, monkeypatch):
    shutil.rmtree(index / FOLDER)
    with pytest.raises(KeyboardInterrupt):
        store_identifiers(index, NUMBERS, killed_while_counting)
    assert description(index) is None
    monkeypatch.setattr(Tagger, "tag", None)  # nothing is tagged twice
    store_identifiers(index, NUMBERS, run_here)
    assert looked_up(index, tmp_path / "joined")[0] == searched(index, tmp_path)
    assert not list((index / FOLDER).glob("counted-*"))


def killed_while_counting(label, job, done, names):
    run_here(label, job, done, names if "tag" in label else list(names)[:5])
    if "tag" not in label:
        raise KeyboardInterrupt


def test_the_commands_store_and_join(tmp_path, capfd):
    source = write(tmp_path / "corpus.jsonl", TEXTS)
    config = tmp_path / "own.yaml"
    config.write_text(
        "identifiers: {types: [EMAIL], recognisers: [{name: LEDGER, pattern: '[0-9]{8}', context: [ledger]}]}\n"
    )
    plain, stored = tmp_path / "plain", tmp_path / "stored"
    commands.build([source], plain)
    commands.build([source], stored, identifiers=True, config=config)
    commands.build([source], stored, identifiers=True, config=config)  # is there already
    assert "3 names and numbers of the corpus are stored" in capfd.readouterr().out
    commands.info(stored)
    assert json.loads(capfd.readouterr().out)["stored_identifiers"] == 3
    with pytest.raises((SourceError, typer.Exit)):
        commands.build([source], stored, min_bytes=60, identifiers=True, config=config)
    with pytest.raises(SourceError, match="--config"):
        commands.build([source], tmp_path / "third", config=config)
    asked = write(tmp_path / "asked.jsonl", ["ledger 87654321, ledger 10000001, a@example.com"])
    printed = []
    for index in (plain, stored):
        identifiers(asked, index, False, config)
        printed.append(json.loads(capfd.readouterr().out))
    assert printed[0] == printed[1]
    assert [(one["type"], one["documents"]) for one in printed[0]["identifiers"]] == [
        ("LEDGER", 1),
        ("LEDGER", 0),
        ("EMAIL", 3),
    ]
