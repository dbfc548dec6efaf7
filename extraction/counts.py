"""The counts of a run at each budget.

Everything is formed once over the whole run; a budget counts what has a window in its prefix, so counts never fall
as the budget grows. Pure arithmetic on flat columns; windows in bytes, of which there are several times as many, are
counted one partition at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.budgets import prefix_cutoffs
from extraction.growth import Incidence
from extraction.levels import Levels
from extraction.passages import Passages
from extraction.places import Places, codes, distinct_rows, hash_bytes, numbers
from extraction.shares import Stratum
from extraction.windows import KINDS, LOW_ENTROPY, MATCH_SCHEMA, PRIVATE

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class IdentifierPlaces:
    """Which request gave which distinct identifier.

    Attributes:
        types: type of each distinct identifier.
        documents: int64[identifiers], documents of the corpus that hold it; 0 where none does.
        identifier: int64[places], the distinct identifier.
        family: family name of each place.
        number: int64[places], the request's number in its family.
        chance: int64[identifiers], documents of the corpus that hold a random value of the same format.
        control_text: int64[identifiers], documents of the control text that hold it; None: there is none.
    """

    types: Sequence[str]
    documents: Ints
    identifier: Ints
    family: Sequence[str]
    number: Ints
    chance: Ints
    control_text: Ints | None


@dataclass(frozen=True)
class Found:
    """All that one run found, in memory.

    Attributes:
        matches: one row for each request, a table of `MATCH_SCHEMA`, in any order.
        places: its windows.
        byte_windows: its windows in bytes: tables of `BYTE_WINDOW_SCHEMA`, all rows of a window in one of them; read
            one after another, and never held together.
        passages: its passages.
        clusters: name of each passage's cluster.
        identifiers: its identifiers.
        min_tokens: tokens of a window.
        private_documents: the most documents that a private window or identifier stands in.
        max_tokens: for each family the most tokens that a request can generate.
    """

    matches: pa.Table
    places: Places
    byte_windows: Iterable[pa.Table]
    passages: Passages
    clusters: Sequence[str]
    identifiers: IdentifierPlaces
    min_tokens: int
    private_documents: int
    max_tokens: Mapping[str, int]


@dataclass(frozen=True)
class Requests:
    """One family's requests in the order of their numbers: int64[requests] each, uint8[requests, 16] digests."""

    generated: Ints
    generated_bytes: Ints
    extracted: Ints
    extracted_bytes: Ints
    low_entropy: Ints
    digests: NDArray[np.uint8]


def requests_by_family(matches: pa.Table, families: Sequence[str]) -> dict[str, Requests]:
    """Put the requests of a run in order.

    Raises:
        ValueError: a request is missing or stands there twice: some part is missing or was read twice.
    """
    if matches.schema.names != MATCH_SCHEMA.names:
        raise ValueError("not a table of matches")
    family, number = codes(matches["family"], families), numbers(matches["number"])
    generated, in_bytes = numbers(matches["generated_tokens"]), numbers(matches["generated_bytes"])
    extracted, extracted_bytes = numbers(matches["extracted_tokens"]), numbers(matches["extracted_bytes"])
    low, digests = numbers(matches["low_entropy_tokens"]), hash_bytes(matches["digest"])
    found = {}
    for code, name in enumerate(families):
        rows = np.flatnonzero(family == code)
        rows = rows[np.argsort(number[rows])]
        if not np.array_equal(number[rows], np.arange(len(rows))):
            raise ValueError(f"requests of family {name} are missing or stand there twice")
        found[name] = Requests(
            generated[rows], in_bytes[rows], extracted[rows], extracted_bytes[rows], low[rows], digests[rows]
        )
    return found


@dataclass(frozen=True)
class Tally:
    """Counts at each budget, int64[budgets] each, by name."""

    columns: Mapping[str, Ints]
    identifiers: Mapping[str, Mapping[str, Ints | None]]

    def with_column(self, name: str, values: Ints) -> "Tally":
        """The same with one more column."""
        return Tally({**self.columns, name: values}, self.identifiers)


