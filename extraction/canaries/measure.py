"""Measures the exposure of a format's canaries under a model: by enumeration, by search, or by extrapolation."""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from extraction.canaries.exposure import Exposure, Fit, exact, extrapolated, ranked
from extraction.canaries.formats import Format
from extraction.canaries.key import Canary
from extraction.canaries.model import CanaryModel
from extraction.canaries.search import SearchResult, search, shared_tokens

Floats = NDArray[np.float64]
OnScored = Callable[[int], None]
Method = Literal["enumeration", "search", "extrapolation"]

MOST_ENUMERATED = 10_000_000
SAMPLE = 5000
BLOCK = 1 << 16


@dataclass(frozen=True)
class Limits:
    """How much work goes into one format.

    Attributes:
        enumerated: most fillings that are all scored; a larger format is searched and sampled.
        evaluations: most prefixes that a search asks the model about.
        seed: of the sample and of the intervals.
    """

    enumerated: int = MOST_ENUMERATED
    evaluations: int = 20_000
    seed: int = 0


@dataclass(frozen=True)
class Measured:
    """One canary's exposure and how it was found.

    Attributes:
        exposure: of the canary.
        method: how its rank was found.
        evaluations: prefixes that a search asked the model about before the canary came out; None: it did not.
    """

    exposure: Exposure
    method: Method
    evaluations: int | None = None

    @property
    def extracted(self) -> bool:
        """Whether a search that knows the format alone gives this canary before every alternative."""
        return self.exposure.rank == 1 and self.evaluations is not None


@dataclass(frozen=True)
class FormatMeasured:
    """All canaries of one format.

    Attributes:
        canaries: in the order of the key.
        space: |R|, the alternatives and one canary.
        fit: of the distribution that exposures were extrapolated from; None where none was.
        sampled: alternatives that were scored for it.
        evaluations: prefixes that the search asked the model about; 0 where none was made.
    """

    canaries: list[Measured]
    space: int
    fit: Fit | None
    sampled: int
    evaluations: int


def measure(
    model: CanaryModel,
    form: Format,
    canaries: Sequence[Canary],
    limits: Limits,
    on_scored: OnScored = lambda _: None,
) -> FormatMeasured:
    """Measure the canaries of one format.

    Args:
        model: the model under test.
        form: the format.
        canaries: of it, at least one.
        limits: how much work to spend.
        on_scored: called with the number of fillings whenever some of an enumeration are scored.

    Raises:
        ValueError: a score is no finite number, or the alternatives' scores do not differ.
        InputError: model and tokenizer do not fit each other.
    """
    if form.size <= limits.enumerated:
        return _by_enumeration(model, form, canaries, limits, on_scored)
    return _by_search(model, form, canaries, limits)


def _by_enumeration(
    model: CanaryModel, form: Format, canaries: Sequence[Canary], limits: Limits, on_scored: OnScored
) -> FormatMeasured:
    scores = score_all(model, form, on_scored)
    own = [canary.filling for canary in canaries]
    found = exact([canary.id for canary in canaries], scores[own], np.delete(scores, own))
    first = [form.text(c.filling) for c, one in zip(canaries, found, strict=True) if one.rank == 1]
    seen = _search(model, form, first, limits.evaluations) if first else SearchResult([], 0.0, 0)
    when = {one.text: one.evaluations for one in seen.found}
    measured = [
        Measured(one, "enumeration", when.get(form.text(canary.filling)))
        for canary, one in zip(canaries, found, strict=True)
    ]
    return FormatMeasured(measured, form.size - len(own) + 1, None, 0, seen.evaluations)


def score_all(model: CanaryModel, form: Format, on_scored: OnScored = lambda _: None) -> Floats:
    """Score every filling of a format.

    Args:
        model: the model under test.
        form: the format.
        on_scored: called with the number of fillings whenever some are scored.

    Returns:
        float64[size], log-perplexities in bits, in the order of the fillings' numbers.
    """
    texts = form.texts()
    blocks = []
    while block := list(islice(texts, BLOCK)):
        blocks.append(model.log_perplexities(model.encode(block)))
        on_scored(len(block))
    return np.concatenate(blocks)


def _by_search(
    model: CanaryModel, form: Format, canaries: Sequence[Canary], limits: Limits
) -> FormatMeasured:
    """Ranks from a search as far as it comes; beyond, from the distribution of a sample."""
    texts = [form.text(canary.filling) for canary in canaries]
    space = form.size - len(canaries) + 1
    seen = _search(model, form, texts, limits.evaluations)
    came_out = {one.text: one for one in seen.found}
    alternatives = np.array([one.log_perplexity for one in seen.found if one.text not in set(texts)])
    measured: dict[str, Measured] = {}
    for canary, text in zip(canaries, texts, strict=True):
        if one := came_out.get(text):
            (known,) = ranked([canary.id], np.array([one.log_perplexity]), alternatives, space)
            measured[canary.id] = Measured(known, "search", one.evaluations)
    rest = [canary for canary in canaries if canary.id not in measured]
    fit, sampled = None, 0
    if rest:
        most = log2(space) - log2(alternatives.size + 1)
        found, fit, sampled = _extrapolated(model, form, rest, {c.filling for c in canaries}, limits.seed)
        measured |= {one.id: Measured(_at_most(one, most), "extrapolation") for one in found}
    return FormatMeasured([measured[c.id] for c in canaries], space, fit, sampled, seen.evaluations)


def _search(model: CanaryModel, form: Format, wanted: Sequence[str], evaluations: int) -> SearchResult:
    return search(model, form, shared_tokens(model, form), wanted, evaluations)


def _extrapolated(
    model: CanaryModel, form: Format, canaries: Sequence[Canary], planted: Collection[int], seed: int
) -> tuple[list[Exposure], Fit, int]:
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    drawn: set[int] = set()
    while len(drawn) < min(SAMPLE, form.size // 2):
        drawn |= {rng.randrange(form.size)} - set(planted)
    own = [canary.filling for canary in canaries]
    scores = model.log_perplexities(model.encode([form.text(filling) for filling in [*own, *sorted(drawn)]]))
    found, fit = extrapolated([c.id for c in canaries], scores[: len(own)], scores[len(own) :], seed)
    return found, fit, len(drawn)


def _at_most(one: Exposure, most: float) -> Exposure:
    """No more bits than the search leaves: at least the alternatives that it found come before the canary."""
    return replace(one, exposure=min(one.exposure, most), low=min(one.low, most), high=min(one.high, most))
