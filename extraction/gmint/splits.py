"""Splits records by group, so that no two records of a group, near duplicates among them, stand on different sides."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

TEST_SHARE = 0.35
VALIDATION_SHARE = 0.2
"""Of what is not tested on: a MINT model's best epoch is chosen there."""


@dataclass(frozen=True)
class Split:
    """Places of records; no group has records in two parts.

    Attributes:
        fit: what a MINT model is fitted on.
        validation: what its best epoch is chosen by; with `fit` the training side.
        test: what it is judged by.
    """

    fit: Places
    validation: Places
    test: Places


def joined_groups(texts: Sequence[str], groups: Sequence[str | None], similarity: float) -> list[str]:
    """Join what may not be parted: records of a group, and near duplicates.

    Args:
        texts: of the records.
        groups: what each belongs to; None where nothing is known.
        similarity: of two texts, estimated by MinHash, from which they are near duplicates.

    Returns:
        For each record the name of its joined group.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    from extraction.clusters import cluster_passages

    names = [f"{n:09d}" for n in range(len(texts))]
    # A cluster's name is its first record's.
    clusters = cluster_passages(names, [text.encode() for text in texts], similarity)
    links = [(n, int(cluster)) for n, cluster in enumerate(clusters)]
    firsts: dict[str, int] = {}
    links += [(n, firsts.setdefault(group, n)) for n, group in enumerate(groups) if group is not None]
    first, second = np.array(links, dtype=np.int64).reshape(-1, 2).T
    shape = (len(texts), len(texts))
    graph = coo_matrix((np.ones(len(links), dtype=np.int8), (first, second)), shape=shape)
    return [str(label) for label in connected_components(graph, directed=False)[1]]


def subset(member: Flags, per_side: int, seed: int) -> Places:
    """Draw so many members and so many others; a larger draw holds a smaller one.

    Returns:
        Their places, ascending.

    Raises:
        InputError: a side has fewer.
    """
    rng = np.random.default_rng(seed)
    sides = [rng.permutation(np.flatnonzero(side)) for side in (member, ~member)]
    for name, side in zip(("members", "others"), sides, strict=True):
        if side.size < per_side:
            raise InputError(
                f"samples: {per_side:,} a side were asked for, and there are {side.size:,} {name}"
            )
    return np.sort(np.concatenate([side[:per_side] for side in sides]))


def group_splits(member: Flags, groups: Sequence[str], places: Places, count: int, seed: int) -> list[Split]:
    """Split records again and again: 65 % of the members and of the others to train on, 35 % to test on.

    Args:
        member: bool[n], whether each was in the training data.
        groups: what each belongs to.
        places: of the records that are split; the others are left out.
        count: how many splits, at least 1.
        seed: of the splits.

    Raises:
        InputError: there are too few groups for every part to have members and others.
    """
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    return [_split(member, numbers, places, np.random.default_rng([seed, n])) for n in range(count)]


def training_split(member: Flags, groups: Sequence[str], seed: int) -> Split:
    """Split records that are all to train on; the test part is empty.

    Args:
        member: bool[n], whether each was in the training data.
        groups: what each belongs to.
        seed: of the split.

    Raises:
        InputError: there are too few groups for both parts to have members and others.
    """
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    every = np.ones(member.size, dtype=np.bool_)
    checked = _part(member, numbers, every, VALIDATION_SHARE, np.random.default_rng(seed))
    fit, validation = (np.flatnonzero(part) for part in (~checked, checked))
    _refuse_one_sided(member, numbers, (fit, validation))
    return Split(fit, validation, np.zeros(0, dtype=np.int64))


def one_sided(member: Flags, parts: Sequence[Places]) -> bool:
    """Whether a part holds members alone, others alone, or nothing."""
    return any(np.unique(member[part]).size < 2 for part in parts)


def _split(member: Flags, numbers: Places, places: Places, rng: np.random.Generator) -> Split:
    among = np.zeros(member.size, dtype=np.bool_)
    among[places] = True
    held = _part(member, numbers, among, TEST_SHARE, rng)
    checked = _part(member, numbers, among & ~held, VALIDATION_SHARE, rng)
    parts = [np.flatnonzero(part) for part in (among & ~held & ~checked, checked, held)]
    _refuse_one_sided(member, numbers, parts)
    return Split(*parts)


def _refuse_one_sided(member: Flags, numbers: Places, parts: Sequence[Places]) -> None:
    if one_sided(member, parts):
        records = np.concatenate(parts)
        groups = np.unique(numbers[records]).size
        raise InputError(
            f"groups: {records.size:,} records of {groups:,} groups are too few to split; add records of other groups"
        )


def _part(member: Flags, numbers: Places, among: Flags, share: float, rng: np.random.Generator) -> Flags:
    """Whole groups of the records `among` that make up about a share of each side."""
    taken = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
    for side in (among & member, among & ~member):
        sizes = np.bincount(numbers[side], minlength=taken.size)
        wanted, found = share * sizes.sum(), sizes[taken].sum()
        for group in rng.permutation(np.flatnonzero(sizes)):
            if not taken[group] and found + sizes[group] / 2 <= wanted:
                taken[group], found = True, found + sizes[group]
    part: Flags = among & taken[numbers]
    return part
