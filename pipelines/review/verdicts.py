"""Verdicts: what people say of the items, kept for good; the last one of each person stands.

In a review by two people each judges without seeing the other. Agreement is counted on their first verdicts, which
were given blind.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.review import log
from pipelines.review.store import Store
from pipelines.rundir import now

VERDICTS = {
    "private": "private finding",
    "public": "public text",
    "boilerplate": "boilerplate",
    "not_memorised": "not memorised",
    "unsure": "unsure",
}
ACTIONS = {
    "none": "no action proposed",
    "remove": "remove documents",
    "deduplicate": "deduplicate",
    "rescrub": "re-scrub",
    "accept": "accept",
}
NONE, DISAGREE = "none", "disagree"
TWO_PEOPLE = "two_people"  # a fact of the store, for good
OUTCOMES = {NONE: "not judged", **VERDICTS, DISAGREE: "disagreement"}


@dataclass(frozen=True)
class Judgement:
    """What a reviewer says: one of `VERDICTS`, one of `ACTIONS`, a note, and where a candidate was found."""

    verdict: str
    action: str = "none"
    note: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class Verdict:
    """A judgement on one item, by one person, at one time."""

    id: int
    item: str
    reviewer: str
    verdict: str
    action: str
    note: str
    evidence: str
    at: str


def give(store: Store, who: str, items: Sequence[str], said: Judgement, cluster: str = "") -> None:
    """Record a verdict on one item, or on all items of a cluster; on return it is on the disk.

    Args:
        store: the review.
        who: the reviewer.
        items: their ids.
        said: the same for all of them.
        cluster: the cluster that was judged as a whole.
    """
    with store.changing() as connection:
        subject, count = cluster or items[0], len(items)
        seq = log.append(
            connection, who, log.VERDICT, subject, verdict=said.verdict, proposed=said.action, items=count
        )
        row = (who, said.verdict, said.action, said.note, said.evidence, now(), seq)
        connection.executemany(
            "INSERT INTO verdicts (item, reviewer, verdict, action, note, evidence, at, log_seq) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(item, *row) for item in items],
        )


class Standing:
    """The verdicts of a review as they stand, in memory, brought up to date from the store.

    Attributes:
        two_people: whether each item is judged by two people, blind to each other.
        changes: the items that were judged, in order: whoever has looked at the first n knows what is new.
        judged: how many items each person has judged.
    """

    def __init__(self, store: Store, two_people: bool) -> None:
        self.two_people = two_people
        self.changes: list[str] = []
        self.judged: Counter[str] = Counter()
        self._store = store
        self._lock = threading.Lock()
        self._last = 0
        self._current: dict[str, dict[str, Verdict]] = {}
        self._first: dict[str, dict[str, str]] = {}

    def refresh(self) -> None:
        """Read what was added since, by this server or another; another may have been asked for two people."""
        with self._lock:
            rows = self._store.rows(
                "SELECT id, item, reviewer, verdict, action, note, evidence, at FROM verdicts WHERE id > ? "
                "ORDER BY id",
                self._last,
            )
            for verdict in (Verdict(*row) for row in rows):
                by = self._current.setdefault(verdict.item, {})
                self.judged[verdict.reviewer] += verdict.reviewer not in by
                by[verdict.reviewer] = verdict
                self._first.setdefault(verdict.item, {}).setdefault(verdict.reviewer, verdict.verdict)
                self.changes.append(verdict.item)
                self._last = verdict.id
            self.two_people = self.two_people or self._store.fact(TWO_PEOPLE) is not None

    def visible(self, item: str, viewer: str) -> list[Verdict]:
        """The verdicts on an item that a person may see, the newest first: never another's before their own."""
        found = list(self._current.get(item, {}).values())
        if len(found) > 1:
            return sorted(found, key=lambda verdict: -verdict.id)
        return [verdict for verdict in found if not self.two_people or verdict.reviewer == viewer]

    def own(self, item: str, viewer: str) -> Verdict | None:
        """What a person said of an item last."""
        return self._current.get(item, {}).get(viewer)

    def outcome(self, item: str, viewer: str) -> str:
        """What an item counts as for a person: one of `OUTCOMES`."""
        return self._outcome(self.visible(item, viewer))

    def settled(self) -> Iterator[tuple[str, str, list[Verdict]]]:
        """Every judged item with its outcome, once all that were asked have judged it, and the verdicts on it."""
        for item, by in list(self._current.items()):
            found = sorted(by.values(), key=lambda verdict: -verdict.id)
            enough = len(found) >= 2 or not self.two_people
            yield item, self._outcome(found) if enough else NONE, found

    def _outcome(self, found: Sequence[Verdict]) -> str:
        if not found:
            return NONE
        if self.two_people and len({verdict.verdict for verdict in found}) > 1:
            return DISAGREE
        return found[0].verdict

    def pairs(self) -> Counter[tuple[str, str]]:
        """The first verdicts of the first two people on each item that two have judged."""
        firsts = (list(by.values()) for by in list(self._first.values()) if len(by) > 1)
        return Counter((said[0], said[1]) for said in firsts)


def agreement(pairs: Mapping[tuple[str, str], int]) -> tuple[float | None, float | None]:
    """Share of pairs that agree, and Cohen's kappa (1960); None where they are not defined."""
    total = sum(pairs.values())
    if not total:
        return None, None
    observed = sum(n for (a, b), n in pairs.items() if a == b) / total
    first, second = (
        {v: sum(n for p, n in pairs.items() if p[side] == v) for v in VERDICTS} for side in (0, 1)
    )
    chance = sum(first[v] * second[v] for v in VERDICTS) / total**2
    return observed, None if chance == 1 else (observed - chance) / (1 - chance)
