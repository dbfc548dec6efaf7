"""The screen: how a document is cut into stretches, and what a sample says of the corpus."""

import numpy as np
import pytest

from extraction.discoverable.screen import FEW_DOCUMENTS, Screened, distribution, extractable


def screened(probabilities: list[list[float]], size: int = 1000) -> Screened:
    values = np.array([p for own in probabilities for p in own], dtype=np.float64)
    document = np.repeat(np.arange(len(probabilities)), [len(own) for own in probabilities])
    with np.errstate(divide="ignore"):
        return Screened(np.log(values), document, np.full(len(probabilities), size))


def test_the_corpus_is_expected_to_hold_as_many_for_each_byte() -> None:
    rng = np.random.default_rng(0)
    sample = [[0.9 if rng.random() < 0.2 else 1e-9 for _ in range(10)] for _ in range(200)]
    found = extractable(screened(sample), draws=1, certainty=0.5, corpus_bytes=200 * 1000 * 50)
    hits = sum(p > 0.5 for own in sample for p in own)
    assert found.stretches == hits
    assert found.share.estimate == pytest.approx(hits / 2000)
    assert found.in_corpus.estimate == pytest.approx(hits * 50)
    low, high = found.in_corpus.low, found.in_corpus.high
    assert low is not None and high is not None
    assert low < 0.2 * 2000 * 50 < high
    assert 0.05 < (high - low) / (hits * 50) < 0.3


def test_nothing_found_is_no_upper_limit_of_nothing() -> None:
    found = extractable(screened([[1e-9] * 10] * 50), draws=1, certainty=0.5, corpus_bytes=50 * 1000 * 100)
    assert (found.stretches, found.in_corpus.estimate) == (0, 0.0)
    assert (
        found.in_corpus.high is not None and found.in_corpus.high > 10 * 100
    )  # a document in 50 may hold ten
    assert found.share.high is not None and found.share.high > 0.01
    assert found.share.flag == found.in_corpus.flag == FEW_DOCUMENTS  # here documents are what is counted


def test_documents_without_a_stretch_count_as_text_of_the_corpus() -> None:
    found = extractable(screened([[0.9]] * 20 + [[]] * 20), draws=1, certainty=0.5, corpus_bytes=40_000)
    assert found.in_corpus.estimate == pytest.approx(20.0)


def test_each_stretch_is_in_one_class_of_the_distribution() -> None:
    sample = [[1.0, 0.5, 0.1, 0.05], [1e-3, 1e-20, 0.0, 1e-300]]
    classes = distribution(screened(sample))
    assert sum(row.stretches for row in classes) == 8
    assert (classes[0].least, classes[0].stretches) == (-1.0, 3)  # from a tenth on
    assert (classes[-1].least, classes[-1].stretches) == (None, 2)
    assert sum(row.share.estimate or 0.0 for row in classes) == pytest.approx(1.0)
