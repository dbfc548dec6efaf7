"""Counting what comes out: greedy, nearly, and within some draws."""

import math

import numpy as np
import pytest

from extraction.discoverable.outcomes import Readings, Rules, outcome, together
from extraction.membership.intervals import wilson

RULES = Rules(draws=(1, 100), certainties=(0.5, 0.9), target_tokens=50, edit_share=0.1)


def readings(probabilities: list[float], greedy: list[bool], edits: list[int]) -> Readings:
    with np.errstate(divide="ignore"):
        return Readings(np.log(np.array(probabilities)), np.array(greedy), np.array(edits, dtype=np.int64))


def test_each_way_of_coming_out_is_counted() -> None:
    found = outcome(readings([1.0, 0.01, 0.0, 0.6], [True, False, False, False], [0, 5, 6, 50]), RULES)
    assert found is not None
    assert (found.targets, found.greedy, found.near) == (
        4,
        1,
        1,
    )  # five edits of fifty tokens are near, six are not
    assert found.greedy_share == wilson(1, 4)
    counts = {(one.draws, one.certainty): one.targets for one in found.discoverable}
    assert counts == {(1, 0.5): 2, (1, 0.9): 1, (100, 0.5): 3, (100, 0.9): 2}
    assert found.expected[0] == pytest.approx((1 + 0.01 + 0 + 0.6) / 4)
    assert found.expected[1] == pytest.approx((1 + 0.634 + 0 + 1) / 4, abs=1e-3)


def test_nothing_is_no_share_and_no_number_is_no_probability() -> None:
    assert outcome(readings([], [], []), RULES) is None
    with pytest.raises(ValueError, match="no number"):
        outcome(readings([float("nan")], [False], [0]), RULES)


def test_the_probabilities_of_several_continuations_add_up() -> None:
    assert together([math.log(0.25), math.log(0.5)]) == pytest.approx(math.log(0.75))
    assert together([float("-inf"), math.log(0.5)]) == pytest.approx(math.log(0.5))
    assert together([float("-inf")]) == float("-inf")
    assert together([math.log(0.7), math.log(0.3000001)]) == 0.0  # rounding makes no probability above 1
    assert math.isnan(together([float("nan"), 0.0]))


def test_a_tenth_of_fifty_is_five_whatever_a_float_makes_of_it() -> None:
    assert Rules((1,), (0.5,), 50, 0.1).most_edits == 5
    assert Rules((1,), (0.5,), 30, 0.1).most_edits == 3
    assert Rules((1,), (0.5,), 59, 0.1).most_edits == 5
