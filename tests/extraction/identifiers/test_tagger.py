"""The tagger over many, long and hostile texts."""

import pickle

import pytest

from extraction.errors import InputError
from extraction.identifiers import IdentifierSettings, Tagger
from extraction.identifiers.pieces import LEAD, PIECE, TAIL, name_runs, pieces_of
from extraction.identifiers.records import group_of

NO_NAMES = IdentifierSettings(
    types=("EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "ACCOUNT_NUMBER", "NHS_NUMBER", "IP_ADDRESS")
)


@pytest.fixture(scope="session")
def tagger():
    return Tagger()


@pytest.fixture(scope="session")
def numbers():
    return Tagger(NO_NAMES)


def one(tagger, text):
    (findings,) = tagger.tag([text])
    return findings


def test_results_keep_the_order_of_texts(tagger):
    texts = ["account 12345678", "", "Margaret Thornbury wrote to us.", "x", "account 87654321"] * 500
    values = [[finding.value for finding in findings] for findings in tagger.tag(texts)]
    assert values == [["12345678"], [], ["margaret thornbury"], [], ["87654321"]] * 500


def test_texts_are_read_as_results_are_taken(tagger):
    taken = []
    results = tagger.tag(taken.append(number) or "account 12345678" for number in range(100_000))
    next(results)
    assert len(taken) <= 1_000


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, PIECE + TAIL, PIECE + TAIL + 1, 5 * PIECE])
def test_every_character_belongs_to_one_piece(length):
    text = ("word " * length)[:length]
    pieces = list(pieces_of(text))
    assert "".join(piece.text[piece.own_start : piece.own_end] for piece in pieces) == text
    assert all(len(piece.text) <= LEAD + PIECE + TAIL for piece in pieces)
    assert all(text[piece.offset :].startswith(piece.text) for piece in pieces)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The account is open. Ask Ann Lee. Or not.", ["Ask Ann Lee. "]),
        ("no capital letter, no name\nOn Monday it rained! What for?", []),
        ("Mr. Lee and J. Smith\ncame at 12. And left.", ["Lee and J. Smith\n"]),
        ("EX1 2AB, AB-17 and 4 MPs", ["EX1 2AB, AB-17 and 4 MPs"]),
        ("EX1 2AB and AB-17", []),
        ("\u00e9t\u00e9 and \u00e9cole", []),
        ("\u738b\u4e94\u6765\u4e86", ["\u738b\u4e94\u6765\u4e86"]),
    ],
)
def test_the_model_reads_the_sentences_that_may_hold_a_name(text, read):
    assert [text[slice(*run)] for run in name_runs(text, ())] == read


def test_the_model_does_not_read_what_is_found_already():
    text = "Patient: Ann Lee, seen. Bo Li came too."
    assert [text[slice(*run)] for run in name_runs(text, [(9, 16)])] == ["Bo Li came too."]


def test_names_have_their_place_in_the_whole_text(tagger):
    text = (
        "\u00e9 it rained. " * 40
        + "Margaret Thornbury wrote to us. it rained. The letter of Daniel Okafor came."
    )
    found = {(one.value, text[one.start : one.end]) for one in one(tagger, text)}
    assert found == {("margaret thornbury", "Margaret Thornbury"), ("daniel okafor", "Daniel Okafor")}


def test_identifiers_of_a_text_of_a_million_characters(numbers):
    filler = "\u00e9 lorem ipsum " * 8
    text = "".join(f"{filler}account {number:08} is {filler}" for number in range(4_000))
    assert len(text) > 900_000
    findings = one(numbers, text)
    assert [finding.value for finding in findings] == [f"{number:08}" for number in range(4_000)]
    assert all(text[finding.start : finding.end] == finding.text for finding in findings)
    encoded = text.encode()
    assert all(
        encoded[finding.start_byte : finding.end_byte].decode() == finding.text for finding in findings
    )


def test_names_at_the_joins_of_pieces_are_whole(tagger):
    sentence = "Margaret Thornbury called about the card. "
    text = sentence * (3 * PIECE // len(sentence))
    values = [finding.value for finding in one(tagger, text) if finding.type == "PERSON"]
    assert values.count("margaret thornbury") >= 0.98 * text.count("Margaret Thornbury")
    assert set(values) == {"margaret thornbury"}


def test_a_million_characters_without_a_blank(tagger):
    findings = one(tagger, "x" * 500_000 + "A" * 500_000 + " account 12345678")
    assert [finding.value for finding in findings] == ["12345678"]


def test_nuls_and_surrogates_do_not_hide_what_stands_near(tagger):
    findings = one(tagger, "\0\ud800 account\0 12345678\udfff Margaret Thornbury wrote.\0")
    assert {"12345678", "margaret thornbury"} <= {finding.value for finding in findings}


def test_a_fault_is_raised_and_never_an_empty_answer(tagger, monkeypatch):
    def fail(*args):
        raise RuntimeError("broken")

    monkeypatch.setattr("extraction.identifiers.matching.Matcher.candidates", fail)
    with pytest.raises(RuntimeError, match="broken"):
        list(tagger.tag(["account 12345678"]))


def test_a_missing_model_is_named():
    settings = IdentifierSettings(model="no_such_model")
    with pytest.raises(InputError, match="identifiers.model.*no_such_model"):
        list(Tagger(settings).tag(["x"]))


def test_travels_as_settings(numbers):
    copy = pickle.loads(pickle.dumps(numbers))
    assert [finding.value for finding in one(copy, "account 12345678")] == ["12345678"]


def test_no_model_is_loaded_where_no_names_are_asked_for(numbers):
    assert one(numbers, "Margaret Thornbury") == []
    assert numbers._pipeline.pipe_names == ["identifiers"]


def test_organisations_and_places_are_an_option():
    settings = IdentifierSettings(types=("ORGANISATION", "PLACE"))
    findings = one(Tagger(settings), "Angela Merkel left Germany to work for Siemens in London.")
    assert {finding.type for finding in findings} == {"ORGANISATION", "PLACE"}


def test_spans_are_in_the_document(tagger):
    doc = tagger._pipeline("account number 12345678, sort code 12-34-56")
    assert [(span.text, span.label_) for span in doc.spans["identifiers"]] == [
        ("12345678", "ACCOUNT_NUMBER"),
        ("12-34-56", "SORT_CODE"),
    ]


def test_single_names_have_a_group_of_their_own():
    assert group_of("PERSON", "ann") == "PERSON_SINGLE"
    assert group_of("PERSON", "ann lee") == "PERSON"
    assert group_of("PHONE", "+442079460958") == "PHONE"
