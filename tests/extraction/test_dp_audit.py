import numpy as np
import pytest

from extraction.dp_audit import (
    CONTRADICTED,
    NOT_CONTRADICTED,
    many_run_bound,
    many_run_counts,
    one_run_best,
    one_run_bound,
    one_run_guesses,
    one_run_p_value,
)


@pytest.mark.parametrize(
    ("counts", "alpha", "epsilon"),
    [
        ((500, 500, 0, 500), 0.01, 4.5419),
        ((120, 1000, 10, 1000), 0.05, 1.7025),
        ((10, 1000, 1, 1000), 0.05, 0.0),
        ((0, 10, 10, 10), 0.05, 0.0),
    ],
)
def test_worked_bounds_of_many_runs(counts: tuple[int, int, int, int], alpha: float, epsilon: float) -> None:
    assert many_run_bound(*counts, alpha, 0.0).epsilon == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize(
    ("counts", "delta", "epsilon"),
    [
        ((1000, 1000, 600), 0.0, 0.2975),
        ((1000, 100, 90), 0.0, 1.6308),
        ((1000, 100, 90), 1e-5, 1.6261),
        ((1000, 600, 600), 1e-5, 5.2704),
        ((1000, 1000, 520), 0.0, 0.0),
    ],
)
def test_worked_bounds_of_one_run(counts: tuple[int, int, int], delta: float, epsilon: float) -> None:
    assert one_run_bound(*counts, delta, 0.05).epsilon == pytest.approx(epsilon, abs=5e-5)


def test_p_value_agrees_with_a_direct_sum() -> None:
    from math import comb, exp

    canaries, guesses, correct, epsilon, delta = 50, 12, 9, 0.4, 1e-3
    q = 1 / (1 + exp(-epsilon))
    mass = [comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    alpha = max(sum(mass[correct - i : correct]) / i for i in range(1, correct + 1))
    expected = sum(mass[correct:]) + 2 * canaries * delta * alpha
    assert one_run_p_value(canaries, guesses, correct, epsilon, delta) == pytest.approx(expected)


def test_a_claim_is_contradicted_or_not() -> None:
    bound = one_run_bound(1000, 600, 600, 1e-5, 0.05)
    assert bound.against(1.0) == CONTRADICTED
    assert bound.against(8.0) == NOT_CONTRADICTED


def test_guesses_are_the_extremes() -> None:
    included = np.array([True, True, False, False, True])
    scores = np.array([9.0, 1.0, 0.0, 5.0, 4.0])
    assert one_run_guesses(included, scores, 2) == 2
    assert one_run_guesses(included, scores, 4) == 2
    assert one_run_guesses(included, scores, 1) == 1


# A simulation of 1,000 audits at level 0.05: what is added to 50 is two standard errors of the simulation.
AUDITS, MOST = 1000, 50 + 14


def test_null_scores_contradict_one_run_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(3)
    contradicted = 0
    for _ in range(AUDITS):
        included, scores = rng.random(200) < 0.5, rng.normal(size=200)
        right = one_run_guesses(included, scores, 100)
        contradicted += one_run_bound(200, 100, right, 0.0, 0.05).against(0.0) == CONTRADICTED
    assert contradicted <= MOST


def test_null_scores_contradict_no_more_often_when_the_best_of_several_guesses_is_taken() -> None:
    rng = np.random.default_rng(4)
    contradicted = 0
    for _ in range(AUDITS):
        included, scores = rng.random(200) < 0.5, rng.normal(size=200)
        guessed = [(number, one_run_guesses(included, scores, number)) for number in (10, 50, 100, 200)]
        contradicted += one_run_best(200, guessed, 0.0, 0.05)[0].against(0.0) == CONTRADICTED
    assert contradicted <= MOST


def test_null_scores_contradict_many_runs_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(5)
    contradicted = 0
    for audit in range(AUDITS):
        counts = many_run_counts(rng.normal(size=40), rng.normal(size=40), 0.05, 0.0, seed=audit)
        contradicted += many_run_bound(*counts, 0.05, 0.0).against(0.0) == CONTRADICTED
    assert contradicted <= MOST


def test_a_true_claim_is_contradicted_no_more_often_than_the_level() -> None:
    """Randomised response with epsilon 1 leaks all that its claim allows."""
    rng = np.random.default_rng(6)
    honest = 1 / (1 + np.exp(-1.0))
    contradicted = 0
    for _ in range(AUDITS):
        included = rng.random(200) < 0.5
        said = np.where(rng.random(200) < honest, included, ~included)
        right = one_run_guesses(included, said + rng.random(200) / 2, 200)
        contradicted += one_run_bound(200, 200, right, 0.0, 0.05).against(1.0) == CONTRADICTED
    assert 0 < contradicted <= MOST


def test_many_runs_that_differ_contradict_a_small_claim() -> None:
    rng = np.random.default_rng(4)
    counts = many_run_counts(rng.normal(3, 1, 400), rng.normal(0, 1, 400), 0.05, 1e-5, seed=0)
    assert counts[1::2] == (200, 200)
    assert 1.0 < many_run_bound(*counts, 0.05, 1e-5).epsilon < 6.0


def test_the_best_of_several_numbers_of_guesses_shares_the_level() -> None:
    guessed = [(100, 90), (600, 400)]
    bound, best = one_run_best(1000, guessed, 0.0, 0.05)
    assert best == (100, 90)
    assert bound.epsilon == one_run_bound(1000, 100, 90, 0.0, 0.025).epsilon < 1.6308
    assert bound.confidence == 0.95


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [((11, 10, 0, 10), "true positives: 11 of 10"), ((1, 1, 0, 0), "false positives: 0 of 0")],
)
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        many_run_bound(*counts, 0.05, 0.0)
    with pytest.raises(ValueError, match="delta"):
        one_run_bound(10, 10, 5, 1.0, 0.05)
    with pytest.raises(ValueError, match="level"):
        one_run_bound(10, 10, 5, 0.0, 0.0)


@pytest.mark.parametrize("members_last", [True, False])
def test_ties_in_the_order_of_a_file_give_nothing_away(members_last: bool) -> None:
    """A file may list those that were left out first; an attack that cannot tell them apart must not win by that."""
    included = np.arange(400) >= 200 if members_last else np.arange(400) < 200
    scores = np.zeros(400)
    scores[7] = 1.0
    right = [one_run_guesses(included, scores, 200, seed) for seed in range(200)]
    assert 85 < np.mean(right) < 115 and min(right) > 60 and max(right) < 140
    assert one_run_guesses(included, scores, 200) == right[0]


def test_ties_contradict_a_true_claim_no_more_often_than_the_level() -> None:
    """Scores of two values only, and a file that is sorted by membership."""
    rng = np.random.default_rng(7)
    contradicted = 0
    for audit in range(AUDITS):
        included, scores = np.sort(rng.random(200) < 0.5), rng.integers(0, 2, 200).astype(float)
        right = one_run_guesses(included, scores, 100, seed=audit)
        contradicted += one_run_bound(200, 100, right, 0.0, 0.05).against(0.0) == CONTRADICTED
    assert contradicted <= MOST


@pytest.mark.parametrize("claim", [float("nan"), float("inf"), -1.0])
def test_a_claim_that_is_none_is_refused(claim: float) -> None:
    with pytest.raises(ValueError, match="a claimed epsilon is a number of at least 0"):
        many_run_bound(10, 10, 0, 10, 0.05, 0.0).against(claim)
