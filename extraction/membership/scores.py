"""Membership scores of a text, from what models say of its tokens. Higher means member in every one.

Sources: loss (Yeom et al. 2018), zlib, reference and lower case (Carlini et al. 2021), Min-K% (Shi et al. 2024),
Min-K%++ (Zhang et al. 2025).
"""

import math
import zlib

import numpy as np
from numpy.typing import NDArray

from extraction.scoring import TokenScores

Floats = NDArray[np.floating]

NAMES = ("loss", "zlib", "reference", "lowercase", "min_k", "min_k_plus_plus")


def membership_scores(
    text: str,
    scored: TokenScores,
    reference: TokenScores | None,
    lowercase: TokenScores,
    k: float,
) -> dict[str, float]:
    """All scores of one text; NaN where there is none.

    Args:
        text: the record.
        scored: its tokens under the model.
        reference: the same under a reference model, with its own tokens.
        lowercase: the lower-cased text under the model.
        k: share of the tokens that Min-K% looks at, above 0, at most 1.
    """
    if not scored.log_probs.size:
        return dict.fromkeys(NAMES, math.nan)
    loss = -float(scored.log_probs.mean(dtype=np.float64))
    return {
        "loss": -loss,
        "zlib": -loss / len(zlib.compress(text.encode())),
        "reference": math.nan if reference is None else _loss(reference) - loss,
        "lowercase": _loss(lowercase) / loss if loss else math.nan,
        "min_k": lowest_mean(scored.log_probs, k),
        "min_k_plus_plus": lowest_mean(standardised(scored), k),
    }


def lowest_mean(values: Floats, k: float) -> float:
    """The mean of the lowest share `k` of some values, rounded down, at least one."""
    count = max(1, math.floor(k * values.size))
    return float(np.partition(values, count - 1)[:count].mean(dtype=np.float64))


def standardised(scored: TokenScores) -> Floats:
    """Each token's log-probability in standard deviations from what was expected there; 0 where all were alike."""
    spread = scored.deviations.astype(np.float64)
    distance = scored.log_probs.astype(np.float64) - scored.means
    # Where every token was as likely as any other, distance and spread are rounding errors of 0 / 0.
    return np.where(spread > 1e-6, distance / np.maximum(spread, 1e-6), 0.0)


def _loss(scored: TokenScores) -> float:
    return -float(scored.log_probs.mean(dtype=np.float64)) if scored.log_probs.size else math.nan
