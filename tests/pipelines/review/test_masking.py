import pytest

from pipelines.review.masking import Masker
from pipelines.review.shown import cut, visible

KNOWN = {"Ada Whitcombe": "PERSON", "Ada": "PERSON", "20481377": "ACCOUNT_NUMBER", "a@example.com": "EMAIL"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dear Ada Whitcombe, hello", "Dear [full name], hello"),  # the longest that stands there
        ("account 20481377.", "account [account number]."),
        ("call 0117 496 0123 now", "call [number] now"),  # of that form, though nobody tagged it
        ("write to b@example.org, please", "write to [address] please"),
        ("nothing here, 12 of 345", "nothing here, 12 of 345"),
        ("and to Ada Whitc", "and to [full name]"),  # cut off by the end of the passage
        ("itcombe wrote", "[full name] wrote"),
        ("itcombe, he wrote", "[full name], he wrote"),
        ("written to (Ada Whitc", "written to ([full name]"),
        ("xample.com>, hello", "[email address]>, hello"),
        ("", ""),
    ],
)
def test_identifiers_are_hidden(text, shown):
    assert Masker(KNOWN).masked(text) == shown


def test_a_whole_text_can_be_hidden():
    assert Masker(KNOWN, whole=True).masked("Dear Ada") == "[8 characters]"


def test_nothing_known_still_hides_what_looks_like_a_number():
    assert Masker({}).masked("sort code 20-00-00") == "sort code [number]"


@pytest.mark.parametrize("unit", ["x", "1", "1 ", "Ada", "@", "a@"])
def test_a_million_characters_are_masked_in_one_pass(unit):
    """Anything quadratic would not end."""
    text = unit * (1_000_000 // len(unit)) + " behind"
    assert Masker(KNOWN).masked(text).endswith(" behind")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("left\u202eright", "left\\u202eright"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("nul\0", "nul\\x00"),
        ("\ud800", "\\ud800"),
        ("a\u00a0b", "a\u00a0b"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\r\n", "\\r\n"),
        ("<b>&", "<b>&"),  # markup is the template's to escape
        ("שלום", "שלום"),
    ],
)
def test_what_steers_is_shown_and_does_nothing(text, shown):
    assert visible(text) == shown


def test_long_texts_are_cut_and_say_so():
    assert cut("abcdef", 4) == "abcd [2 characters left out]"
    assert cut("abc", 4) == "abc"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0, 8, ["Dear ", "full name"]),
        (8, 25, [", hello"]),  # the name begins before it
        (8, 33, [", hello ", "full name", " and"]),
        (0, 0, []),
    ],
)
def test_a_part_hides_what_the_whole_text_hides(low, high, shown):
    text = "Dear Ada Whitcombe, hello Ada and goodbye"
    assert [piece.text for piece in Masker(KNOWN).pieces(text, low, high)] == shown


def test_a_part_of_a_text_that_is_hidden_whole():
    assert [piece.text for piece in Masker(KNOWN, whole=True).pieces("Dear Ada", 2, 5)] == ["3 characters"]
