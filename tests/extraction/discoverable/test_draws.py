"""(n, p)-discoverable extraction: the worked values, and what lies at the edges."""

import math

import numpy as np
import pytest

from extraction.discoverable.draws import chance_within, discoverable, draws_needed, least_log_probability


def test_the_worked_values() -> None:
    hundredth = math.log(0.01)
    assert draws_needed(hundredth, 0.5) == 69
    assert draws_needed(hundredth, 0.9) == 230
    assert float(chance_within(np.array([hundredth]), 100)[0]) == pytest.approx(0.634, abs=5e-4)


@pytest.mark.parametrize("probability", [0.9, 0.3, 0.01, 1e-6, 1e-12])
@pytest.mark.parametrize("certainty", [0.1, 0.5, 0.99])
def test_the_draws_needed_are_the_fewest_that_reach_the_certainty(
    probability: float, certainty: float
) -> None:
    needed = draws_needed(math.log(probability), certainty)
    assert needed is not None
    value = np.array([math.log(probability)])
    assert chance_within(value, needed)[0] >= certainty * (1 - 1e-9)
    assert needed == 1 or chance_within(value, needed - 1)[0] < certainty
    assert discoverable(value, needed + 1, certainty)[0]
    assert needed < 3 or not discoverable(value, needed - 2, certainty)[0]


def test_the_edges() -> None:
    assert draws_needed(0.0, 0.999) == 1  # every draw gives it
    assert draws_needed(float("-inf"), 0.5) is None  # none ever does
    assert draws_needed(-800.0, 0.5) is None  # nor within any number that can be written
    values = np.array([0.0, float("-inf"), float("nan")])
    found = chance_within(values, 1000)
    assert found[0] == 1.0
    assert found[1] == 0.0
    assert math.isnan(found[2])
    assert discoverable(values, 1, 0.5).tolist() == [True, False, False]
    with pytest.raises(ValueError, match="no number"):
        draws_needed(float("nan"), 0.5)


def test_a_probability_of_a_millionth_of_a_millionth_is_not_lost() -> None:
    assert float(chance_within(np.array([math.log(1e-18)]), 10)[0]) == pytest.approx(1e-17)
    assert least_log_probability(1, 0.5) == pytest.approx(math.log(0.5))
