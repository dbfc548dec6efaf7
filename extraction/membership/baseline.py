"""The blind baseline: a bag-of-words classifier that never sees the model.

Where it tells the cohorts apart, so can any attack, and what it finds is drift between them, not membership
(Das et al. 2024; Meeus et al. 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.membership.intervals import Floats, Interval, auc_interval

FOLDS = 5
# Cross-validated scores share what they were fitted on: without any difference their AUC's standard deviation was 1.3
# times DeLong's (60 pairs of cohorts of random words), so that the 99 % interval is about one of 95 %.
CONFIDENCE = 0.99
LEAST = 10  # records on a side: with fewer a fold learns nothing


@dataclass(frozen=True)
class Baseline:
    """What a classifier of words alone achieves.

    Attributes:
        auc: over records that it was not fitted on, with its 99 % interval.
        tells_apart: whether the interval lies above one half.
    """

    auc: Interval
    tells_apart: bool


def blind_baseline(
    members: Sequence[str], others: Sequence[str], groups: Sequence[str] | None, seed: int
) -> Baseline | None:
    """Cross-validate a logistic regression on the records' words and pairs of words.

    Args:
        members: their texts.
        others: the same.
        groups: what each record belongs to, members first; all of a group is in one fold. None: each is its own.
        seed: of the folds.

    Returns:
        None where there are too few records, or no words.
    """
    if min(len(members), len(others)) < LEAST or not any(map(str.split, (*members, *others))):
        return None
    texts = np.array([*members, *others], dtype=object)
    labels = np.array([1] * len(members) + [0] * len(others))
    scores = _held_out_scores(texts, labels, groups or [str(n) for n in range(len(texts))], seed)
    found = auc_interval(scores[labels == 1], scores[labels == 0], CONFIDENCE)
    return Baseline(found, found.low > 0.5)


def _held_out_scores(
    texts: NDArray[Any], labels: NDArray[np.int64], groups: Sequence[str], seed: int
) -> Floats:
    """Each record's score by a classifier fitted on the other folds; as ranks, since each has a scale of its own."""
    from scipy.stats import rankdata
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline

    scores = np.full(len(texts), 0.5)
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    for fit, held in folds.split(texts, labels, groups):
        if len(set(labels[fit])) < 2 or not len(held):
            continue
        words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True)  # noqa: S106 - words, no secret
        classifier = make_pipeline(words, LogisticRegression(max_iter=1000))
        classifier.fit(texts[fit], labels[fit])
        scores[held] = rankdata(classifier.decision_function(texts[held])) / len(held)
    return scores
