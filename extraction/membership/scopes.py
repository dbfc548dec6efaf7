"""What a caller can really observe of a model, and what each score needs to observe: nothing richer may be used."""

from collections.abc import Mapping
from typing import Literal, get_args

Scope = Literal["label_only", "top_k_probabilities", "log_probabilities", "full_logits", "weights"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""From the least that can be observed to the most."""

NEEDS: Mapping[str, Scope] = {
    "label": "label_only",
    "confidence": "top_k_probabilities",
    "loss": "log_probabilities",
    "zlib": "log_probabilities",
    "reference": "log_probabilities",
    "lowercase": "log_probabilities",
    "min_k": "log_probabilities",
    "min_k_plus_plus": "full_logits",
    "neighbourhood": "log_probabilities",
    "conditional": "log_probabilities",
    "lira": "log_probabilities",
    "rmia": "log_probabilities",
    "gmint": "weights",
}
"""The least scope that each score can be computed in. Min-K%++ looks at the whole vocabulary at each place."""


def within(score: str, scope: Scope) -> bool:
    """Whether a score can be computed from what a scope shows; of scores made elsewhere nothing is known."""
    return SCOPES.index(NEEDS.get(score, SCOPES[0])) <= SCOPES.index(scope)
