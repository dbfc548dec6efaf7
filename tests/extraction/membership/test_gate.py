import numpy as np
import pytest

from extraction.membership.gate import BETWEEN, UNDERPOWERED, decide
from extraction.membership.usable import CONSTANT_SCORES, EMPTY_COHORT, NAN_SCORES


def scores(size: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 1, size), rng.normal(0, 1, size)


def test_a_score_without_signal_passes_once_the_cohorts_are_large() -> None:
    assert decide({"loss": scores(4000)}).verdict == "pass"
    small = decide({"loss": scores(50, seed=3)})
    assert small.verdict == "hold"
    assert small.attacks[0].verdict == UNDERPOWERED


def test_signal_fails_whichever_way_it_points() -> None:
    assert decide({"loss": scores(400, 0.6)}).verdict == "fail"
    members, others = scores(400, 0.6)
    assert decide({"loss": (-members, -others)}).verdict == "fail"
    assert decide({"weak": scores(4000), "strong": scores(400, 0.6)}).verdict == "fail"


def test_an_estimate_above_the_margin_fails_where_chance_does_not_explain_it() -> None:
    shift = 0.213  # a true AUC of 0.56
    found = decide({"loss": scores(1200, shift, seed=5)}).attacks[0]
    assert found.attack.auc is not None
    assert found.attack.auc.low < 0.55 < found.attack.auc.estimate
    assert found.verdict == "fail"
    # Over eight declared attacks the same cohorts are too small for that.
    many = decide({f"attack {n}": scores(250, shift, seed=n) for n in range(8)})
    assert many.attacks[0].chance == pytest.approx(min(1, 8 * 2 * 0.02652), abs=1e-3)


def test_a_lower_margin_holds_what_the_default_passes() -> None:
    assert decide({"loss": scores(1500, seed=8)}).verdict == "pass"
    held = decide({"loss": scores(1500, seed=8)}, margin=0.51)
    assert held.verdict in ("hold", "fail")
    for margin in (0.56, 0.4, float("nan")):
        with pytest.raises(ValueError, match="margin"):
            decide({"loss": scores(1500)}, margin)


@pytest.mark.parametrize(
    ("members", "others", "hold"),
    [
        ([], [1.0], EMPTY_COHORT),
        ([1.0], [], EMPTY_COHORT),
        ([1.0, float("nan")], [0.0, 1.0], NAN_SCORES),
        ([1.0] * 5000, [1.0] * 5000, CONSTANT_SCORES),
    ],
)
def test_degenerate_scores_never_pass(members: list[float], others: list[float], hold: str) -> None:
    found = decide({"good": scores(4000), "bad": (np.array(members), np.array(others))})
    assert found.verdict == "hold"
    assert found.attacks[1].verdict == hold


def test_no_attack_is_no_pass() -> None:
    assert decide({}).verdict == "hold"


def test_a_perfect_attack_fails_and_an_unclear_one_is_between() -> None:
    assert decide({"loss": (np.ones(30), np.zeros(30))}).verdict == "fail"
    assert decide({"loss": scores(1200, 0.14, seed=11)}).attacks[0].verdict == BETWEEN


def test_models_that_saw_neither_cohort_fail_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(12)
    failed = 0
    for _ in range(1000):
        draws = rng.normal(0, 1, (2, 400))
        related = 0.5 * draws + rng.normal(0, 1, (2, 400))  # attacks on one model are not independent
        failed += decide({"loss": tuple(draws), "ratio": tuple(related)}).verdict == "fail"
    assert failed <= 50


@pytest.mark.parametrize(
    ("members", "others"),
    [
        ([0.4999, 0.5001], np.linspace(0, 1, 1001)),
        ([0.0] * 40, [0.0] * 39 + [1.0]),
        ([0.0] * 200, [0.0] * 199 + [1.0]),
    ],
)
def test_few_records_and_all_but_constant_scores_never_pass(
    members: list[float], others: list[float]
) -> None:
    assert decide({"label": (np.array(members), np.array(others))}).verdict == "hold"


@pytest.mark.parametrize(
    ("members", "others", "share"), [(2, 500, 0.0), (3, 3, 0.0), (6, 6, 0.0), (12, 40, 0.3), (300, 300, 0.9)]
)
def test_cohorts_of_any_size_and_scores_with_ties_keep_the_level(
    members: int, others: int, share: float
) -> None:
    """No model saw anything, and its scores are still called a leak in at most 5 % of tests."""
    rng = np.random.default_rng(members)
    draws = rng.normal(0, 1, (1000, members + others))
    draws[rng.random(draws.shape) < share] = 0.0
    verdicts = [decide({"loss": (row[:members], row[members:])}).verdict for row in draws]
    assert verdicts.count("fail") <= 50
    assert "pass" not in verdicts or members > 100  # fewer cannot show that there is no leak
