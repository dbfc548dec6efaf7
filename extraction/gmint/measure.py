"""How well gradients tell a model's training samples from others, with its interval, and beside its controls."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.gmint.mint import MintTraining, train_mint
from extraction.gmint.splits import TEST_SHARE, Places, Split, group_splits, one_sided, subset
from extraction.membership.baseline import Baseline, blind_baseline
from extraction.membership.comparability import COMPARABLE, Difference, differences
from extraction.membership.intervals import Interval, auc_interval
from extraction.membership.usable import UNMATCHED

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

CHANCE = 0.5
PERMUTED = "hold:permuted-labels"
METHOD = "repeated splits"


@dataclass(frozen=True)
class Material:
    """What is known of n samples.

    Attributes:
        member: bool[n], whether each was in the training data.
        groups: what each belongs to; near duplicates belong together.
        texts: their texts.
        gradients: float32[n, features], of the model under test; may be mapped from a file, as the next one.
        untrained: the same of a model of the same kind that was not trained on any of them.
        embeddings: float32[n, width], of the model under test.
        losses: float64[n], of the model under test.
        known: what else is known of each sample, by name.
    """

    member: Flags
    groups: Sequence[str]
    texts: Sequence[str]
    gradients: Rows
    untrained: Rows
    embeddings: Rows
    losses: Floats
    known: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Repeated:
    """What MINT models achieve on samples that they were not trained on.

    Attributes:
        auc: the mean over the splits, with its interval.
        aucs: of each split.
        training_aucs: the same on what each was fitted on, after its last epoch.
        best_epochs: whose weights each was judged with, counted from 0.
    """

    auc: Interval
    aucs: tuple[float, ...]
    training_aucs: tuple[float, ...]
    best_epochs: tuple[int, ...]


@dataclass(frozen=True)
class Findings:
    """gMINT's AUC at one number of samples, beside its controls.

    Attributes:
        samples_per_side: members, and others.
        gradients: of the model under test.
        permuted: the same with members and others mixed up: 0.5, or what is tested on was looked at before. Copies of a
            sample get labels of their own and do not show here: that none stands on two sides is up to the groups.
        untrained: gradients of a model that saw none of the samples: 0.5, or members differ in more than membership.
        embeddings: in place of gradients.
        words: of a classifier of words, which sees no model; None where there is nothing to learn from.
        loss: of the model under test alone, the lower the more a member.
        differences: of members from others in what else is known of them.
    """

    samples_per_side: int
    gradients: Repeated
    permuted: Repeated
    untrained: Repeated
    embeddings: Repeated
    words: Baseline | None
    loss: Interval
    differences: tuple[Difference, ...]

    @property
    def holds(self) -> tuple[str, ...]:
        """Why the AUC is no evidence of membership (`hold:*`)."""
        return tuple(dict.fromkeys(self._holds()))

    def _holds(self) -> Iterator[str]:
        if not self.permuted.auc.low <= CHANCE <= self.permuted.auc.high:
            yield PERMUTED
        untrained = self.untrained.auc
        told_apart = not untrained.low <= CHANCE <= untrained.high or (self.words and self.words.tells_apart)
        if told_apart or any(one.beyond for one in self.differences):
            yield UNMATCHED


def measure(material: Material, per_side: int, splits: int, training: MintTraining) -> Findings:
    """Measure at one number of samples.

    Args:
        material: of at least so many members and others.
        per_side: how many of each.
        splits: how often they are split into a part to train on and a part to test on.
        training: of the MINT models; its seed is that of the draw and the splits too.

    Raises:
        InputError: a side has fewer samples, or too few groups.
    """
    member, groups = material.member, material.groups
    places = subset(member, per_side, training.seed)
    parts = group_splits(member, groups, places, splits, training.seed)
    mixed = [mixed_labels(member, places, part, training.seed + n) for n, part in enumerate(parts)]
    own = [member] * splits
    return Findings(
        samples_per_side=per_side,
        gradients=repeated(material.gradients, own, parts, training),
        permuted=repeated(material.gradients, mixed, parts, training),
        untrained=repeated(material.untrained, own, parts, training),
        embeddings=repeated(material.embeddings, own, parts, training),
        words=_words(material, places, training.seed),
        loss=_of_loss(material, places),
        differences=_differences(material, places),
    )


def repeated(
    features: Rows, labels: Sequence[Flags], splits: Sequence[Split], training: MintTraining
) -> Repeated:
    """Train a MINT model on each split, and test it there.

    Args:
        features: float32[n, features].
        labels: bool[n] for each split, whether a row counts as a member's.
        splits: of the rows.
        training: each split's has a seed of its own.
    """
    tested, trained = [], []
    for number, (member, split) in enumerate(zip(labels, splits, strict=True)):
        found = train_mint(features, member, split, replace(training, seed=training.seed + number))
        scores, truth = found.scores(features, split.test), member[split.test]
        tested.append(auc_interval(scores[truth], scores[~truth]))
        trained.append(found)
    return Repeated(
        auc=repeated_interval(tested),
        aucs=tuple(one.estimate for one in tested),
        training_aucs=tuple(one.training_auc for one in trained),
        best_epochs=tuple(one.best_epoch for one in trained),
    )


def repeated_interval(tested: Sequence[Interval]) -> Interval:
    """The mean AUC of repeated splits between its limits at 95 %.

    The splits share records, so that their spread alone is too small a measure: it is corrected for that (Nadeau and
    Bengio 2003), and the limits are never nearer than those of one split are on average, also where all splits agree.

    Args:
        tested: of each split, on its test part.
    """
    from scipy.stats import t

    aucs = np.array([one.estimate for one in tested])
    mean, count = float(aucs.mean()), len(tested)
    low, high = (float(np.mean([getattr(one, name) for one in tested])) for name in ("low", "high"))
    if count > 1:
        variance = float(aucs.var(ddof=1)) * (1 / count + TEST_SHARE / (1 - TEST_SHARE))
        half = float(t.ppf(0.975, count - 1)) * math.sqrt(variance)
        low, high = min(low, mean - half), max(high, mean + half)
    return Interval(mean, max(0.0, low), min(1.0, high), METHOD)


def mixed_labels(member: Flags, places: Places, split: Split, seed: int) -> Flags:
    """Mix the labels of some places up, and again where a part of few samples is left with members or others alone."""
    rng, mixed = np.random.default_rng(seed), member.copy()
    mixed[places] = rng.permutation(member[places])
    while one_sided(mixed, (split.fit, split.validation, split.test)):
        mixed[places] = rng.permutation(member[places])
    return mixed


def _words(material: Material, places: Places, seed: int) -> Baseline | None:
    sides = _sides(material, places)
    texts = [[material.texts[n] for n in side] for side in sides]
    groups = [material.groups[n] for side in sides for n in side]
    return blind_baseline(texts[0], texts[1], groups, seed)


def _of_loss(material: Material, places: Places) -> Interval:
    member, scores = material.member[places], -material.losses[places]
    return auc_interval(scores[member], scores[~member])


def _differences(material: Material, places: Places) -> tuple[Difference, ...]:
    columns = [
        {name: [known[n] for n in side] for name, known in material.known.items()}
        for side in _sides(material, places)
    ]
    return differences(columns[0], columns[1], COMPARABLE)


def _sides(material: Material, places: Places) -> tuple[Places, Places]:
    member = material.member[places]
    return places[member], places[~member]
