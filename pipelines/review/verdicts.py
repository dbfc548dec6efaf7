"""Verdicts: what people say of the items, kept for good; the last one of each person stands.

In a review by two people each judges without seeing the other. Agreement is counted on their first verdicts, which
were given blind.
"""

import threading
from collections.abc import Iterator, Sequence
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
            connection, who, "verdict", subject, verdict=said.verdict, proposed=said.action, items=count
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
    """

    def __init__(self, store: Store, two_people: bool) -> None:
        self.two_people = two_people
        self.changes: list[str] = []
        self._store = store
        self._lock = threading.Lock()
        self._last = 0
        self._current: dict[str, dict[str, Verdict]] = {}
        self._first: dict[str, dict[str, str]] = {}

    def refresh(self) -> None:
        """Read what was added since, by this server or another."""
        with self._lock:
            rows = self._store.rows(
                "SELECT id, item, reviewer, verdict, action, note, evidence, at FROM verdicts WHERE id > ? "
                "ORDER BY id",
                self._last,
            )
            for verdict in (Verdict(*row) for row in rows):
                self._current.setdefault(verdict.item, {})[verdict.reviewer] = verdict
                self._first.setdefault(verdict.item, {}).setdefault(verdict.reviewer, verdict.verdict)
                self.changes.append(verdict.item)
                self._last = verdict.id

    def visible(self, item: str, viewer: str) -> list[Verdict]:
        """The verdicts on an item that a person may see, the newest first: never another's before their own."""
        found = sorted(self._current.get(item, {}).values(), key=lambda verdict: -verdict.id)
        if self.two_people and len(found) < 2:
            return [verdict for verdict in found if verdict.reviewer == viewer]
        return found

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

    def pairs(self) -> list[tuple[str, str]]:
        """The first verdicts of the first two people on each item that two have judged."""
        return [(said[0], said[1]) for by in self._first.values() if len(said := list(by.values())) > 1]


def agreement(pairs: Sequence[tuple[str, str]]) -> tuple[float | None, float | None]:
    """Share of pairs that agree, and Cohen's kappa (1960); None where they are not defined."""
    if not pairs:
        return None, None
    observed = sum(a == b for a, b in pairs) / len(pairs)
    shares = [{v: sum(p[side] == v for p in pairs) / len(pairs) for v in VERDICTS} for side in (0, 1)]
    chance = sum(shares[0][v] * shares[1][v] for v in VERDICTS)
    return observed, None if chance == 1 else (observed - chance) / (1 - chance)
