"""Scores of a generation: how much more probable the model finds it than it should. Higher is more suspicious.

Log-perplexity is the mean of -log p over the generated tokens. Formulas of Carlini et al. (2021), "Extracting Training
Data from Large Language Models", section 5.1; the windowed forms take the same ratios over 50 tokens, at their highest.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WINDOW = 50
# A text that the model is sure of would divide by zero; no model tells smaller log-perplexities apart.
LEAST = 1e-6

SCORES = (
    "perplexity",
    "reference",
    "lowercase",
    "zlib",
    "window_perplexity",
    "window_reference",
    "window_lowercase",
    "window_zlib",
)


@dataclass(frozen=True)
class Scored:
    """A text's tokens as one model sees them.

    Attributes:
        losses: float64[n], -log p of each token, in nats.
        pieces: bytes of each token; a special token has none.
    """

    losses: Floats
    pieces: Sequence[bytes]


@dataclass(frozen=True)
class Scores:
    """All scores of a generation, higher is more suspicious; None where there is none, NaN where it is not finite.

    Attributes:
        perplexity: minus the log-perplexity.
        reference: the reference model's log-perplexity over the model's.
        lowercase: log-perplexity of the lower-cased text over that of the text.
        zlib: bytes of the compressed UTF-8 text over the log-perplexity.
        window_perplexity: minus the lowest log-perplexity of 50 tokens in a row.
        window_reference: the highest `reference` of 50 tokens in a row.
        window_lowercase: the highest `lowercase` of them.
        window_zlib: the highest `zlib` of them.
    """

    perplexity: float | None = None
    reference: float | None = None
    lowercase: float | None = None
    zlib: float | None = None
    window_perplexity: float | None = None
    window_reference: float | None = None
    window_lowercase: float | None = None
    window_zlib: float | None = None


def log_perplexity(losses: Floats) -> float:
    """The mean loss of a token, in nats."""
    return float(np.mean(losses))


def zlib_bytes(text: bytes) -> int:
    """Bytes of a text compressed by zlib at its default level."""
    return len(zlib.compress(text))


def scores_of(model: Scored, reference: Scored | None, lowercase: Scored | None) -> Scores:
    """Compute all scores of one generation.

    Args:
        model: the generated tokens as the model sees them.
        reference: the same text as the reference model sees it, with its own tokens.
        lowercase: the lower-cased text as the model sees it.

    Returns:
        Scores; all None where no text was generated, some where a model or 50 tokens are missing. A score that is not
        finite, because a model gave a token no probability or no number, is NaN: it says nothing.
    """
    if not any(model.pieces):  # an end token alone, which a model can be sure of, is no text either
        return Scores()
    mean = max(log_perplexity(model.losses), LEAST)
    found = {
        "perplexity": -log_perplexity(model.losses),
        "reference": _ratio(reference, mean),
        "lowercase": _ratio(lowercase, mean),
        "zlib": zlib_bytes(b"".join(model.pieces)) / mean,
    }
    with np.errstate(invalid="ignore"):  # infinities and NaN of a model: below they become NaN
        found |= _windowed(model, reference, lowercase)
    return Scores(**{name: _finite(value) for name, value in found.items()})


def _finite(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else math.nan


def _ratio(other: Scored | None, mean: float) -> float | None:
    return None if other is None or not other.losses.size else log_perplexity(other.losses) / mean


def _windowed(model: Scored, reference: Scored | None, lowercase: Scored | None) -> dict[str, float]:
    if model.losses.size < WINDOW:
        return {}
    means = np.maximum(_window_means(model.losses), LEAST)
    ends = np.cumsum([0, *map(len, model.pieces)])
    starts, stops = ends[:-WINDOW], ends[WINDOW:]
    found = {
        "window_perplexity": -float(_window_means(model.losses).min()),
        "window_zlib": _highest_zlib(b"".join(model.pieces), starts, stops, means),
    }
    for name, other in (("window_reference", reference), ("window_lowercase", lowercase)):
        if other is not None and other.losses.size:
            found[name] = float((_means_between(other, starts, stops) / means).max())
    return found


def _highest_zlib(text: bytes, starts: Ints, stops: Ints, means: Floats) -> float:
    """The highest ratio of compressed bytes to log-perplexity. Windows that cannot have it are not compressed."""
    if not np.isfinite(means).all():
        return math.nan
    limits = ((stops - starts) * 1.001 + 13) / means  # zlib's compressBound allows no more bytes
    highest = 0.0
    for window in np.argsort(-limits):
        if limits[window] <= highest:
            break
        size = zlib_bytes(text[starts[window] : stops[window]])
        highest = max(highest, size / float(means[window]))
    return highest


def _window_means(losses: Floats) -> Floats:
    sums = np.cumsum(np.append(0.0, losses))
    means: Floats = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    return means


def _means_between(other: Scored, starts: Ints, stops: Ints) -> Floats:
    """Mean loss of other tokens over stretches of bytes; a token that is cut counts by its share of bytes."""
    ends = np.cumsum([0, *map(len, other.pieces)]).astype(np.float64)
    losses, tokens = np.cumsum(np.append(0.0, other.losses)), np.arange(ends.size, dtype=np.float64)
    total = np.interp(stops, ends, losses) - np.interp(starts, ends, losses)
    count = np.interp(stops, ends, tokens) - np.interp(starts, ends, tokens)
    means: Floats = total / np.maximum(count, LEAST)
    return means
