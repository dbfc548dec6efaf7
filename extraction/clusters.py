"""Clusters of near-duplicate passages: MinHash over character shingles.

Two passages are linked when locality-sensitive hashing brings them together and the share of equal MinHash
values is at least the threshold; a cluster is a connected component. Both depend on the two texts alone, so the
clusters are the same in whatever order the passages come.
"""

from collections.abc import Sequence
from typing import Any

_SHINGLE = 5
_PERMUTATIONS = 128
_SEED = 1


def cluster_passages(ids: Sequence[str], texts: Sequence[bytes], threshold: float) -> list[str]:
    """Group near-duplicates.

    Args:
        ids: names, all different.
        texts: the bytes of each.
        threshold: estimated Jaccard similarity of their shingles from which two are near-duplicates, above 0.

    Returns:
        for each text the name of its cluster: the least of its members' names.
    """
    from datasketch import MinHashLSH

    sketches = [_sketch(text) for text in texts]
    # the band layout is chosen for a little less than the threshold: the estimate decides, not the bands
    lookup = MinHashLSH(threshold=max(0.05, threshold - 0.15), num_perm=_PERMUTATIONS)
    for number, sketch in enumerate(sketches):
        lookup.insert(number, sketch)
    parents = list(range(len(ids)))
    for number, sketch in enumerate(sketches):
        for other in lookup.query(sketch):
            a, b = _root(parents, number), _root(parents, other)
            if a != b and sketch.jaccard(sketches[other]) >= threshold:
                parents[max(a, b)] = min(a, b)
    names: dict[int, str] = {}
    roots = [_root(parents, number) for number in range(len(ids))]
    for root, name in zip(roots, ids, strict=True):
        names[root] = min(name, names.get(root, name))
    return [names[root] for root in roots]


def _shingles(text: bytes) -> list[bytes]:
    """Every run of a few characters; case and the amount of white space do not make a text another one."""
    plain = " ".join(text.decode("utf-8", errors="ignore").casefold().split())
    return sorted({plain[i : i + _SHINGLE].encode() for i in range(max(1, len(plain) - _SHINGLE + 1))})


def _sketch(text: bytes) -> Any:
    from datasketch import MinHash

    sketch = MinHash(num_perm=_PERMUTATIONS, seed=_SEED)
    sketch.update_batch(_shingles(text))
    return sketch


def _root(parents: list[int], member: int) -> int:
    while parents[member] != member:
        parents[member] = parents[parents[member]]
        member = parents[member]
    return member
