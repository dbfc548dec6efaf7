"""Lower bounds on the epsilon of a differential-privacy claim, from attacks on canaries planted before training.

Many runs: models trained with and without a canary; rates of telling them apart bound epsilon. One run: many
canaries, each in or out by a fair coin, in one model; the number guessed right bounds it (Steinke, Nasr and
Jagielski 2023, theorem 5.2). A claim is contradicted or not contradicted; no audit confirms one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extraction.shares import clopper_pearson

Floats = NDArray[np.float64]

CONTRADICTED, NOT_CONTRADICTED = "contradicted", "not contradicted"
LARGEST_EPSILON = 1000.0


@dataclass(frozen=True)
class Bound:
    """A lower bound on epsilon.

    Attributes:
        epsilon: holds with `confidence` at `delta`.
        delta: of the claim.
        confidence: 1 minus the level of the test.
    """

    epsilon: float
    delta: float
    confidence: float

    def against(self, claimed_epsilon: float) -> str:
        """Judge a claimed epsilon at the same delta.

        Raises:
            ValueError: the claim is no number of at least 0: a NaN is not "not contradicted".
        """
        if not 0 <= claimed_epsilon < math.inf:
            raise ValueError(f"a claimed epsilon is a number of at least 0, not {claimed_epsilon}")
        return CONTRADICTED if self.epsilon > claimed_epsilon else NOT_CONTRADICTED


def many_run_bound(
    true_positives: int, positives: int, false_positives: int, negatives: int, alpha: float, delta: float
) -> Bound:
    """Bound epsilon by ln((TPR - delta) / FPR), each rate at its Clopper-Pearson limit of alpha / 2.

    Args:
        true_positives: of `positives` models trained with the canary, those called so.
        positives: at least 1.
        false_positives: of `negatives` models trained without it, those called so.
        negatives: at least 1.
        alpha: level of the whole test, between 0 and 1.
        delta: of the claim.
    """
    _check_counts(
        ("true positives", true_positives, positives), ("false positives", false_positives, negatives)
    )
    _check_rates(alpha, delta)
    # A two-sided interval leaves alpha / 2 beyond each of its limits.
    low, _ = clopper_pearson(true_positives, positives, 1 - alpha)
    _, high = clopper_pearson(false_positives, negatives, 1 - alpha)
    epsilon = math.log((low - delta) / high) if low - delta > high else 0.0
    return Bound(epsilon, delta, 1 - alpha)


def many_run_counts(
    trained: Floats, untrained: Floats, alpha: float, delta: float, seed: int
) -> tuple[int, int, int, int]:
    """Choose a threshold on one half of the models and count on the other, for `many_run_bound`.

    Args:
        trained: float64[m], scores of models trained with the canary, higher for those; m > 1, no NaN.
        untrained: float64[n], scores of models trained without it; n > 1, no NaN.
        alpha: level of the test.
        delta: of the claim.
        seed: of the halves.

    Returns:
        True positives, positives, false positives, negatives.
    """
    rng = np.random.default_rng(seed)
    (chosen, kept), (other_chosen, other_kept) = _halves(trained, rng), _halves(untrained, rng)
    threshold = _best_threshold(chosen, other_chosen, alpha, delta)
    hits, false = int((kept >= threshold).sum()), int((other_kept >= threshold).sum())
    return hits, kept.size, false, other_kept.size


def one_run_bound(canaries: int, guesses: int, correct: int, delta: float, level: float) -> Bound:
    """Bound epsilon by the chance that an epsilon-private training allows so many right guesses.

    Args:
        canaries: each in or out of the training data by a fair coin.
        guesses: how many were guessed; fixed before looking.
        correct: how many guesses were right.
        delta: of the claim.
        level: of the test.
    """
    _check_counts(("guesses", guesses, canaries), ("correct guesses", correct, guesses))
    _check_rates(level, delta)

    def rejected(epsilon: float) -> bool:
        return one_run_p_value(canaries, guesses, correct, epsilon, delta) < level

    if not rejected(0.0):
        return Bound(0.0, delta, 1 - level)
    low, high = 0.0, 1.0
    while rejected(high) and high < LARGEST_EPSILON:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return Bound(low, delta, 1 - level)


def one_run_best(
    canaries: int, guessed: Sequence[tuple[int, int]], delta: float, level: float
) -> tuple[Bound, tuple[int, int]]:
    """The best bound of several numbers of guesses, each tested at its share of the level (Bonferroni).

    Args:
        canaries: each in or out of the training data by a fair coin.
        guessed: guesses and how many of them were right, for each number of guesses.
        delta: of the claim.
        level: of the whole test.

    Returns:
        The bound, and the guesses that it comes from.
    """
    share = level / len(guessed)
    bounds = [one_run_bound(canaries, guesses, correct, delta, share) for guesses, correct in guessed]
    best = max(range(len(bounds)), key=lambda n: bounds[n].epsilon)
    return replace(bounds[best], confidence=1 - level), guessed[best]


def one_run_p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """The largest chance of so many right guesses that (epsilon, delta)-private training allows."""
    from scipy.stats import binom

    chance = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(correct - 1, guesses, chance))
    if delta == 0 or correct == 0:
        return min(1.0, tail)
    steps = np.arange(1, correct + 1)
    below = binom.cdf(correct - 1, guesses, chance) - binom.cdf(correct - 1 - steps, guesses, chance)
    return min(1.0, tail + 2 * canaries * delta * float((below / steps).max()))


def one_run_guesses(included: NDArray[np.bool_], scores: Floats, guesses: int, seed: int = 0) -> int:
    """Guess the highest scores to be in and the lowest to be out, half of the guesses each; count the right ones.

    Scores that tie are put in an order drawn by chance: that of a file can give away which canaries were in.

    Args:
        included: bool[m], whether each canary was in.
        scores: float64[m], higher means in; no NaN.
        guesses: at most m, fixed before looking.
        seed: of the order of ties.
    """
    drawn = np.random.default_rng(seed).permutation(scores.size)
    order = drawn[np.argsort(scores[drawn], kind="stable")]
    out, into = order[: guesses // 2], order[order.size - (guesses - guesses // 2) :]
    return int((~included[out]).sum() + included[into].sum())


def _halves(values: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    shuffled = rng.permutation(values)
    return shuffled[: values.size // 2], shuffled[values.size // 2 :]


def _best_threshold(trained: Floats, untrained: Floats, alpha: float, delta: float) -> float:
    """The score whose bound on these models is the largest."""

    def bound(threshold: float) -> float:
        hits, false = int((trained >= threshold).sum()), int((untrained >= threshold).sum())
        return many_run_bound(hits, trained.size, false, untrained.size, alpha, delta).epsilon

    thresholds: list[float] = np.unique(np.concatenate([trained, untrained])).tolist()
    return max(thresholds, key=bound)


def _check_counts(*counts: tuple[str, int, int]) -> None:
    for name, part, whole in counts:
        if not 0 <= part <= whole or whole < 1:
            raise ValueError(f"{name}: {part} of {whole} cannot be")


def _check_rates(level: float, delta: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, not {level}")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and below 1, not {delta}")
