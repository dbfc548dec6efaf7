"""Ranks of the true identifier among candidates, and what they come to."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from extraction.games.ranking import NOT_AMONG, SentenceReader, judged, rank_of
from extraction.games.sentences import Masked
from extraction.membership.intervals import wilson
from extraction.model import ModelSettings, load_tokenizer
from extraction.scoring import Scorer, Text
from tests.extraction.tiny_models import byte_level_tokenizer, llama

MASKED = Masked("PERSON", "ada whitcombe", "Ada Whitcombe", "The letter is for ", " at the branch.")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> SentenceReader:
    folder: Path = tmp_path_factory.mktemp("model")
    byte_level_tokenizer(folder)
    settings = ModelSettings(path=str(llama(folder)))
    return SentenceReader(Scorer.load(settings), load_tokenizer(settings), [0])


def test_perplexity_is_that_of_the_whole_sentence(reader: SentenceReader) -> None:
    candidates = ["Ada Whitcombe", "Ben Harlow"]
    found = reader.read(MASKED, candidates)
    assert not found.too_long
    for candidate, value in zip(candidates, found.perplexities, strict=True):
        ids = reader.tokenizer.encode(
            f"The letter is for {candidate} at the branch.", add_special_tokens=False
        )
        (read,) = reader.scorer.log_probs([Text([0], ids)])
        assert value == pytest.approx(float(np.exp(-read.log_probs.astype(np.float64).mean())), rel=1e-4)
    bare = SentenceReader(reader.scorer, reader.tokenizer, [])
    assert np.isfinite(bare.read(MASKED, candidates).perplexities).all()


def test_a_sentence_that_the_model_cannot_read_to_its_end_is_said(reader: SentenceReader) -> None:
    longer = replace(MASKED, right=" at the branch." * 500)
    assert reader.read(longer, ["Ada Whitcombe", "Ben Harlow"]).too_long
    assert not reader.read(longer, []).too_long


def ranks(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("true", "perplexities", "rank"),
    [
        ([False, True, False], [3.0, 1.0, 2.0], 1),
        ([False, True, False], [1.0, 2.0, 3.0], 2),
        ([True, False, False], [2.0, 2.0, 5.0], 2),  # a tie is no success
        ([True, True, False], [9.0, 1.0, 2.0], 1),  # in whatever spelling
        ([False, False], [1.0, 2.0], NOT_AMONG),
        ([], [], NOT_AMONG),
    ],
)
def test_the_rank_of_the_truth(true: Sequence[bool], perplexities: Sequence[float], rank: int) -> None:
    assert rank_of(true, np.array(perplexities)) == rank


def test_precision_is_over_what_was_answered_and_recall_over_everything() -> None:
    found = judged(ranks(1, 3, NOT_AMONG, NOT_AMONG), ranks(10, 5, 4, 0), (1, 3), truth_is_given=False)
    assert found is not None
    assert (found.sentences, found.answered, found.candidates) == (4, 3, pytest.approx(19 / 3))
    first, third = found.at
    assert (first.correct, third.correct) == (1, 2)
    assert (first.precision, first.recall) == (wilson(1, 3), wilson(1, 4))
    assert first.chance is None


def test_chance_is_a_random_order_of_the_same_candidates() -> None:
    found = judged(ranks(1, 2), ranks(100, 2), (1, 5), truth_is_given=True)
    assert found is not None
    assert [at.chance for at in found.at] == [pytest.approx((0.01 + 0.5) / 2), pytest.approx((0.05 + 1) / 2)]
    assert judged(ranks(), ranks(), (1,), truth_is_given=True) is None
    nobody = judged(ranks(NOT_AMONG), ranks(0), (1,), truth_is_given=False)
    assert nobody is not None
    assert (nobody.candidates, nobody.at[0].precision) == (None, None)
