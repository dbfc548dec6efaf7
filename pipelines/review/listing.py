"""The list: filters that combine, counts beside each, search within masked text, pages.

Each facet of an item is a set of bits in one int64 array, so that a page over 100,000 items and all of its counts take
milliseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from pipelines.report import words
from pipelines.review.items import KINDS, Item, clusters_of
from pipelines.review.verdicts import OUTCOMES, Standing

PAGE = 50
VERDICT = "verdict"
_LONGEST_SEARCH = 200
_MOST_VALUES = 62  # bits of a facet; what is beyond shares the last
_KIND_LABELS = {"private": "private passage", "shared": "shared passage", "low_entropy": "filler"}
_DOCUMENTS = ((1, "1"), (2, "2"), (10, "3 to 10"), (100, "11 to 100"), (None, "more than 100"))
_UNKNOWN = "unknown"
_OUTCOME_BITS = {name: 1 << place for place, name in enumerate(OUTCOMES)}
NOBODY, EVERYBODY = "", "*"  # no names: who sees what two people agreed on, and who sees every verdict

Bits = NDArray[np.int64]
Chosen = NDArray[np.bool_]


@dataclass(frozen=True)
class Filters:
    """The state of the list, which lives in the address.

    Attributes:
        chosen: values by facet; within a facet any of them, facets all together.
        search: characters that the masked text holds.
        cluster: only its members; empty: all.
        page: from 1.
    """

    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    search: str = ""
    cluster: str = ""
    page: int = 1

    @classmethod
    def parse(cls, query: Sequence[tuple[str, str]]) -> "Filters":
        """Read an address; what is not understood is left out."""
        chosen = {name: tuple(sorted({v for k, v in query if k == name})) for name in FACETS}
        last = dict(query)
        number = last.get("page", "")
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 1
        search = last.get("q", "")[:_LONGEST_SEARCH].strip()
        return cls({k: v for k, v in chosen.items() if v}, search, last.get("cluster", ""), max(page, 1))

    def query(self, page: int | None = None) -> str:
        """Write the address' query, with another page if one is given."""
        number = page or self.page
        pairs = [(name, value) for name, values in self.chosen.items() for value in values]
        pairs += [("q", self.search)] if self.search else []
        pairs += [("cluster", self.cluster)] if self.cluster else []
        return urlencode(pairs + ([("page", str(number))] if number > 1 else []))


@dataclass(frozen=True)
class Count:
    """A value of a facet: its name in the address, its label, how many items have it, whether it is chosen."""

    value: str
    label: str
    items: int
    chosen: bool


@dataclass(frozen=True)
class Page:
    """One page of the list.

    Attributes:
        items: those shown.
        total: how many the filters leave.
        pages: on so many pages.
        number: of this page, from 1.
        facets: counts by facet; those of a facet disregard what is chosen in it.
    """

    items: list[Item]
    total: int
    pages: int
    number: int
    facets: dict[str, list[Count]]


def _documents_bin(item: Item) -> str:
    if item.documents is None:
        return _UNKNOWN
    return next(label for most, label in _DOCUMENTS if most is None or item.documents <= most)


def _control(item: Item) -> str:
    return _UNKNOWN if item.in_control is None else "yes" if item.in_control else "no"


FACETS: dict[str, Callable[[Item], Sequence[str]]] = {
    "kind": lambda item: (item.kind,),
    VERDICT: lambda item: (),  # changes: `Listing` keeps it up to date
    "type": lambda item: item.types or ("none",),
    "documents": lambda item: (_documents_bin(item),),
    "family": lambda item: item.families or ("none",),
    "budget": lambda item: (str(item.first_budget or "none"),),
    "control": lambda item: (_control(item),),
}
_ORDERS: dict[str, Callable[[str], Any]] = {
    "kind": KINDS.index,
    "documents": lambda value: [label for _, label in _DOCUMENTS].index(value) if value != _UNKNOWN else 99,
    "budget": lambda value: int(value) if value.isdigit() else 0,
}