class Counter:
    """Counts one run at ascending budgets."""

    def __init__(self, found: Found, shares: Mapping[str, float], budgets: Sequence[int]) -> None:
        """Find the level of every place once.

        Args:
            found: the run.
            shares: each family's share of every budget.
            budgets: ascending, in tokens over all families.
        """
        self.found, self.families = found, list(found.places.families)
        self.requests = requests_by_family(found.matches, self.families)
        lengths = {name: requests.generated for name, requests in self.requests.items()}
        self.cutoffs = prefix_cutoffs(lengths, {name: shares[name] for name in self.families}, budgets)
        self.levels = Levels(self.families, self.cutoffs)
        self.window_levels = self.levels.of_requests(found.places.family, found.places.number)
        self.identifier_family = codes(
            pa.chunked_array([pa.array(found.identifiers.family, pa.string())]), self.families
        )
        self.identifier_levels = self.levels.of_requests(self.identifier_family, found.identifiers.number)
        self.passage_of_place = found.passages.of_window[found.places.window]

    def tally(self, families: Sequence[str]) -> Tally:
        """Count what stands in the prefixes of some families."""
        chosen = np.isin(np.arange(len(self.families)), [self.families.index(name) for name in families])
        places, passages, levels = self.found.places, self.found.passages, self.levels
        rows = chosen[places.family]
        windows = levels.first(places.window[rows], self.window_levels[rows], len(places.hashes))
        formed = levels.first(self.passage_of_place[rows], self.window_levels[rows], len(passages.ids))
        text, formed_text = (
            places.kinds != KINDS.index(LOW_ENTROPY),
            passages.kinds != KINDS.index(LOW_ENTROPY),
        )
        private, formed_private = places.kinds == KINDS.index(PRIVATE), passages.kinds == KINDS.index(PRIVATE)
        names, cluster = np.unique(np.asarray(self.found.clusters, dtype=object), return_inverse=True)
        clusters = levels.first(cluster[formed_text], formed[formed_text], len(names))
        columns = {
            "distinct_windows": levels.totals(windows[text]),
            "private_windows": levels.totals(windows[private]),
            "low_entropy_windows": levels.totals(windows[~text]),
            "distinct_passages": levels.totals(formed[formed_text]),
            "private_passages": levels.totals(formed[formed_private]),
            "low_entropy_passages": levels.totals(formed[~formed_text]),
            "clusters": levels.totals(clusters),
            **self._by_request(families),
        }
        return Tally(columns, self._identifiers(chosen))

    def first_budgets(self, budgets: Sequence[int]) -> list[int | None]:
        """For each passage the first of this counter's budgets at which it counts over all families."""
        levels = self.levels.first(self.passage_of_place, self.window_levels, len(self.found.passages.ids))
        return [budgets[level] if level < len(budgets) else None for level in levels]

    def incidence(self, family: str, budget: int, classes: Ints) -> Incidence:
        """Which requests of a family found which classes up to a budget (given by its place).

        Args:
            family: its name.
            budget: place of the budget.
            classes: the class of each place, -1 for places that count for none.
        """
        code, total = self.families.index(family), int(self.cutoffs[family].requests[budget])
        places = self.found.places
        rows = np.flatnonzero((places.family == code) & (places.number < total) & (classes >= 0))
        return Incidence.of(classes[rows], places.number[rows], total, self._duplicates(family, total))

    def _duplicates(self, family: str, total: int) -> int:
        """How many of a family's first requests gave the same text as an earlier one, short texts left out."""
        long = self.requests[family].generated[:total] >= self.found.min_tokens
        texts = self.requests[family].digests[:total][long]
        return len(texts) - len(distinct_rows(texts)[0])

    def incidence_of_all(self, budget: int, classes: Ints) -> tuple[Incidence, list[int]]:
        """The same over all families, their requests numbered one family after another, and how many each has."""
        places = self.found.places
        sizes = [int(self.cutoffs[name].requests[budget]) for name in self.families]
        first = np.cumsum([0, *sizes])[:-1]
        rows = np.flatnonzero((self.window_levels <= budget) & (classes >= 0))
        requests = first[places.family[rows]] + places.number[rows]
        duplicates = sum(map(self._duplicates, self.families, sizes))
        return Incidence.of(classes[rows], requests, sum(sizes), duplicates), sizes

    def classes_of(self, count: str) -> Ints:
        """The class of each place that a count counts, -1 where it counts for none; int64[places].

        Args:
            count: `distinct_windows`, `private_windows`, `distinct_passages` or `private_passages`.
        """
        places = self.found.places
        kinds = places.kinds[places.window]  # a passage's windows are of its own kind
        counted = kinds == KINDS.index(PRIVATE) if "private" in count else kinds != KINDS.index(LOW_ENTROPY)
        things = places.window if "windows" in count else self.passage_of_place
        return np.where(counted, things, -1).astype(np.int64)

    def byte_windows(self) -> dict[str | None, Ints]:
        """Distinct windows in bytes at each budget, for each family, and under None for all together."""
        chosen: dict[str | None, list[int]] = {name: [code] for code, name in enumerate(self.families)}
        chosen[None] = list(range(len(self.families)))
        totals = {name: np.zeros(self.levels.budgets, dtype=np.int64) for name in chosen}
        for table in self.found.byte_windows:
            hashes, window = distinct_rows(hash_bytes(table["hash"]))
            family = codes(table["family"], self.families)
            levels = self.levels.of_requests(family, numbers(table["number"]))
            for name, own in chosen.items():
                rows = np.isin(family, own)
                totals[name] += self.levels.totals(self.levels.first(window[rows], levels[rows], len(hashes)))
        return totals

    def strata(self, families: Sequence[str], budget: int) -> list[Stratum]:
        """The requests of some families up to a budget (given by its place)."""
        return [
            Stratum(
                self.requests[name].extracted[: self.cutoffs[name].requests[budget]],
                self.requests[name].generated[: self.cutoffs[name].requests[budget]],
                self.found.min_tokens,
                self.found.max_tokens[name],
            )
            for name in families
        ]

    def _by_request(self, families: Sequence[str]) -> dict[str, Ints]:
        none = np.zeros(self.levels.budgets, dtype=np.int64)
        columns = {
            name: none.copy()
            for name in (
                "generated_tokens",
                "generated_bytes",
                "requests",
                "requests_with_extraction",
                "extracted_tokens",
                "extracted_bytes",
                "low_entropy_tokens",
            )
        }
        for name in families:
            cut, requests = self.cutoffs[name], self.requests[name]
            columns["generated_tokens"] += cut.tokens
            columns["generated_bytes"] += _up_to(requests.generated_bytes, cut.requests)
            columns["requests"] += cut.requests
            columns["requests_with_extraction"] += _up_to(requests.extracted > 0, cut.requests)
            columns["extracted_tokens"] += _up_to(requests.extracted, cut.requests)
            columns["extracted_bytes"] += _up_to(requests.extracted_bytes, cut.requests)
            columns["low_entropy_tokens"] += _up_to(requests.low_entropy, cut.requests)
        return columns

    def _identifiers(self, chosen: NDArray[np.bool_]) -> dict[str, dict[str, Ints | None]]:
        found, levels = self.found.identifiers, self.levels
        rows = chosen[self.identifier_family] if len(self.identifier_family) else np.zeros(0, dtype=bool)
        first = levels.first(found.identifier[rows], self.identifier_levels[rows], len(found.types))
        held = found.documents > 0
        chosen_by: dict[str, NDArray[np.bool_] | None] = {
            "tagged": np.ones(len(first), dtype=bool),
            "in_corpus": held,
            "private": held & (found.documents <= self.found.private_documents),
            "chance": found.chance > 0,
            "in_control_text": None if found.control_text is None else found.control_text > 0,
        }
        kinds = np.asarray(found.types, dtype=object)
        return {
            kind: {
                name: None if some is None else levels.totals(first[(kinds == kind) & some])
                for name, some in chosen_by.items()
            }
            for kind in sorted(set(found.types))
        }


def _up_to(values: NDArray[np.bool_] | Ints, cutoffs: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[cutoffs].astype(np.int64)
