"""Membership scores of a classifier's predictions. Higher means member in both. Source: Yeom et al. 2018."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def true_label_confidence(probabilities: Floats, labels: NDArray[np.int64]) -> Floats:
    """The probability that the classifier gives the true label.

    Args:
        probabilities: float64[records, labels].
        labels: int64[records], the column of the true label.
    """
    chosen: Floats = probabilities[np.arange(labels.size), labels]
    return chosen


def label_right(probabilities: Floats, labels: NDArray[np.int64]) -> Floats:
    """1 where the classifier's label is the true one, else 0: all that a caller sees who gets labels alone.

    Args:
        probabilities: float64[records, labels].
        labels: int64[records], the column of the true label.
    """
    right: Floats = (probabilities.argmax(axis=1) == labels).astype(np.float64)
    return right
