"""(n, p)-discoverable extraction: how many draws bring out a text, from the probability that one draw does.

Source: Hayes et al. (2025), "Measuring memorization in language models via probabilistic extraction". A text whose
probability in one draw is p_z stands among n draws with probability 1 - (1 - p_z)^n; it is (n, p)-discoverable where
that is at least p, which is n >= ln(1 - p) / ln(1 - p_z). Worked: p_z = 0.01 needs 69 draws for p = 0.5 and 230 for
p = 0.9; 100 draws give 0.634. Probabilities come as natural logarithms: those of 50 tokens are small.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chance_within(log_probability: Floats, draws: int) -> Floats:
    """The probability that a text stands among some draws.

    Args:
        log_probability: float64[n], natural logarithm of p_z, at most 0; NaN stays NaN.
        draws: at least 1.
    """
    with np.errstate(divide="ignore"):  # a text that every draw gives
        missed = draws * np.log1p(-np.exp(np.minimum(log_probability, 0.0)))
    return np.asarray(-np.expm1(missed))


def draws_needed(log_probability: float, certainty: float) -> int | None:
    """The fewest draws among which a text stands with probability `certainty`; None where no number is enough.

    Args:
        log_probability: natural logarithm of p_z.
        certainty: p, above 0 and below 1.

    Raises:
        ValueError: the probability is no number.
    """
    if math.isnan(log_probability):
        raise ValueError("a probability is no number")
    probability = math.exp(min(log_probability, 0.0))
    if probability >= 1.0:
        return 1
    missed = math.log1p(-probability)
    return max(1, math.ceil(math.log1p(-certainty) / missed)) if missed else None


def least_log_probability(draws: int, certainty: float) -> float:
    """Natural logarithm of the smallest p_z that is (draws, certainty)-discoverable."""
    return math.log(-math.expm1(math.log1p(-certainty) / draws))


def discoverable(log_probability: Floats, draws: int, certainty: float) -> NDArray[np.bool_]:
    """Which texts are (draws, certainty)-discoverable; bool[n], false for NaN, which the caller counts apart."""
    return np.asarray(log_probability >= least_log_probability(draws, certainty))
