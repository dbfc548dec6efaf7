"""Ranks what could stand in a masked sentence by the perplexity of the whole sentence, and judges the ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.games.sentences import Masked
from extraction.membership.intervals import Interval, wilson
from extraction.model import token_ids
from extraction.scoring import LogProbScorer, Text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOT_AMONG = 0
"""In place of a rank: the true identifier is not among the candidates."""


@dataclass(frozen=True)
class Readings:
    """How a model finds a sentence with each of some candidates in it.

    Attributes:
        perplexities: float64[candidates], NaN where there is none.
        too_long: whether it could not read one of them to its end, so that the perplexities cannot be compared.
    """

    perplexities: Floats
    too_long: bool


@dataclass(frozen=True)
class SentenceReader:
    """Reads sentences through a model.

    Attributes:
        scorer: the model.
        tokenizer: its own.
        before: special tokens that stand in front of every text.
    """

    scorer: LogProbScorer
    tokenizer: Any
    before: Sequence[int]

    def read(self, masked: Masked, candidates: Sequence[str]) -> Readings:
        """Read the sentence with each candidate in it."""
        texts = [self._text(f"{masked.left}{candidate}{masked.right}") for candidate in candidates]
        found = self.scorer.log_probs(texts) if texts else []
        means = np.array([one.log_probs.astype(np.float64).mean() for one in found], dtype=np.float64)
        return Readings(np.exp(-means), any(one.cut > 0 for one in found))

    def _text(self, sentence: str) -> Text:
        """Without special tokens the first token is given and not scored."""
        ids = token_ids(self.tokenizer, sentence)
        return Text(self.before, ids) if self.before else Text(ids[:1], ids[1:])


def rank_of(true: Sequence[bool], perplexities: Floats) -> int:
    """The rank of the true identifier, 1 for the lowest perplexity; others that tie with it stand in front of it.

    Args:
        true: which candidates are the true identifier, in whatever spelling.
        perplexities: float64[candidates], no NaN.

    Returns:
        The rank, or `NOT_AMONG`.
    """
    own = np.asarray(true, dtype=np.bool_)
    if not own.any():
        return NOT_AMONG
    return 1 + int((perplexities[~own] <= perplexities[own].min()).sum())


@dataclass(frozen=True)
class AtTop:
    """How often the true identifier is among the first k.

    Attributes:
        k: how many of the first are looked at.
        correct: sentences whose identifier is among them.
        precision: of the sentences for which there was a candidate; None where there was for none.
        recall: of all sentences.
        chance: what a random order of the same candidates gives; None where the truth need not be among them.
    """

    k: int
    correct: int
    precision: Interval | None
    recall: Interval
    chance: float | None


@dataclass(frozen=True)
class Judged:
    """One game with one model.

    Attributes:
        sentences: that were asked about.
        answered: those for which there was a candidate.
        candidates: of these, the mean number of candidates; None where there is none.
        at: by k, ascending.
    """

    sentences: int
    answered: int
    candidates: float | None
    at: tuple[AtTop, ...]


def judged(ranks: Ints, candidates: Ints, tops: Sequence[int], truth_is_given: bool) -> Judged | None:
    """Judge the ranks of a game; None where no sentence was asked about.

    Args:
        ranks: int64[sentences], of the true identifier, or `NOT_AMONG`.
        candidates: int64[sentences].
        tops: the k.
        truth_is_given: whether the true identifier is always among the candidates, so that chance has a level.
    """
    if not ranks.size:
        return None
    answered = candidates > 0
    mean = float(candidates[answered].mean()) if answered.any() else None
    at = tuple(_at(ranks, candidates, k, truth_is_given) for k in tops)
    return Judged(ranks.size, int(answered.sum()), mean, at)


def _at(ranks: Ints, candidates: Ints, k: int, truth_is_given: bool) -> AtTop:
    correct, answered = int(((ranks != NOT_AMONG) & (ranks <= k)).sum()), int((candidates > 0).sum())
    return AtTop(
        k=k,
        correct=correct,
        precision=wilson(correct, answered) if answered else None,
        recall=wilson(correct, ranks.size),
        chance=float(np.minimum(1.0, k / np.maximum(candidates, 1)).mean()) if truth_is_given else None,
    )
