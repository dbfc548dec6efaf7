"""Scores that compare a record with models that never saw it: shadow models, trained without the members.

Sources: offline LiRA (Carlini et al. 2022), offline RMIA (Zarifzadeh et al. 2024). A text's probability is the
geometric mean of its tokens', so that it does not vanish with the length.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OFFLINE = 0.3
"""RMIA's a: how far a shadow model's probability stands for that of all models, seen and unseen."""


def logit(probability: Floats) -> Floats:
    """log(p / (1 - p)): what LiRA finds to be near normal.

    Args:
        probability: float64[n], above 0 and below 1.
    """
    return np.log(probability) - np.log1p(-probability)


def rmia_ratio(probability: Floats, outside: Floats, a: float = OFFLINE) -> Floats:
    """How much likelier a text is than under all models: p / ((1 + a) / 2 p_out + (1 - a) / 2).

    Args:
        probability: float64[n], under the model.
        outside: float64[n], the mean under the shadow models.
        a: at least 0, at most 1.
    """
    return probability / ((1 + a) / 2 * outside + (1 - a) / 2)


@dataclass(frozen=True)
class Population:
    """Texts that neither the model nor a shadow model saw: what is usual for a text that is no member.

    Attributes:
        excess: by how much the model's logit exceeds the shadow models', on average.
        spread: standard deviation of that over the texts.
        ratios: float64[n], their RMIA ratios, ascending.
    """

    excess: float
    spread: float
    ratios: Floats

    @classmethod
    def of(cls, probability: Floats, shadows: Floats) -> "Population":
        """Measure texts.

        Args:
            probability: float64[n], under the model; n > 1.
            shadows: float64[n, shadow models], under each of these.
        """
        distance = _distance(probability, shadows)
        return cls(
            excess=float(distance.mean()),
            spread=float(distance.std(ddof=1)),
            ratios=np.sort(rmia_ratio(probability, shadows.mean(axis=1))),
        )

    def lira(self, probability: Floats, shadows: Floats) -> Floats:
        """How far each logit lies above those of models that never saw the text, in standard deviations.

        One spread serves all texts: a few shadow models give none for each.

        Args:
            probability: float64[n], under the model.
            shadows: float64[n, shadow models], under each of these.

        Returns:
            float64[n]; NaN where the population shows no spread.
        """
        return (_distance(probability, shadows) - self.excess) / (self.spread or np.nan)

    def rmia(self, probability: Floats, shadows: Floats, gamma: float = 1.0) -> Floats:
        """The share of the population whose ratio a text's own exceeds `gamma` times.

        Args:
            probability: float64[n], under the model.
            shadows: float64[n, shadow models], under each of these.
            gamma: at least 1.
        """
        ratios = rmia_ratio(probability, shadows.mean(axis=1)) / gamma
        exceeded: Floats = np.searchsorted(self.ratios, ratios, side="left") / self.ratios.size
        exceeded[np.isnan(ratios)] = np.nan  # NaN sorts above all, and is no member
        return exceeded


def _distance(probability: Floats, shadows: Floats) -> Floats:
    distance: Floats = logit(probability) - logit(shadows).mean(axis=1)
    return distance
