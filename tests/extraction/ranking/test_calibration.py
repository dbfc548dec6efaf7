import numpy as np
import pytest

from extraction.ranking.calibration import calibrate


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
