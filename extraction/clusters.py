"""Clusters of near-duplicate passages: MinHash over character shingles.

Two passages are linked when locality-sensitive hashing brings them together and the share of equal MinHash values is at
least the threshold; a cluster is a connected component. In a bucket of more passages than `_MOST` not every pair is
compared: so many of them stand for all, each new one unlike those before it as long as there is one, and a hundred
thousand near-identical letters cost as many comparisons, not their square. All of it depends on the texts alone, so
the clusters are the same in whatever order the passages come.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Sketches = NDArray[np.uint32]

_SHINGLE = 5
_PERMUTATIONS = 128
_SEED = 1
_MOST = 32  # passages of one bucket that all others are compared with


def cluster_passages(ids: Sequence[str], texts: Sequence[bytes], threshold: float) -> list[str]:
    """Group near-duplicates.

    Args:
        ids: names, all different.
        texts: the bytes of each.
        threshold: estimated Jaccard similarity of their shingles from which two are near-duplicates, above 0.

    Returns:
        for each text the name of its cluster: the least of its members' names.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if not ids:
        return []
    # equal sketches are one row; the rows are sorted, so their order is that of no passage
    sketches, row = np.unique(np.stack([sketch(text) for text in texts]), axis=0, return_inverse=True)
    links = [np.zeros((0, 2), dtype=np.int64), *_links(sketches, threshold)]
    first, second = np.concatenate(links).T
    shape = (len(sketches), len(sketches))
    graph = coo_matrix((np.ones(len(first), dtype=np.int8), (first, second)), shape=shape)
    label = connected_components(graph, directed=False)[1][row.reshape(-1)]
    names: dict[int, str] = {}
    for cluster, name in zip(label.tolist(), ids, strict=True):
        names[cluster] = min(name, names.get(cluster, name))
    return [names[cluster] for cluster in label.tolist()]


def _links(sketches: Sketches, threshold: float) -> Iterator[Ints]:
    """Pairs of near-duplicate rows, int64[pairs, 2], bucket by bucket; enough to connect all that belong together."""
    from datasketch import MinHashLSH

    # the band layout is chosen for a little less than the threshold: the estimate decides, not the bands
    layout = MinHashLSH(threshold=max(0.05, threshold - 0.15), num_perm=_PERMUTATIONS)
    for band in range(layout.b):
        own = sketches[:, band * layout.r : (band + 1) * layout.r]
        _, bucket, sizes = np.unique(own, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(bucket.reshape(-1), kind="stable")
        for members in np.split(order, np.cumsum(sizes)[:-1]):
            if len(members) > 1:
                yield from _bucket_links(sketches, members, threshold)


def _bucket_links(sketches: Sketches, members: Ints, threshold: float) -> Iterator[Ints]:
    """Compare the first members with all that they are not connected with yet, unlike ones before alike ones."""
    own = sketches[members]
    group = np.arange(len(members))  # members of one number are connected
    compared = np.zeros(len(members), dtype=bool)
    alike = np.zeros(len(members), dtype=bool)  # connected with a member that was compared
    for _ in range(min(_MOST, len(members))):
        left = np.flatnonzero(~compared & ~alike)
        at = int(left[0]) if len(left) else int(np.argmin(compared))
        others = np.flatnonzero(group != group[at])
        if not len(others):
            return
        equal = (own[others] == own[at]).mean(axis=1)
        near = others[equal >= threshold]
        yield np.stack([np.full(len(near), members[at]), members[near]], axis=1)
        group[np.isin(group, group[near])] = group[at]
        compared[at] = True
        alike |= group == group[at]


def _shingles(text: bytes) -> list[bytes]:
    """Every run of a few characters; case and the amount of white space do not make a text another one."""
    plain = " ".join(text.decode("utf-8", errors="ignore").casefold().split())
    return sorted({plain[i : i + _SHINGLE].encode() for i in range(max(1, len(plain) - _SHINGLE + 1))})


def sketch(text: bytes) -> Sketches:
    """MinHash values of a text, uint32[128]: the share of equal ones estimates the similarity of two texts."""
    from datasketch import MinHash

    hashes = MinHash(num_perm=_PERMUTATIONS, seed=_SEED)
    hashes.update_batch(_shingles(text))
    return np.asarray(hashes.hashvalues, dtype=np.uint32)
