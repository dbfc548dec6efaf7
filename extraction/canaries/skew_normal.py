"""The lower tail of a skew-normal distribution, as far out as a memorised canary lies.

There the distribution function is far below the smallest float, so it is integrated in log space.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Beyond so many of its own scales the integrand has lost every digit of a float64.
REACH = 60.0


@dataclass(frozen=True)
class SkewNormal:
    """A skew-normal distribution: shape, place and scale of Azzalini's parametrisation."""

    shape: float
    place: float = 0.0
    scale: float = 1.0


def fit(sample: Floats) -> SkewNormal:
    """Fit by maximum likelihood.

    Args:
        sample: float64[n], finite, not all the same.
    """
    from scipy.stats import skewnorm

    return SkewNormal(*map(float, skewnorm.fit(sample)))


def log_cdf(value: float, fitted: SkewNormal) -> float:
    """The natural logarithm of the chance of a value as low as this."""
    from scipy.stats import skewnorm

    x = (value - fitted.place) / fitted.scale
    if x > _mode(fitted.shape):
        return float(np.log1p(-skewnorm.sf(x, fitted.shape)))
    return _log_tail(x, fitted.shape)


def _log_tail(x: float, shape: float) -> float:
    """Integrate the density from minus infinity to x, below its mode, over what it is at x."""
    from scipy.integrate import quad

    at_x = _log_density(x, shape)
    # Below its mode the density only falls; how fast it falls at x sets the scale of the tail.
    step = 1e-4 * max(1.0, abs(x))
    slope = max((at_x - _log_density(x - step, shape)) / step, 1.0)
    tail, _ = quad(
        lambda u: math.exp(_log_density(x - u / slope, shape) - at_x), 0.0, REACH, epsabs=0, epsrel=1e-10
    )
    return at_x + math.log(tail / slope)


def _log_density(x: float, shape: float) -> float:
    from scipy.special import log_ndtr

    return math.log(2) - 0.5 * x * x - 0.5 * math.log(2 * math.pi) + float(log_ndtr(shape * x))


def _mode(shape: float) -> float:
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(lambda x: -_log_density(x, shape), bounds=(-2.0, 2.0), method="bounded").x)
