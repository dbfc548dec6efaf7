"""How often a match arises by chance: what was generated, matched against text that was never trained on.

A long match in such text is rare and a short one is not, so the floor is given by length. Both texts hold common
phrases, so a match counts as one by chance only where the training corpus does not hold the whole of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extraction.growth import Estimate
from extraction.places import Places, among, numbers
from extraction.windows import LOW_ENTROPY

Ints = NDArray[np.int64]

UNKNOWN_SIZE = "the size of one of the texts is not known"
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class LengthCounts:
    """Matches of one length, each text once, filler left out.

    Attributes:
        tokens_from: the fewest tokens of such a match.
        tokens_to: the most; None: no upper end.
        matches: in the text that was never trained on.
        also_in_corpus: of these, whose every window the training corpus holds too.
        only_here: the rest: matches by chance.
        in_corpus: in the training corpus.
        by_chance: how many matches of this length chance would give in a text as large as the corpus.
    """

    tokens_from: int
    tokens_to: int | None
    matches: int
    also_in_corpus: int
    only_here: int
    in_corpus: int
    by_chance: Estimate


def length_bins(min_tokens: int) -> list[tuple[int, int | None]]:
    """Bins of lengths, both ends included: from a window to a fifth more, twice, four times it, and beyond."""
    edges = [min_tokens, min_tokens + max(1, min_tokens // 5), 2 * min_tokens, 4 * min_tokens]
    return [*((low, high - 1) for low, high in zip(edges, edges[1:], strict=False)), (edges[-1], None)]


def chance_by_length(
    held_out: Places,
    stretches: pa.Table,
    corpus_hashes: NDArray[np.uint8],
    corpus_stretches: pa.Table,
    min_tokens: int,
    size_ratio: float | None,
) -> list[LengthCounts]:
    """Count matches by length.

    Args:
        held_out: the windows that stand in text that was never trained on.
        stretches: its stretches, of `STRETCH_SCHEMA`.
        corpus_hashes: uint8[windows, 16], hashes of the windows that stand in the corpus, made with the same key.
        corpus_stretches: the stretches that stand in the corpus.
        min_tokens: tokens of a window.
        size_ratio: bytes of the corpus for each byte of the other text; None where that is not known.
    """
    known = among(held_out.hashes, corpus_hashes)
    whole = _all_known(held_out, stretches, known)
    by_text = _lengths(stretches, whole)
    in_corpus = _lengths(corpus_stretches, np.ones(corpus_stretches.num_rows, dtype=bool))
    return [_counts(bounds, by_text, in_corpus, size_ratio) for bounds in length_bins(min_tokens)]


def _all_known(places: Places, stretches: pa.Table, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each stretch has no window but known ones."""
    first, sizes = places.rows_of(stretches)
    unknown = np.concatenate([[0], np.cumsum(~known[places.window])])
    return np.asarray(unknown[first + sizes] == unknown[first])


def _lengths(stretches: pa.Table, marks: NDArray[np.bool_]) -> Mapping[bytes, tuple[int, bool]]:
    """Tokens and mark of each distinct text that is no filler; equal texts have equal marks."""
    text = pc.not_equal(stretches["kind"], LOW_ENTROPY).to_numpy()
    rows = np.flatnonzero(text)
    data, tokens = stretches["data"].take(rows).to_pylist(), numbers(stretches["tokens"])[rows]
    return {value: (int(n), bool(m)) for value, n, m in zip(data, tokens, marks[rows], strict=True)}


def _counts(
    bounds: tuple[int, int | None],
    held_out: Mapping[bytes, tuple[int, bool]],
    in_corpus: Mapping[bytes, tuple[int, bool]],
    size_ratio: float | None,
) -> LengthCounts:
    low, high = bounds

    def inside(found: Mapping[bytes, tuple[int, bool]]) -> Sequence[bool]:
        return [mark for n, mark in found.values() if n >= low and (high is None or n <= high)]

    marks = inside(held_out)
    only = marks.count(False)
    return LengthCounts(
        low, high, len(marks), marks.count(True), only, len(inside(in_corpus)), _scaled(only, size_ratio)
    )


def _scaled(count: int, ratio: float | None) -> Estimate:
    """A count of rare matches at another size of text, with its exact Poisson interval; none is no limit of 0."""
    from scipy.stats import chi2

    if ratio is None:
        return Estimate(None, reason=UNKNOWN_SIZE)
    tail = (1 - _CONFIDENCE) / 2
    low = float(chi2.ppf(tail, 2 * count)) / 2 if count else 0.0
    return Estimate(count * ratio, low * ratio, float(chi2.ppf(1 - tail, 2 * count + 2)) / 2 * ratio)
