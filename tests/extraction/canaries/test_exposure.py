import math

import numpy as np
import pytest

from extraction.canaries.exposure import exact, extrapolated
from extraction.canaries.skew_normal import SkewNormal, fit, log_cdf

SIXTEEN = np.arange(1.0, 17.0)


@pytest.mark.parametrize(
    ("score", "exposure", "ties"), [(0.0, 4.087, 0), (3.5, 2.087, 0), (4.0, 1.918, 1), (99.0, 0.0, 0)]
)
def test_worked_exposures(score: float, exposure: float, ties: int) -> None:
    (found,) = exact(["c"], np.array([score]), SIXTEEN)
    assert found.exposure == pytest.approx(exposure, abs=5e-4)
    assert found.ties == ties


def test_other_canaries_are_left_out_of_a_rank() -> None:
    alone = exact(["a"], np.array([3.5]), SIXTEEN)[0]
    among = exact(["a", "b"], np.array([3.5, 0.5]), SIXTEEN)[0]
    assert alone == among


@pytest.mark.parametrize(
    ("value", "shape", "bits"),
    [(0, 4, 3.6808), (-1, 4, 20.2215), (-40, 0, 1160.80), (-10, 4, 1240.68), (0.5, 4, 1.3795)],
)
def test_worked_tails(value: float, shape: float, bits: float) -> None:
    assert -log_cdf(value, SkewNormal(shape)) / math.log(2) == pytest.approx(bits, rel=1e-5)


def test_a_fit_and_its_scale() -> None:
    from scipy.stats import skewnorm

    sample = skewnorm.rvs(3, 50, 4, size=5000, random_state=1)
    fitted = fit(sample)
    assert fitted.place == pytest.approx(50, abs=0.5)
    assert fitted.scale == pytest.approx(4, abs=0.4)
    assert log_cdf(49.0, SkewNormal(3, 50, 4)) == pytest.approx(skewnorm.logcdf(49.0, 3, 50, 4))


def test_an_extrapolated_exposure_agrees_with_the_exact_one() -> None:
    rng = np.random.default_rng(2)
    space = rng.normal(100, 10, 200_000)
    canary = np.array([float(np.sort(space)[200])])
    (known,) = exact(["c"], canary, space)
    (guessed,), described = extrapolated(["c"], canary, rng.choice(space, 5000, replace=False))
    assert guessed.low <= known.exposure <= guessed.high
    assert guessed.high - guessed.low < 2
    assert described.statistic < 0.02
    assert guessed.rank is None


def test_zero_insertions_average_the_mean_of_a_uniform_rank() -> None:
    rng = np.random.default_rng(3)
    found = [exact(["c"], rng.random(1), rng.random(999))[0].exposure for _ in range(2000)]
    assert np.mean(found) == pytest.approx(1.44, abs=0.1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_an_error(bad: float) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        exact(["c"], np.array([bad]), SIXTEEN)
    with pytest.raises(ValueError, match="no finite number"):
        exact(["c"], np.array([1.0]), np.array([bad, 2.0]))
    with pytest.raises(ValueError, match="at least 100"):
        extrapolated(["c"], np.array([1.0]), SIXTEEN)


def test_a_fit_to_some_of_many_does_not_depend_on_their_order() -> None:
    sample = np.random.default_rng(5).normal(100, 10, 25_000)
    _, ascending = extrapolated(["c"], np.array([60.0]), np.sort(sample))
    assert ascending.statistic < 0.02
