"""Records that cannot be on one side alone: what stands, nearly or through its group, in both cohorts."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from extraction.clusters import Sketches, sketch

SAME_ID = "id on both sides"
SAME_GROUP = "group on both sides"
SAME_TEXT = "same text on both sides"
NEAR_TEXT = "near duplicate on both sides"


@dataclass(frozen=True)
class Identity:
    """What tells whether a record is on both sides.

    Attributes:
        id: the record's.
        group: what it belongs to, an account say; None where nothing is known.
        text: its text; None where it has none.
    """

    id: str
    group: str | None
    text: str | None


def crossing(
    members: Sequence[Identity], others: Sequence[Identity], similarity: float
) -> tuple[dict[int, str], dict[int, str]]:
    """Find the records of each side that also are, or nearly are, on the other.

    Args:
        members: one cohort.
        others: the other.
        similarity: of two texts, estimated by MinHash, from which they are near duplicates; above 0, at most 1.

    Returns:
        For each side the places of such records, each with the first reason that holds.
    """
    found: tuple[dict[int, str], dict[int, str]] = ({}, {})
    keys: dict[str, Callable[[Identity], str | None]] = {
        SAME_ID: lambda one: one.id,
        SAME_GROUP: lambda one: one.group,
        SAME_TEXT: lambda one: _plain(one.text),
    }
    for reason, key in keys.items():
        own, other = ([key(one) for one in side] for side in (members, others))
        both = set(own) & set(other) - {None}
        for places, values in zip(found, (own, other), strict=True):
            places.update({n: reason for n, value in enumerate(values) if value in both and n not in places})
    near = _near(members, others, similarity)
    for places, own_near in zip(found, near, strict=True):
        places.update({n: NEAR_TEXT for n in own_near if n not in places})
    return found


def _plain(text: str | None) -> str | None:
    """Case and the amount of white space do not make a text another one."""
    return None if text is None else " ".join(text.casefold().split())


def _near(
    members: Sequence[Identity], others: Sequence[Identity], similarity: float
) -> tuple[set[int], set[int]]:
    """Places on each side of texts that are near duplicates of one on the other side."""
    from datasketch import MinHashLSH

    # The bands are chosen for a little less than the similarity: the estimate decides, not the bands.
    layout = MinHashLSH(threshold=max(0.05, similarity - 0.15), num_perm=128)
    sketches = {n: sketch(one.text.encode()) for n, one in enumerate(members) if one.text}
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for n, own in sketches.items():
        for key in _bands(own, layout.b, layout.r):
            buckets[key].append(n)
    found: tuple[set[int], set[int]] = (set(), set())
    for n, one in enumerate(others):
        own = sketch((one.text or "").encode())
        candidates = {m for key in _bands(own, layout.b, layout.r) for m in buckets.get(key, ())}
        near = {m for m in candidates if one.text and (sketches[m] == own).mean() >= similarity}
        found[0].update(near)
        found[1].update({n} if near else ())
    return found


def _bands(own: Sketches, bands: int, rows: int) -> Iterator[tuple[int, bytes]]:
    for band in range(bands):
        yield band, own[band * rows : (band + 1) * rows].tobytes()
