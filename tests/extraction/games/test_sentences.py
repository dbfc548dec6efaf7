"""Sentences with an identifier masked, and what a model wrote in its place."""

from extraction.games.sentences import CONTEXT, Masked, candidate_in, masked_sentences
from extraction.identifiers.records import Finding


def finding(text: str, value: str, kind: str = "PERSON", nth: int = 0) -> Finding:
    start = -1
    for _ in range(nth + 1):
        start = text.index(value, start + 1)
    return Finding(kind, value.lower(), value, start, start + len(value), True, "", "rule", start, start)


def test_an_identifier_is_masked_in_its_line() -> None:
    text = "First line.\nThis is Ada Whitcombe, account 20001234.\nLast line."
    found = list(
        masked_sentences(text, [finding(text, "Ada Whitcombe"), finding(text, "20001234", "ACCOUNT_NUMBER")])
    )
    assert found[0] == Masked("PERSON", "ada whitcombe", "Ada Whitcombe", "This is ", ", account 20001234.")
    assert (found[1].left, found[1].right) == ("This is Ada Whitcombe, account ", ".")


def test_what_the_rest_gives_away_and_single_names_are_left_out() -> None:
    text = "Ada Whitcombe: it is Ada Whitcombe.\nWhitcombe, Ada Whitcombe"
    twice = [finding(text, "Ada Whitcombe", nth=n) for n in range(3)]
    found = list(masked_sentences(text, [*twice, finding(text, "Whitcombe", nth=2)]))
    assert [(one.text, one.left) for one in found] == [("Ada Whitcombe", "Whitcombe, ")]


def test_a_long_line_is_cut() -> None:
    text = "x" * 1000 + " Ada Whitcombe " + "y" * 1000
    (one,) = masked_sentences(text, [finding(text, "Ada Whitcombe")])
    assert (len(one.left), len(one.right)) == (CONTEXT, CONTEXT)


def test_the_candidate_stands_where_the_mask_was() -> None:
    left = "This is"
    text = left + " Ada Whitcombe, and Ben Harlow."
    people = [finding(text, "Ada Whitcombe"), finding(text, "Ben Harlow")]
    assert candidate_in(text, len(left), "PERSON", people) == people[0]
    assert candidate_in(text, len(left), "PHONE", people) is None
    assert candidate_in(text, len(left), "PERSON", people[1:]) is None
