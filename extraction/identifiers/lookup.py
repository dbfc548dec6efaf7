"""Finds a run's identifiers in the corpus: one pass for all, whole words only, whatever their formatting.

Knows documents as an iterator; where they lie and who iterates them is the caller's business.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.identifiers.normalise import Locale
from extraction.identifiers.scan import Keys, compact
from extraction.identifiers.settings import IdentifierSettings
from extraction.identifiers.spellings import spellings
from extraction.identifiers.verify import AROUND, Verify, verifier

_NORMALISERS = {
    "PERSON": "name",
    "ORGANISATION": "name",
    "PLACE": "name",
    "EMAIL": "email",
    "PHONE": "phone",
    "CREDIT_CARD": "digits",
    "IBAN": "upper",
    "ACCOUNT_NUMBER": "digits",
    "SORT_CODE": "digits",
    "NHS_NUMBER": "digits",
    "US_SSN": "digits",
    "DATE_OF_BIRTH": "date",
    "IP_ADDRESS": "ip",
    "POSTAL_ADDRESS": "address",
    "SECRET": "text",
}
# Text that is not ASCII is widened to four bytes a character, piece by piece.
_PIECE, _LEAD, _TAIL = 4_000_000, 256, 8_192


@dataclass
class LookupCounts:
    """How often each value stands in the documents that were scanned.

    Attributes:
        documents: int64[n], documents that hold the value; a text stored once with three ids is three.
        occurrences: int64[n], places in them.
        example_ids: for each value up to `most_ids` document ids, the first in alphabetical order, whatever
            the order of scanning.
        most_ids: how many ids are kept for each value.
        scanned_documents: documents looked at.
        scanned_bytes: bytes of distinct text looked at.
    """

    documents: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    example_ids: list[list[str]]
    most_ids: int
    scanned_documents: int = 0
    scanned_bytes: int = 0

    @classmethod
    def none(cls, size: int, most_ids: int) -> "LookupCounts":
        """Make counts of nothing, for `size` values."""
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int64), [[] for _ in range(size)], most_ids)

    def __add__(self, other: "LookupCounts") -> "LookupCounts":
        """Merge the counts of disjoint sets of documents."""
        return LookupCounts(
            self.documents + other.documents,
            self.occurrences + other.occurrences,
            [
                nsmallest(self.most_ids, {*mine, *theirs})
                for mine, theirs in zip(self.example_ids, other.example_ids, strict=True)
            ],
            self.most_ids,
            self.scanned_documents + other.scanned_documents,
            self.scanned_bytes + other.scanned_bytes,
        )

    def _add(self, value: int, places: int, ids: Sequence[str]) -> None:
        self.documents[value] += len(ids)
        self.occurrences[value] += places * len(ids)
        known = self.example_ids[value]
        if len(known) < self.most_ids or min(ids) < known[-1]:
            self.example_ids[value] = nsmallest(self.most_ids, {*known, *ids})


class CorpusLookup:
    """Looks all values up in one pass. Cheap to send elsewhere: its tables are built where it scans."""

    def __init__(self, values: Sequence[tuple[str, str]], settings: IdentifierSettings | None = None) -> None:
        """Keep the values.

        Args:
            values: (type, normalised value), as the tagger gives them.
            settings: those of the tagger, for the user's own formats and the order of dates.
        """
        self.values = list(values)
        self._settings = settings or IdentifierSettings()
        self._built: tuple[Keys, list[list[int]], list[Verify]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as values and settings."""
        return CorpusLookup, (self.values, self._settings)

    def scan(self, documents: Iterable[tuple[list[str], bytes]]) -> LookupCounts:
        """Count the values in documents.

        Args:
            documents: (ids, UTF-8 text) of each distinct document.
        """
        counts = LookupCounts.none(len(self.values), self._settings.document_ids)
        for ids, text in documents:
            for value, places in self._places_in(text).items():
                counts._add(value, places, ids)
            counts.scanned_documents += len(ids)
            counts.scanned_bytes += len(text)
        return counts

    def _tables(self) -> tuple[Keys, list[list[int]], list[Verify]]:
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> tuple[Keys, list[list[int]], list[Verify]]:
        own = {rule.name: rule.normalise for rule in self._settings.recognisers}
        locale = Locale(self._settings.regions, self._settings.day_first)
        holders: dict[str, list[int]] = {}
        judges = []
        for number, (type_, value) in enumerate(self.values):
            normalise = own.get(type_) or _NORMALISERS[type_]
            judges.append(verifier(type_, normalise, value, locale))
            for key in {compact(spelling) for spelling in spellings(type_, normalise, value)} - {""}:
                holders.setdefault(key, []).append(number)
        return Keys(list(holders)), list(holders.values()), judges

    def _places_in(self, text: bytes) -> dict[int, int]:
        """Count the places of each value in one document; places of one value that overlap are one."""
        keys, holders, judges = self._tables()
        places: dict[int, int] = {}
        for codes, piece, low, high in _pieces(text):
            ends: dict[int, int] = {}
            for start, end, key in _longest_first(keys.scan(codes, low, high)):
                left, right = piece[max(0, start - AROUND) : start], piece[end : end + AROUND]
                for value in holders[key]:
                    if ends.get(value, 0) <= start and judges[value](
                        _str(piece[start:end]), _str(left), _str(right)
                    ):
                        ends[value] = end
                        places[value] = places.get(value, 0) + 1
        return places


def _longest_first(hits: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    if len(hits):
        order = np.lexsort((-hits[:, 1], hits[:, 0]))
        yield from ((int(start), int(end), int(key)) for start, end, key in hits[order])


def _str(part: bytes | str) -> str:
    return part if isinstance(part, str) else part.decode("ascii")


def _pieces(text: bytes) -> Iterator[tuple[NDArray[Any], bytes | str, int, int]]:
    """Give a document as code points to scan, the same as text, and the part that is the piece's own."""
    if text.isascii():
        yield np.frombuffer(text, np.uint8), text, 0, len(text)
        return
    start = 0
    while start < len(text):
        end = _after_ascii(text, start + _PIECE)
        first, last = (
            _after_ascii(text, max(0, start - _LEAD)) if start else 0,
            _after_ascii(text, end + _TAIL),
        )
        lead, own, tail = (_composed(text[a:b]) for a, b in ((first, start), (start, end), (end, last)))
        whole = lead + own + tail
        codes = np.frombuffer(whole.encode("utf-32-le"), np.uint32)
        yield codes, whole, len(lead), len(lead) + len(own)
        start = end


def _composed(part: bytes) -> str:
    return unicodedata.normalize("NFC", part.decode("utf-8", "replace"))


def _after_ascii(text: bytes, position: int) -> int:
    """Move to the next ASCII byte: no character, and no letter with its marks, is cut in front of one."""
    while position < len(text) and text[position] >= 0x80:
        position += 1
    return min(position, len(text))
