"""Matches by chance, by length: held-out text that shares a disclaimer with the corpus and no more."""

import numpy as np
import pytest

from extraction.chance import UNKNOWN_SIZE, chance_by_length, length_bins
from extraction.places import Places
from tests.extraction.small_corpus import SmallCorpus, match_all, rule
from tests.extraction.test_windows import words

DISCLAIMER, LETTER, UNSEEN = words(30, 41), words(60, 42), words(60, 43)
GENERATED = [
    DISCLAIMER[:120],
    DISCLAIMER[:120],
    UNSEEN[:55],
    UNSEEN[100:310],
    LETTER[:70],
    b"-" * 80,
    LETTER[:80],
]


def found_in(*documents):
    tables = match_all(SmallCorpus(*documents), {"empty": GENERATED}, rule())
    return Places.of([tables["windows"]], ("empty",)), tables["stretches"]


def counted(ratio):
    corpus, in_corpus = found_in(DISCLAIMER, LETTER, b"-" * 90)
    held_out, stretches = found_in(DISCLAIMER, UNSEEN, b"-" * 90)
    return chance_by_length(held_out, stretches, corpus.hashes, in_corpus, 50, ratio)


def test_lengths_are_counted_by_text_and_apart_from_what_both_hold():
    assert length_bins(50) == [(50, 59), (60, 99), (100, 199), (200, None)]
    numbers = [(c.matches, c.also_in_corpus, c.only_here, c.in_corpus) for c in counted(2.0)]
    assert numbers == [(1, 0, 1, 0), (0, 0, 0, 2), (1, 1, 0, 1), (1, 0, 1, 0)]


def test_a_match_that_goes_on_past_what_the_corpus_holds_is_one_by_chance():
    corpus, in_corpus = found_in(UNSEEN[:54], DISCLAIMER)
    held_out, stretches = found_in(UNSEEN)
    first = chance_by_length(held_out, stretches, corpus.hashes, in_corpus, 50, 1.0)[0]
    assert (first.matches, first.also_in_corpus, first.only_here) == (1, 0, 1)


def test_the_floor_scales_with_the_corpus_and_none_found_is_no_limit_of_zero():
    short, middle, _, _ = counted(2.0)
    assert (short.by_chance.estimate, middle.by_chance.estimate) == (2.0, 0.0)
    assert middle.by_chance.high == pytest.approx(2 * -np.log(0.025))
    assert short.by_chance.low < 2 < short.by_chance.high
    assert counted(None)[0].by_chance.reason == UNKNOWN_SIZE


def test_nothing_matched_is_counted_as_nothing():
    nothing, stretches = found_in(b"nothing of the kind " * 9)
    found = chance_by_length(nothing, stretches, nothing.hashes, stretches, 50, 1.0)
    assert [c.matches for c in found] == [0, 0, 0, 0]
