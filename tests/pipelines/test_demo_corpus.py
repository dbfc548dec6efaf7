"""The demo's corpus is what its truth file says, and its parts share nothing but disclaimers."""

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.demo import corpus, grammar
from pipelines.demo.people import Cast

WINDOW = 50


def windows(texts: list[str]) -> set[bytes]:
    encoded = [text.encode() for text in texts]
    return {data[start : start + WINDOW] for data in encoded for start in range(len(data) - WINDOW + 1)}


def without_disclaimers(text: str, truth: corpus.Truth) -> list[str]:
    for disclaimer in truth.disclaimers:
        text = text.replace(disclaimer.text, "\x00")
    return text.split("\x00")


@pytest.fixture(scope="module")
def truth(demo_corpus: Path) -> corpus.Truth:
    return corpus.read_truth(demo_corpus)


@pytest.fixture(scope="module")
def transcripts(demo_corpus: Path) -> list[str]:
    return corpus.read_texts(demo_corpus / corpus.TRANSCRIPTS)


def test_each_planted_text_stands_in_as_many_documents_as_the_truth_says(transcripts, truth):
    for planted in (*truth.disclaimers, *truth.calls, *truth.held_out_calls):
        assert planted.documents == sum(document.count(planted.text) > 0 for document in transcripts)
        assert planted.sha256 == sha256(planted.text.encode()).hexdigest()
    assert (truth.documents, truth.distinct_documents) == (len(transcripts), len(set(transcripts)))


def test_calls_stand_in_1_2_5_20_and_100_documents_and_held_out_ones_in_none(truth):
    assert Counter(call.documents for call in truth.calls) == Counter(corpus.COPIES)
    assert {call.documents for call in truth.held_out_calls} == {0}
    assert set(corpus.COPIES) == {1, 2, 5, 20, 100}


def test_each_disclaimer_stands_in_hundreds_of_documents(truth):
    assert all(disclaimer.documents >= 200 for disclaimer in truth.disclaimers)


def test_much_copied_calls_stand_in_different_documents_too(transcripts, truth):
    for call in truth.planted(100):
        assert 1 < len({document for document in transcripts if call.text in document}) < 100


def test_no_window_of_the_public_text_stands_in_a_transcript(demo_corpus, transcripts):
    held_out = corpus.read_texts(demo_corpus / corpus.HELD_OUT_FILE)
    public = corpus.read_texts(demo_corpus / corpus.PUBLIC)
    lines = (demo_corpus / corpus.PUBLIC_TEXT).read_text().splitlines()
    assert len(lines) == len(public) and [line.split() for line in lines] == [text.split() for text in public]
    assert windows(public + lines).isdisjoint(windows(transcripts + held_out))


def test_held_out_documents_share_disclaimers_and_no_window_else(demo_corpus, transcripts, truth):
    held_out = corpus.read_texts(demo_corpus / corpus.HELD_OUT_FILE)
    assert any(disclaimer.text in document for disclaimer in truth.disclaimers for document in held_out)
    bare = [piece for document in held_out for piece in without_disclaimers(document, truth)]
    assert windows(bare).isdisjoint(windows(transcripts))
    assert all(any(call.text in piece for piece in bare) for call in truth.held_out_calls)


def test_the_parts_of_the_held_out_set_share_whole_disclaimers_alone(demo_corpus, transcripts, truth):
    parts = corpus.read_texts(demo_corpus / corpus.HELD_OUT_PARTS)
    disclaimers = {disclaimer.text for disclaimer in truth.disclaimers}
    assert {part for part in parts if part not in disclaimers} == {call.text for call in truth.held_out_calls}
    assert disclaimers < set(parts)
    held_out = corpus.read_texts(demo_corpus / corpus.HELD_OUT_FILE)
    assert "\n".join(parts) == "\n".join(held_out)


def test_two_calls_share_no_window(truth):
    counts = Counter(window for call in truth.calls for window in windows([call.text]))
    assert set(counts.values()) == {1}


def test_the_corpus_is_a_function_of_its_seed(demo_corpus, tmp_path):
    corpus.write_corpus(tmp_path / "again", 0)
    corpus.write_corpus(tmp_path / "other", 1)
    for name in (corpus.TRANSCRIPTS, corpus.HELD_OUT_FILE, corpus.PUBLIC, corpus.PUBLIC_TEXT, corpus.TRUTH):
        made = (demo_corpus / name).read_bytes()
        assert made == (tmp_path / "again" / name).read_bytes()
        assert made != (tmp_path / "other" / name).read_bytes()


def test_the_corpus_is_private_and_has_ids(demo_corpus, tmp_path):
    corpus.write_corpus(tmp_path / "demo", 3)
    assert (tmp_path / "demo").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "demo").iterdir()} == {0o600}
    table = pq.read_table(demo_corpus / corpus.TRANSCRIPTS)
    assert table.schema.equals(corpus.DOCUMENT_SCHEMA)
    assert len(set(table.column("id").to_pylist())) == len(table)


def test_numbers_and_addresses_are_fictional(transcripts, demo_corpus):
    text = "\n".join(transcripts + corpus.read_texts(demo_corpus / corpus.PUBLIC))
    phones = re.findall(r"\b0\d{2,4} \d{3,4} \d{3,6}\b|\b0\d{3,4} \d{6}\b", text)
    assert phones
    assert all(
        re.match(r"07700 900\d{3}|020 7946 0\d{3}|03069 990\d{3}|0131 496 0\d{3}", phone) for phone in phones
    )
    assert set(re.findall(r"@(\S+?)\.(?:\s|$)", text)) == {"example.com", "example.net", "example.org"}
    assert all(code.startswith("00-") for code in re.findall(r"\b\d\d-\d\d-\d\d\b", text))


def test_names_and_numbers_are_given_out_once():
    cast = Cast(0)
    callers = [cast.caller() for _ in range(300)]
    for slot in ("name", "account", "email"):
        assert len({caller[slot] for caller in callers}) == len(callers)
    assert {caller["name"] for caller in callers}.isdisjoint(caller["friend"] for caller in callers)


def test_a_grammar_that_cannot_be_varied_is_an_error_not_a_repeat(monkeypatch):
    monkeypatch.setattr(grammar, "call_lines", lambda rng: (grammar.NOTICE,))
    calls = corpus.Calls(Cast(0))
    calls.compose()
    with pytest.raises(RuntimeError, match="fewer documents"):
        calls.compose()
