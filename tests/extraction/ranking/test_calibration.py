from math import comb

import numpy as np
import pytest

from extraction.ranking.calibration import calibrate, random_choice


def test_precision_and_recall_at_the_top() -> None:
    scores = np.arange(200.0)
    hits = np.zeros(200, dtype=bool)
    hits[[199, 198, 150, 3]] = True
    found = calibrate(scores, hits)
    assert found is not None
    assert (found.generations, found.hits, found.random.estimate) == (200, 4, 0.02)
    ten, hundred = found.at
    assert (ten.depth, ten.precision.estimate, ten.recall) == (10, 0.2, 0.5)
    assert ten.times_random == pytest.approx(10.0)
    assert (hundred.precision.estimate, hundred.recall) == (0.03, 0.75)
    assert ten.precision.low < 0.2 < ten.precision.high


def test_what_has_no_score_is_left_out() -> None:
    scores = np.array([np.nan, 1.0, *np.zeros(10)])
    hits = np.array([True, True, *[False] * 10])
    found = calibrate(scores, hits)
    assert found is not None
    assert (found.generations, found.hits) == (11, 1)
    assert calibrate(np.array([np.nan]), np.array([True])) is None


def test_without_a_hit_there_is_no_recall() -> None:
    found = calibrate(np.arange(20.0), np.zeros(20, dtype=bool))
    assert found is not None
    assert (found.at[0].recall, found.at[0].times_random) == (None, None)


@pytest.mark.parametrize(("depth", "hits", "generations"), [(10, 4, 40), (20, 30, 60), (5, 1, 9), (7, 7, 7)])
def test_a_random_choice_by_counting_all_choices(depth: int, hits: int, generations: int) -> None:
    chances = [
        comb(hits, n) * comb(generations - hits, depth - n) / comb(generations, depth)
        for n in range(depth + 1)
    ]
    found = random_choice(depth, hits, generations)
    low, high = round(found.low * depth), round(found.high * depth)
    assert found.estimate == hits / generations
    assert sum(chances[:low]) < 0.025 <= sum(chances[: low + 1]) + 1e-12
    assert sum(chances[:high]) < 0.975 <= sum(chances[: high + 1]) + 1e-12


def test_a_score_beats_chance_only_above_what_chance_gives() -> None:
    hits = np.zeros(100, dtype=bool)
    hits[::2] = True  # half of them, whatever the order says
    drawn = calibrate(np.arange(100.0), hits)
    sorted_out = calibrate(hits.astype(float), hits)
    assert drawn is not None and sorted_out is not None
    assert [at.beats_random for at in drawn.at] == [False, False]
    assert [at.beats_random for at in sorted_out.at] == [True, False]  # all 100 of 100 are the same choice
    assert sorted_out.at[0].times_random == 2.0
