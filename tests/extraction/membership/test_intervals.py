import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.membership.intervals import (
    DELONG,
    NEWCOMBE,
    auc,
    auc_interval,
    chance_of_auc_beyond,
    rate_difference,
    wider_auc_interval,
    wilson,
)
from extraction.membership.rates import bootstrap_auc, gap_at, rate_at, roc

MEMBERS, OTHERS = np.array([3.0, 5, 6, 7, 8]), np.array([1.0, 2, 3, 4, 6])
SCORES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30).map(np.array)


def test_worked_auc_and_its_interval() -> None:
    found = auc_interval(MEMBERS, OTHERS)
    assert found.estimate == pytest.approx(0.84)
    assert (found.low, found.high, found.method) == (
        pytest.approx(0.437, abs=5e-4),
        pytest.approx(0.973, abs=5e-4),
        DELONG,
    )


@given(SCORES, SCORES)
def test_auc_is_the_share_of_pairs_won(members: np.ndarray, others: np.ndarray) -> None:
    pairs = [(m > o) + 0.5 * (m == o) for m in members for o in others]
    assert auc(members, others) == pytest.approx(np.mean(pairs))
    assert auc(others, members) == pytest.approx(1 - np.mean(pairs))
    found = auc_interval(members, others)
    assert found.low <= found.estimate + 1e-9
    assert found.high >= found.estimate - 1e-9


def test_perfect_and_constant_scores_keep_an_interval() -> None:
    perfect = auc_interval(np.ones(20), np.zeros(20))
    assert (perfect.estimate, perfect.high, perfect.method) == (1.0, 1.0, NEWCOMBE)
    assert 0.85 < perfect.low < 0.95
    wrong = auc_interval(np.zeros(20), np.ones(20))
    assert (wrong.low, wrong.high) == (0.0, pytest.approx(1 - perfect.low))
    constant = auc_interval(np.ones(20), np.ones(20))
    assert (constant.estimate, constant.method) == (0.5, NEWCOMBE)
    assert constant.low < 0.4 < 0.6 < constant.high
    # By Newcombe's equation: the estimate lies z standard deviations, taken at the limit, away from it.
    assert 1 - perfect.low == pytest.approx(1.959964 * _deviation(perfect.low, 20, 20), rel=1e-4)


def _deviation(theta: float, m: int, n: int) -> float:
    star = (m + n) / 2 - 1
    factor = 1 + star * (1 - theta) / (2 - theta) + star * theta / (1 + theta)
    return float(np.sqrt(theta * (1 - theta) * factor / (m * n)))


def test_worked_difference_of_rates() -> None:
    found = rate_difference(60, 100, 40, 100)
    assert found.estimate == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.061, abs=5e-4), pytest.approx(0.328, abs=5e-4))
    assert wilson(0, 10).low == 0.0
    with pytest.raises(ValueError, match="at least one"):
        wilson(0, 0)


def test_chance_at_250_a_side() -> None:
    assert chance_of_auc_beyond(0.55, 250, 250) / 2 == pytest.approx(0.027, abs=5e-4)


def test_rates_at_low_false_positive_rates_are_counted() -> None:
    others = np.arange(1000.0)
    members = np.array([998.5, 999.0, 2000.0, 5.0])
    found = rate_at(members, others, 0.001)
    assert (found.allowed, found.realised, found.true_positive_rate.estimate) == (1, 0.001, 0.75)
    strict = rate_at(members, others[:999], 0.001)
    assert (strict.allowed, strict.realised, strict.threshold) == (0, 0.0, 998.0)
    tied = rate_at(members, np.full(1000, 7.0), 0.01)
    assert (tied.allowed, tied.realised, tied.true_positive_rate.estimate) == (10, 0.0, 0.75)


def test_worked_gap_of_the_retail_returns() -> None:
    found = gap_at(np.array([0.82, 0.74, 0.43, 0.91]), np.array([0.39, 0.58, 0.72, 0.31]), 0.70)
    rates = (found.true_positive_rate.estimate, found.false_positive_rate.estimate, found.gap.estimate)
    assert rates == (0.75, 0.25, 0.5)


@given(SCORES, SCORES)
def test_area_under_the_roc_is_the_auc(members: np.ndarray, others: np.ndarray) -> None:
    false, true = roc(members, others)
    assert (false[-1], true[-1]) == (1.0, 1.0)
    assert np.trapezoid(true, false) == pytest.approx(auc(members, others))


def test_bootstrap_agrees_with_delong() -> None:
    rng = np.random.default_rng(1)
    members, others = rng.normal(0.5, 1, 400), rng.normal(0, 1, 300)
    drawn, exact = bootstrap_auc(members, others, seed=2), auc_interval(members, others)
    assert (drawn.low, drawn.high) == (
        pytest.approx(exact.low, abs=0.01),
        pytest.approx(exact.high, abs=0.01),
    )


@given(st.integers(1, 400), st.integers(0, 400), st.sampled_from([0.9, 0.95, 0.99, 0.999]))
def test_a_rate_at_its_end_is_its_own_limit(trials: int, hits: int, confidence: float) -> None:
    hits = min(hits, trials)
    found = wilson(hits, trials, confidence)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert (found.low == 0, found.high == 1) == (hits == 0, hits == trials)
    assert wilson(trials - hits, trials, confidence).low == pytest.approx(1 - found.high)
    assert rate_difference(trials, trials, 0, trials, confidence).high == 1


def test_the_wider_interval_is_delongs_where_there_are_many_records() -> None:
    rng = np.random.default_rng(3)
    members, others = rng.normal(0.3, 1, 1500), rng.normal(0, 1, 1500)
    narrow, wide = auc_interval(members, others), wider_auc_interval(members, others)
    assert wide.low <= narrow.low <= narrow.estimate == wide.estimate <= narrow.high <= wide.high
    assert (wide.low, wide.high) == (
        pytest.approx(narrow.low, abs=2e-3),
        pytest.approx(narrow.high, abs=2e-3),
    )


def test_the_wider_interval_says_little_where_the_scores_leave_no_variance() -> None:
    two, many = np.array([0.4999, 0.5001]), np.linspace(0, 1, 1001)
    assert auc_interval(two, many).high < 0.54  # two records that happen to score alike
    assert wider_auc_interval(two, many).high > 0.8
    flat, almost = np.zeros(40), np.append(np.zeros(39), 1.0)
    assert auc_interval(flat, almost).low > 0.46  # one record of eighty that differs
    assert wider_auc_interval(flat, almost).low < 0.4
