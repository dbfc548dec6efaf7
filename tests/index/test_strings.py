from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import Index
from tests.index.oracle import counts, places

TEXT = st.text(st.sampled_from("aab _.Äßéπ0🙂"), max_size=60)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _whole_words(document: str, string: str) -> int:
    found = 0
    for at in range(len(document) - len(string) + 1):
        end = at + len(string)
        if document[at:end] == string:
            left = at > 0 and _is_word(document[at - 1]) and _is_word(string[0])
            right = end < len(document) and _is_word(document[end]) and _is_word(string[-1])
            found += not (left or right)
    return found


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_strings_against_brute_force(data: st.DataObject, make_index: Callable[..., Index]) -> None:
    documents = data.draw(st.lists(TEXT, min_size=1, max_size=8))
    pieces = st.builds(
        lambda d, a, n: d[a : a + n], st.sampled_from(documents), st.integers(0, 50), st.integers(1, 20)
    )
    strings = data.draw(st.lists(st.one_of(pieces.filter(bool), TEXT.filter(bool)), min_size=1, max_size=6))
    index = make_index(documents, parts=data.draw(st.sampled_from([1, 3])))
    counted = index.count_strings(strings)
    expected = [counts([d.encode() for d in documents], s.encode()) for s in strings]
    assert list(zip(counted.documents, counted.occurrences, strict=True)) == expected
    whole = index.count_strings(strings, whole_words=True)
    expected = [
        (sum(_whole_words(d, s) > 0 for d in documents), sum(_whole_words(d, s) for d in documents))
        for s in strings
    ]
    assert list(zip(whole.documents, whole.occurrences, strict=True)) == expected
    folded = index.count_strings(strings, ignore_case=True)
    expected = [counts([d.casefold().encode() for d in documents], s.casefold().encode()) for s in strings]
    assert list(zip(folded.documents, folded.occurrences, strict=True)) == expected


def test_a_name_is_not_found_inside_a_longer_word(make_index: Callable[..., Index]) -> None:
    index = make_index(["Ann met Anna and Joann; Ann-Marie, ann, Annß and ßAnn", "nothing", "Ann"])
    assert index.count_strings(["Ann"]).occurrences.tolist() == [6]
    assert index.count_strings(["Ann"], whole_words=True).occurrences.tolist() == [3]
    assert index.count_strings(["Ann"], whole_words=True).documents.tolist() == [2]
    assert index.count_strings(["ANN"], whole_words=True, ignore_case=True).occurrences.tolist() == [4]


def test_occurrences_may_overlap(make_index: Callable[..., Index]) -> None:
    index = make_index(["aaaa", "aaaa", "b"])
    counted = index.count_strings(["aa"])
    assert (counted.documents.tolist(), counted.occurrences.tolist()) == ([2], [6])
    assert len(places(b"aaaa", b"aa")) == 3


def test_an_empty_string_is_refused(make_index: Callable[..., Index]) -> None:
    with pytest.raises(ValueError, match="empty"):
        make_index(["text"]).count_strings(["a", ""])
