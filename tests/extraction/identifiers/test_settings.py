"""Formats that a user adds in a config."""

import pytest
from pydantic import ValidationError

from extraction.identifiers import IdentifierSettings, Tagger
from extraction.identifiers.settings import UserRecogniser


def tag(text, *rules):
    (findings,) = Tagger(IdentifierSettings(types=("EMAIL",), recognisers=rules)).tag([text])
    return [(finding.type, finding.value, finding.validated, finding.context) for finding in findings]


def test_a_pattern_alone():
    rule = UserRecogniser(name="HOSPITAL_NUMBER", pattern="[A-Z][0-9]{3}[ -]?[0-9]{4}")
    text = "\u00e9 h123-4567 H123-4567, H123 4567. XH1234567 H12345678 \uff28\uff11\uff12\uff13\uff14\uff15\uff16\uff17"
    assert tag(text, rule) == [("HOSPITAL_NUMBER", "H1234567", False, "")] * 3


def test_context_is_needed_where_it_is_given():
    rule = UserRecogniser(name="MEMBER", pattern="[0-9]{6}", context=("Member", "member id"))
    assert tag("Member 123456 and nothing else here, really nothing, only words and words. 654321", rule) == [
        ("MEMBER", "123456", False, "member")
    ]


def test_a_validator_of_python_stdnum_decides():
    rule = UserRecogniser(name="LUHN", pattern="[0-9]{4}-[0-9]{4}", validator="luhn", normalise="digits")
    assert tag("1234-5674 1234-5678", rule) == [("LUHN", "12345674", True, "")]


def test_normalisers():
    text = "Ab-12 x"
    for normalise, value in (
        ("digits", "12"),
        ("upper", "AB12"),
        ("lower", "ab12"),
        ("name", "ab-12"),
        ("text", "Ab-12"),
    ):
        rule = UserRecogniser(name="CODE", pattern="Ab-[0-9]+", normalise=normalise)
        assert tag(text, rule) == [("CODE", value, False, "")]


BAD = [
    ({"name": "PHONE", "pattern": "x"}, "built-in"),
    ({"name": "X", "pattern": "(a"}, "RE2 syntax"),
    ({"name": "X", "pattern": "(?=a)b"}, "RE2 syntax"),
    ({"name": "X", "pattern": "a*"}, "empty string"),
    ({"name": "X", "pattern": "a", "validator": "no.such"}, "no module 'no.such'"),
    ({"name": "X", "pattern": "a", "validator": "util"}, "cannot validate"),
    ({"name": "X", "pattern": "a", "validator": "../x"}, "pattern"),
    ({"name": "X", "pattern": "a", "normalise": "magic"}, "digits"),
    ({"name": "X", "pattern": "a", "contxt": ["b"]}, "contxt"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_what_cannot_work_is_refused_in_words(fields, message):
    with pytest.raises(ValidationError, match=message):
        UserRecogniser(**fields)


def test_names_that_differ_in_normaliser_are_refused():
    rules = (UserRecogniser(name="X", pattern="a"), UserRecogniser(name="X", pattern="b", normalise="text"))
    with pytest.raises(ValidationError, match="share one `normalise`"):
        IdentifierSettings(recognisers=rules)


def test_unknown_region_is_refused():
    with pytest.raises(ValidationError, match="ZZ"):
        IdentifierSettings(regions=("GB", "ZZ"))
