"""Says why scores prove nothing. What proves nothing holds: it neither passes nor fails."""

import numpy as np
from numpy.typing import NDArray

EMPTY_COHORT = "hold:empty-cohort"
NAN_SCORES = "hold:nan-scores"
OVERLAP = "hold:overlap"
UNMATCHED = "hold:unmatched-cohorts"
UNDERPOWERED = "hold:underpowered"
CONSTANT_SCORES = "hold:constant-scores"


def why_unusable(members: NDArray[np.float64], others: NDArray[np.float64]) -> str | None:
    """Why scores prove nothing, or None. Constant ones have no variance and must not pass."""
    if not members.size or not others.size:
        return EMPTY_COHORT
    both = np.concatenate([members, others])
    # Infinite ones are no numbers either: where a model calls a token impossible, something is broken.
    if not np.isfinite(both).all():
        return NAN_SCORES
    return CONSTANT_SCORES if (both == both[0]).all() else None
