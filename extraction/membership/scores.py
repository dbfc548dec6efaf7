"""Membership scores of a text, from what models say of its tokens. Higher means member in every one.

Sources: loss (Yeom et al. 2018), zlib, reference and lower case (Carlini et al. 2021), Min-K% (Shi et al. 2024),
Min-K%++ (Zhang et al. 2025), neighbourhood (Mattern et al. 2023), conditional (ReCaLL, Xie et al. 2024); LiRA and RMIA
stand in `shadows`.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.membership.shadows import Population
from extraction.scoring import TokenScores

Floats = NDArray[np.floating]

NAMES = (
    "loss",
    "zlib",
    "reference",
    "lowercase",
    "min_k",
    "min_k_plus_plus",
    "neighbourhood",
    "conditional",
    "lira",
    "rmia",
)
LEAST, MOST = 1e-300, 1 - 1e-12  # of a probability whose logit is taken


@dataclass(frozen=True)
class Readings:
    """What models say of one text; what was not asked for is None or empty.

    Attributes:
        log_probs: of its tokens under the model.
        spread: the same with what was expected at each place, for Min-K%++.
        lowercase: of the lower-cased text's tokens under the model.
        reference: under a reference model, with its own tokens.
        neighbours: of perturbed copies under the model.
        conditional: of the text's tokens under the model, after texts that it was not trained on.
        shadows: under models that did not see the text.
    """

    log_probs: Floats
    spread: TokenScores | None = None
    lowercase: Floats | None = None
    reference: Floats | None = None
    neighbours: Sequence[Floats] = ()
    conditional: Floats | None = None
    shadows: Sequence[Floats] = ()


def membership_scores(
    text: str, read: Readings, k: float, population: Population | None = None
) -> dict[str, float]:
    """All scores that the readings allow; NaN where the text has no token to score.

    Args:
        text: the record.
        read: what models say of it.
        k: share of the tokens that Min-K% looks at, above 0, at most 1.
        population: what is usual for texts that are no members; for the shadow models' scores.
    """
    loss = mean_loss(read.log_probs)
    scores = {
        "loss": -loss,
        "zlib": -loss / len(zlib.compress(text.encode())),
        "min_k": lowest_mean(read.log_probs, k),
    }
    if read.spread is not None:
        scores["min_k_plus_plus"] = lowest_mean(standardised(read.spread), k)
    if read.lowercase is not None:
        scores["lowercase"] = mean_loss(read.lowercase) / loss if loss else math.nan
    if read.reference is not None:
        scores["reference"] = mean_loss(read.reference) - loss
    if read.neighbours:
        scores["neighbourhood"] = sum(map(mean_loss, read.neighbours)) / len(read.neighbours) - loss
    if read.conditional is not None:
        scores["conditional"] = conditional(read.log_probs, read.conditional)
    if read.shadows and population is not None:
        own, outside = shadow_probabilities([read])
        scores["lira"] = float(population.lira(own, outside)[0])
        scores["rmia"] = float(population.rmia(own, outside)[0])
    return scores


def mean_loss(log_probs: Floats) -> float:
    """The mean loss of a token, in nats; NaN where there is none."""
    return -float(log_probs.mean(dtype=np.float64)) if log_probs.size else math.nan


def lowest_mean(values: Floats, k: float) -> float:
    """The mean of the lowest share `k` of some values, rounded down, at least one; NaN where there is none."""
    if not values.size:
        return math.nan
    count = max(1, math.floor(k * values.size))
    return float(np.partition(values, count - 1)[:count].mean(dtype=np.float64))


def standardised(scored: TokenScores) -> Floats:
    """Each token's log-probability in standard deviations from what was expected there; 0 where all were alike."""
    spread = scored.deviations.astype(np.float64)
    distance = scored.log_probs.astype(np.float64) - scored.means
    # Where every token was as likely as any other, distance and spread are rounding errors of 0 / 0.
    return np.where(spread > 1e-6, distance / np.maximum(spread, 1e-6), 0.0)


def conditional(alone: Floats, after: Floats) -> float:
    """Log-likelihood after texts that are no members over that of the text alone: these spoil what was learnt by heart.

    Args:
        alone: log-probabilities of the text's tokens.
        after: the same after those texts; fewer where the model's length cut them, and then compared with as many.
    """
    own, loss = mean_loss(alone[: after.size]), mean_loss(after)
    return loss / own if own else math.nan


def shadow_probabilities(
    readings: Sequence[Readings],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The geometric mean of each text's token probabilities, under the model and under each shadow model.

    Args:
        readings: of n texts.

    Returns:
        float64[n] and float64[n, shadow models].
    """
    own = [_probability(read.log_probs) for read in readings]
    outside = [[_probability(shadow) for shadow in read.shadows] for read in readings]
    return np.array(own), np.array(outside)


def _probability(log_probs: Floats) -> float:
    probability = math.exp(-mean_loss(log_probs))
    return min(max(probability, LEAST), MOST) if log_probs.size else math.nan
