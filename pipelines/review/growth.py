"""Where in the growth curve a passage appeared, as a small figure: points for an SVG of 300 by 80."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 300, 80


@dataclass(frozen=True)
class GrowthLine:
    """The curve of distinct passages, and where the passage's first budget stands on it.

    Attributes:
        points: of a polyline.
        x: of the first budget; None for a passage that no budget counts.
        tokens: generated tokens at the end of the curve.
        passages: distinct passages there.
    """

    points: str
    x: float | None
    tokens: int
    passages: int


def growth_line(observed: Sequence[Mapping[str, Any]], first_budget: int | None) -> GrowthLine | None:
    """Lay the curve out; None where the run has none."""
    if not observed or not observed[-1]["generated_tokens"]:
        return None
    tokens, passages = observed[-1]["generated_tokens"], observed[-1]["distinct_passages"]
    places = [(p["generated_tokens"] / tokens, p["distinct_passages"] / max(passages, 1)) for p in observed]
    points = " ".join(f"{x * WIDTH:.1f},{HEIGHT * (1 - y):.1f}" for x, y in [(0.0, 0.0), *places])
    x = None if first_budget is None else min(first_budget / tokens, 1.0) * WIDTH
    return GrowthLine(points, x, tokens, passages)
