"""Windows in bytes: what two tokenizers agree on, however they cut the same text."""

from itertools import groupby

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from extraction.byte_windows import ByteWindowTable
from extraction.windows import window_hash
from tests.extraction.small_corpus import KEY, SmallCorpus, bytes_as_tokens, match, match_in_bytes, rule
from tests.extraction.test_windows import LETTER, OTHER


def pieces(text: bytes, size: int) -> list[bytes]:
    """Tokens of `size` bytes."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def test_a_match_gives_every_run_of_so_many_bytes_once_whatever_the_tokens():
    text = b"###" + LETTER[10:140] + b"###"
    expected = [window_hash(LETTER[i : i + 50], KEY) for i in range(10, 91)]
    for size in (1, 3, 7):
        assert match_in_bytes(SmallCorpus(LETTER), pieces(text, size), rule(), 50) == expected
    assert (
        match(SmallCorpus(LETTER), pieces(text, 7), rule()).extracted_tokens == 0
    )  # too few tokens, enough bytes


def test_overlapping_documents_give_a_window_once():
    found = match_in_bytes(SmallCorpus(OTHER[:80], OTHER[20:140]), bytes_as_tokens(OTHER[:140]), rule(), 50)
    assert len(found) == len(set(found)) == 91


def test_filler_the_prompt_and_tokens_without_bytes_are_left_out():
    filler = b"-" * 90
    assert match_in_bytes(SmallCorpus(filler), [filler], rule(), 50) == []
    assert match_in_bytes(SmallCorpus(LETTER), [LETTER[:120]], rule(), 50, prompt=(LETTER,)) == []
    assert (
        len(match_in_bytes(SmallCorpus(LETTER), [LETTER[:120]], rule(), 50, prompt=(LETTER[:70],))) == 71 - 21
    )
    assert match_in_bytes(SmallCorpus(LETTER), [LETTER[:40], b"", LETTER[40:80]], rule(), 50) == []


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_against_a_recount_byte_by_byte(data):
    documents = data.draw(
        st.lists(st.text("abc", min_size=4, max_size=20).map(str.encode), min_size=1, max_size=3)
    )
    tokens = data.draw(st.lists(st.sampled_from([b"", b"a", b"bc", *documents]), max_size=8))
    prompt = tuple(data.draw(st.lists(st.sampled_from(documents), max_size=1)))
    the_rule = rule(min_tokens=3)
    found = match_in_bytes(SmallCorpus(*documents), tokens, the_rule, 3, prompt)
    expected = []
    for run in [b"".join(group) for whole, group in groupby(tokens, key=bool) if whole]:
        for start in range(len(run) - 2):
            text = run[start : start + 3]
            held = any(text in d for d in documents) and not any(text in p for p in prompt)
            if held and not the_rule.low_entropy.is_low(text):
                expected.append(window_hash(text, KEY))
    assert found == expected


def test_a_part_keeps_the_first_request_of_each_family():
    table = ByteWindowTable()
    for family, number, value in [
        ("b", 7, b"x" * 16),
        ("b", 3, b"x" * 16),
        ("a", 9, b"x" * 16),
        ("b", 4, b"y" * 16),
    ]:
        table.add(family, number, [value, value])
    rows = {(row["family"], row["hash"]): row["number"] for row in table.table().to_pylist()}
    assert rows == {("b", b"x" * 16): 3, ("a", b"x" * 16): 9, ("b", b"y" * 16): 4}
    assert np.all(np.array(list(rows.values())) > 0)
