import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import BuildOptions, Index, SourceError, add_to_index, build_index, open_index
from tests.index.conftest import write_jsonl
from tests.index.corpora import corpus, splices, template_corpus
from tests.index.oracle import counts, maximal_ranges

CASE_FILE = Path(__file__).parents[1] / "data" / "spans.jsonl"
CASES = [json.loads(line) for line in CASE_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case_file_against_brute_force(
    case: dict[str, Any], parts: int, make_index: Callable[..., Index]
) -> None:
    index = make_index(case["documents"], case["min_bytes"], parts)
    documents = [text.encode() for text in case["documents"]]
    texts = [text.encode() for text in case["generations"]]
    for text, ranges in zip(texts, index.find(texts), strict=True):
        assert [(r.start, r.end) for r in ranges] == maximal_ranges(documents, text, case["min_bytes"])
        found = index.count([text[r.start : r.end] for r in ranges])
        expected = [counts(documents, text[r.start : r.end]) for r in ranges]
        assert list(zip(found.documents, found.occurrences, strict=True)) == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("kind", [corpus, template_corpus])
def test_any_corpus_against_brute_force(
    kind: Callable[[], st.SearchStrategy[list[str]]], data: st.DataObject, make_index: Callable[..., Index]
) -> None:
    texts = data.draw(kind())
    least = data.draw(st.sampled_from([16, 24, 50, 64]))
    index = make_index(
        texts, least, data.draw(st.sampled_from([1, 1, 2, 7])), workers=data.draw(st.sampled_from([1, 3]))
    )
    documents = [text.encode() for text in texts]
    queries = data.draw(splices(texts))
    for query, ranges in zip(queries, index.find(queries), strict=True):
        assert [(r.start, r.end) for r in ranges] == maximal_ranges(documents, query, least)
    for query in queries:
        _check_counts(index, documents, query, least, data.draw(st.integers(least, least + 40)))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_answers_do_not_depend_on_segments_order_or_additions(
    data: st.DataObject, make_index: Callable[..., Index], tmp_path_factory: pytest.TempPathFactory
) -> None:
    texts = data.draw(corpus())
    queries = data.draw(splices(texts))
    shuffled = data.draw(st.permutations(texts))
    indexes = [make_index(texts, parts=parts) for parts in (1, 2, 7, 32)]
    indexes += [make_index(shuffled, parts=parts) for parts in (1, 7)]
    cut = data.draw(st.integers(1, len(texts)))
    grown = make_index(texts[:cut])
    rest = write_jsonl(tmp_path_factory.mktemp("rest") / "rest.jsonl", texts[cut:] or [""])
    indexes.append(open_index(add_to_index([rest], grown.directory, BuildOptions())))
    expected = indexes[0].find(queries)
    windows = [query[r.start : r.end] for query, some in zip(queries, expected, strict=True) for r in some]
    documents = [text.encode() for text in texts]
    for index in indexes:
        assert index.find(queries) == expected
        found = index.count(windows)
        assert list(zip(found.documents, found.occurrences, strict=True)) == [
            counts(documents, window) for window in windows
        ]


def test_a_document_counts_as_often_as_it_was_given(tmp_path: Path) -> None:
    text = "a letter that stands in three sources, twice in one of them, word for word"
    sources = [write_jsonl(tmp_path / f"{n}.jsonl", [text] * (1 + n % 2)) for n in range(3)]
    for segment_bytes in (None, 1):
        options = BuildOptions(segment_bytes=segment_bytes)
        index = open_index(build_index(sources, tmp_path / f"index{segment_bytes}", options))
        found = index.count([text.encode()])
        assert (found.documents.tolist(), found.occurrences.tolist()) == ([4], [4])


@pytest.mark.parametrize("parts", [1, 2])
def test_counts_of_a_phrase_in_thousands_of_documents_of_any_length(
    parts: int, make_index: Callable[..., Index]
) -> None:
    choice = random.Random(3)
    phrase = "what every letter of this correspondence says before it comes to the point. "

    def document(number: int) -> str:
        around = ("".join(choice.choices("abcdefgh ", k=choice.choice([0, 3, 90, 9000]))) for _ in range(2))
        return f"{number} {phrase * choice.choice([0, 1, 1, 1, 3])}".join(around)

    documents = [document(number) for number in range(3000)]
    index = make_index(documents, parts=parts)
    expected = counts([text.encode() for text in documents], phrase.encode())
    assert expected[0] > 2000
    counted = index.count([phrase.encode()])
    assert (counted.documents[0], counted.occurrences[0]) == expected
    holding = [f"d{number}" for number, text in enumerate(documents) if phrase in text]
    assert index.document_ids([phrase.encode()], limit=3000) == [holding]


def _check_counts(index: Index, documents: list[bytes], query: bytes, least: int, length: int) -> None:
    starts = np.arange(max(0, len(query) - length + 1))
    windows = [query[s : s + length] for s in starts]
    expected = [counts(documents, window) for window in windows]
    counted = index.count(windows)
    assert list(zip(counted.documents, counted.occurrences, strict=True)) == expected
    slid = index.count_windows(query, starts, starts + length)
    assert list(zip(slid.documents, slid.occurrences, strict=True)) == expected


def test_less_than_the_index_was_built_for_is_refused(make_index: Callable[..., Index]) -> None:
    index = make_index(["a document of some length, long enough to hold one seed at the least"])
    with pytest.raises(SourceError, match="built for matches of 50 bytes"):
        index.find([b"text"], min_bytes=40)
    with pytest.raises(ValueError, match="at least 50 bytes"):
        index.count([b"short"])
