"""The cheap screen: from the stretches of a sample of documents, how many the corpus holds that draws bring out.

A stretch is a prompt and what follows it; a document is cut into them from end to end. The sampling unit is the
document: stretches of one document are alike.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extraction.discoverable.draws import discoverable
from extraction.growth import Estimate
from extraction.shares import FEW_HITS, Stratum, share_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_DOCUMENTS = "few documents hold any: limits from the number of documents that do"

DECADES = (0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0, -16.0, -32.0)
"""Edges of the distribution, as decimal logarithms of the probability; one more class lies below the last."""


@dataclass(frozen=True)
class Screened:
    """What one model makes of the stretches of a sample of documents.

    Attributes:
        log_probability: float64[n], natural logarithm of the probability of each stretch's second part.
        document: int64[n], which document of the sample each stands in.
        bytes: int64[documents], bytes of each that were looked at; those without a stretch included.
    """

    log_probability: Floats
    document: Ints
    bytes: Ints


@dataclass(frozen=True)
class Extractable:
    """Stretches that are (n, p)-discoverable.

    Attributes:
        draws: n.
        certainty: p.
        stretches: of the sample.
        share: of the sample's stretches, with an interval over documents.
        in_corpus: expected number in the whole corpus, with an interval over documents.
    """

    draws: int
    certainty: float
    stretches: int
    share: Estimate
    in_corpus: Estimate


@dataclass(frozen=True)
class Decade:
    """Stretches whose probability is below `10 ** below`, and at least `10 ** least` (None: no least)."""

    below: float
    least: float | None
    stretches: int
    share: Estimate


def extractable(found: Screened, draws: int, certainty: float, corpus_bytes: int) -> Extractable:
    """Count the stretches that a number of draws brings out, and expect as many for each byte of the corpus.

    Args:
        found: no stretch without a number.
        draws: n.
        certainty: p.
        corpus_bytes: bytes of all documents, as far as each is looked at.
    """
    chosen = discoverable(found.log_probability, draws, certainty)
    a_byte = _estimate(found, chosen, found.bytes)
    return Extractable(
        draws, certainty, int(chosen.sum()), _share(found, chosen), _scaled(a_byte, corpus_bytes)
    )


def distribution(found: Screened) -> list[Decade]:
    """How the stretches' probabilities are distributed, most probable first; each stretch in one class."""
    edges = [*DECADES[1:], None]
    values = found.log_probability / np.log(10.0)
    classes = []
    for place, (below, least) in enumerate(zip(DECADES, edges, strict=True)):
        chosen = (values < below) | (place == 0)
        chosen &= values >= (-np.inf if least is None else least)
        classes.append(Decade(below, least, int(chosen.sum()), _share(found, chosen)))
    return classes


def _share(found: Screened, chosen: NDArray[np.bool_]) -> Estimate:
    return _estimate(found, chosen, _per_document(found, np.ones(chosen.size, np.bool_)))


def _estimate(found: Screened, chosen: NDArray[np.bool_], sizes: Ints) -> Estimate:
    """Chosen stretches for each unit of the documents' sizes, documents in the place of requests."""
    most = int(_per_document(found, np.ones(chosen.size, np.bool_)).max(initial=1))
    value = share_interval([Stratum(_per_document(found, chosen), sizes, min_tokens=1, max_tokens=most)])
    return replace(value, flag=FEW_DOCUMENTS) if value.flag == FEW_HITS else value


def _per_document(found: Screened, chosen: NDArray[np.bool_]) -> Ints:
    return np.bincount(found.document[chosen], minlength=found.bytes.size).astype(np.int64)


def _scaled(value: Estimate, factor: int) -> Estimate:
    estimate, low, high = (None if n is None else n * factor for n in (value.estimate, value.low, value.high))
    return replace(value, estimate=estimate, low=low, high=high)
