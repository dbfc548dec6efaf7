import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extraction.windows import TokenSpan, spans_from_ranges, window_hash
from tests.extraction.small_corpus import KEY, SmallCorpus, bytes_as_tokens, match, match_all, rule

RNG = np.random.default_rng(7)


def words(count: int, seed: int) -> bytes:
    """Text of made-up words, no two seeds alike."""
    rng = np.random.default_rng(seed)
    return b" ".join(bytes(rng.integers(97, 123, rng.integers(3, 9)).astype(np.uint8)) for _ in range(count))


LETTER = words(60, 1)
OTHER = words(60, 2)


def test_a_hit_of_120_tokens_is_one_span_of_71_windows():
    found = match(SmallCorpus(LETTER), bytes_as_tokens(b"###" + LETTER[10:130] + b"###"), rule())
    assert found.spans == [TokenSpan(3, 123)]
    assert found.windows.starts.tolist() == list(range(3, 74))
    assert [(s.start, s.windows, s.tokens, s.kind) for s in found.stretches] == [(3, 71, 120, "private")]
    assert found.stretches[0].data == LETTER[10:130]
    assert (found.extracted_tokens, found.extracted_bytes, found.low_entropy_tokens) == (120, 120, 0)


def test_tokens_that_a_range_cuts_do_not_count():
    offsets = np.array([0, 3, 6, 9, 12, 15])
    assert spans_from_ranges(offsets, [(1, 13)], 3) == [TokenSpan(1, 4)]
    assert spans_from_ranges(offsets, [(1, 13)], 4) == []
    assert spans_from_ranges(offsets, [(0, 9), (1, 10)], 2) == [
        TokenSpan(0, 3)
    ]  # the second holds no more tokens
    assert spans_from_ranges(offsets, [(4, 15), (0, 9)], 2) == [TokenSpan(0, 3), TokenSpan(2, 5)]
    assert spans_from_ranges(offsets, [], 2) == []


def test_a_token_without_bytes_ends_a_run():
    tokens = bytes_as_tokens(LETTER[:40]) + [b""] + bytes_as_tokens(LETTER[40:80])
    assert match(SmallCorpus(LETTER), tokens, rule()).windows.hashes == []
    tokens = bytes_as_tokens(LETTER[:60]) + [b""] + bytes_as_tokens(LETTER[60:120])
    assert match(SmallCorpus(LETTER), tokens, rule()).windows.starts.tolist() == [*range(11), *range(61, 72)]


def test_windows_of_overlapping_spans_count_once():
    first, second = OTHER[:80], OTHER[30:140]
    found = match(SmallCorpus(first, second), bytes_as_tokens(OTHER[:140]), rule())
    assert found.spans == [TokenSpan(0, 80), TokenSpan(30, 140)]
    assert found.windows.starts.tolist() == list(range(91))
    assert found.windows.documents.tolist() == [1] * 30 + [2] + [1] * 60
    assert [(s.start, s.windows) for s in found.stretches] == [(0, 31), (30, 61)]
    assert found.extracted_tokens == 140


def test_a_window_that_stands_in_the_prompt_is_none_and_breaks_stretches():
    corpus, tokens = SmallCorpus(LETTER), bytes_as_tokens(LETTER[:200])
    found = match(corpus, tokens, rule(), prompt=(LETTER[60:130],))
    prompted = set(range(60, 81))
    assert set(found.windows.starts.tolist()) == set(range(151)) - prompted
    assert [(s.start, s.windows) for s in found.stretches] == [(0, 60), (81, 70)]
    assert match(corpus, tokens, rule(), prompt=(LETTER,)).extracted_tokens == 0
    assert match(corpus, tokens, rule(), prompt=(LETTER,)).spans == [TokenSpan(0, 200)]
    halves = (LETTER[60:100], LETTER[100:130])  # a special token stands between them
    assert len(match(corpus, tokens, rule(), prompt=halves).windows.starts) == 151


def test_kinds_follow_each_windows_own_count():
    licence = words(80, 3)
    documents = [licence] * 5 + [b"Dear " + OTHER[:60] + b"\n" + licence]
    text = documents[-1]
    found = match(SmallCorpus(*documents), bytes_as_tokens(text), rule())
    assert [s.kind for s in found.stretches] == ["private", "shared"]
    assert found.stretches[1].data == licence
    assert found.stretches[0].documents_max == 1
    filler = b"-" * 80
    found = match(SmallCorpus(filler), bytes_as_tokens(filler), rule())
    assert {s.kind for s in found.stretches} == {"low_entropy"}
    assert (found.extracted_tokens, found.low_entropy_tokens) == (0, 80)


def test_hashes_are_keyed_and_of_the_bytes_alone():
    found = match(SmallCorpus(LETTER), bytes_as_tokens(LETTER[:60]), rule())
    assert (
        found.windows.hashes[3]
        == window_hash(LETTER[3:53], KEY)
        != window_hash(LETTER[3:53], b"another key 1234")
    )


def test_an_index_that_denies_a_window_of_its_own_span_is_a_fault():
    corpus = SmallCorpus(LETTER)
    corpus.count = lambda data, starts, ends: (np.zeros(len(starts), np.int64),) * 2
    with pytest.raises(ValueError, match="index"):
        match(corpus, bytes_as_tokens(LETTER[:80]), rule())


def test_tables_keep_a_row_for_every_generation():
    tables = match_all(SmallCorpus(LETTER), {"empty": [b"nothing here", LETTER[:120]]}, rule())
    assert tables["matches"]["generated_tokens"].to_pylist() == [12, 120]
    assert tables["matches"]["extracted_tokens"].to_pylist() == [0, 120]
    assert tables["windows"].num_rows == 71 and tables["stretches"].num_rows == 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_a_recount_token_by_token(data):
    """Every run of n tokens whose bytes stand in a document, and nothing else, is a window."""
    documents = data.draw(
        st.lists(st.text("abc", min_size=4, max_size=24).map(str.encode), min_size=1, max_size=4)
    )
    pieces = [
        d[i:j] for d in documents for i in range(0, len(d), 3) for j in range(i + 1, min(i + 7, len(d) + 1))
    ]
    tokens = data.draw(st.lists(st.sampled_from([b"", b"a", b"bc", *pieces]), max_size=12))
    prompt = tuple(data.draw(st.lists(st.sampled_from(documents), max_size=1)))
    found = match(SmallCorpus(*documents), tokens, rule(min_tokens=3, private=1), prompt)
    expected = {}
    for start in range(len(tokens) - 2):
        window = tokens[start : start + 3]
        text = b"".join(window)
        count = sum(text in d for d in documents)
        if all(window) and count and not any(text in p for p in prompt):
            expected[start] = count
    assert dict(zip(found.windows.starts.tolist(), found.windows.documents.tolist(), strict=True)) == expected
    in_stretches = {
        s for stretch in found.stretches for s in range(stretch.start, stretch.start + stretch.windows)
    }
    assert in_stretches == set(expected)
    for stretch in found.stretches:
        assert any(stretch.data in d for d in documents)
        assert stretch.data == b"".join(tokens[stretch.start : stretch.start + stretch.tokens])