class Listing:
    """All items, in the order of their urgency, and what is known of them."""

    def __init__(self, items: Sequence[Item], standing: Standing) -> None:
        self.items = list(items)
        self.place = {item.id: number for number, item in enumerate(self.items)}
        self.members = clusters_of(self.items)
        self.standing = standing
        self._values: dict[str, list[str]] = {VERDICT: list(OUTCOMES)}
        self._bits: dict[str, Bits] = {}
        for name, values_of in FACETS.items():
            if name != VERDICT:
                self._add_facet(name, values_of)
        self._folded = [item.masked.casefold() for item in self.items]
        self._outcomes: dict[str, tuple[int, Bits]] = {}
        self._search = lru_cache(maxsize=8)(self._search_all)
        self._outcome_bits(NOBODY)  # what was judged before is read now, not when the first page is asked for

    def _add_facet(self, name: str, values_of: Callable[[Item], Sequence[str]]) -> None:
        rows = [values_of(item) for item in self.items]
        values = sorted({v for row in rows for v in row}, key=_ORDERS.get(name, str))[:_MOST_VALUES]
        bit = {value: 1 << number for number, value in enumerate(values)}
        last = 1 << len(values)
        self._values[name] = values
        sums = (sum({bit.get(value, last) for value in row}) for row in rows)
        self._bits[name] = np.fromiter(sums, np.int64, len(rows))

    def get(self, name: str) -> Item | None:
        """The item of an id; None for an unknown one."""
        place = self.place.get(name)
        return None if place is None else self.items[place]

    def page(self, filters: Filters, viewer: str) -> Page:
        """One page and all counts, as a person may see them."""
        passed, facets = self._passed(filters, viewer)
        rows = np.flatnonzero(passed)
        pages = max(1, -(-len(rows) // PAGE))
        number = min(filters.page, pages)
        shown = [self.items[row] for row in rows[(number - 1) * PAGE : number * PAGE].tolist()]
        return Page(shown, len(rows), pages, number, facets)

    def neighbours(self, item: Item, filters: Filters, viewer: str) -> tuple[Item | None, Item | None]:
        """The items before and behind one that pass the filters, whether or not it passes them itself."""
        rows = np.flatnonzero(self._passed(filters, viewer)[0])
        place = self.place[item.id]
        before, behind = np.searchsorted(rows, place), np.searchsorted(rows, place, side="right")
        first = self.items[int(rows[before - 1])] if before else None
        return first, self.items[int(rows[behind])] if behind < len(rows) else None

    def _passed(self, filters: Filters, viewer: str) -> tuple[Chosen, dict[str, list[Count]]]:
        bits = self._bits | {VERDICT: self._outcome_bits(viewer)}
        passes = {name: self._chosen(bits[name], name, filters) for name in filters.chosen}
        rest = self._rest(filters)
        facets = {}
        for name in FACETS:
            others = np.logical_and.reduce([rest, *(p for other, p in passes.items() if other != name)])
            facets[name] = self._counts(name, bits[name][others], filters)
        return np.logical_and.reduce([rest, *passes.values()]), facets

    def _chosen(self, bits: Bits, name: str, filters: Filters) -> Chosen:
        values = self._values[name]
        wanted = sum(1 << values.index(value) for value in filters.chosen[name] if value in values)
        return np.asarray((bits & wanted) != 0)

    def _counts(self, name: str, bits: Bits, filters: Filters) -> list[Count]:
        chosen = filters.chosen.get(name, ())
        counts = (
            Count(value, facet_label(name, value), int(np.count_nonzero(bits & (1 << n))), value in chosen)
            for n, value in enumerate(self._values[name])
        )
        return [count for count in counts if count.items or count.chosen]

    def _rest(self, filters: Filters) -> Chosen:
        passed = np.ones(len(self.items), dtype=bool)
        if filters.cluster:
            passed[:] = False
            passed[[self.place[name] for name in self.members.get(filters.cluster, ())]] = True
        return np.asarray(passed & self._search(filters.search.casefold())) if filters.search else passed

    def _search_all(self, search: str) -> Chosen:
        return np.fromiter((search in text for text in self._folded), bool, len(self._folded))

    def _outcome_bits(self, viewer: str) -> Bits:
        """The verdict facet as a person may see it; only what was judged since they last looked is looked at."""
        self.standing.refresh()
        viewer = viewer if self.standing.two_people else EVERYBODY
        seen, bits = self._outcomes.get(viewer, (0, np.ones(len(self.items), np.int64)))
        end = len(self.standing.changes)
        bits = bits if seen == end else bits.copy()
        for name in self.standing.changes[seen:end]:
            if name in self.place:
                bits[self.place[name]] = _OUTCOME_BITS[self.standing.outcome(name, viewer)]
        self._outcomes[viewer] = (end, bits)
        return bits

    def settled(self) -> dict[str, dict[str, int]]:
        """For each kind of item, how many have each outcome, those counted that all who were asked have judged."""
        kinds, outcomes = self._bits["kind"], self._outcome_bits(NOBODY)
        return {
            kind: {
                name: int(np.count_nonzero((kinds == 1 << place) & (outcomes == bit)))
                for name, bit in _OUTCOME_BITS.items()
            }
            for place, kind in enumerate(self._values["kind"])
        }


def facet_label(name: str, value: str) -> str:
    """What a value of a facet is called on the page."""
    if name == "kind":
        return _KIND_LABELS.get(value, value)
    if name == VERDICT:
        return OUTCOMES[value]
    if name == "type" and value != "none":
        return words.identifier(value)
    if name == "budget" and value.isdigit():
        return words.count(int(value))
    return value
