"""Turns an index's byte ranges into matches for people to read: whole characters, counted, with ids."""

from collections.abc import Sequence
from typing import Any

from index import Index, Range

CONTINUATION = 0x80


def matches_of(
    index: Index, texts: Sequence[bytes], min_bytes: int | None, ids: int
) -> list[list[dict[str, Any]]]:
    """Find the matches of each text.

    Args:
        index: the corpus.
        texts: UTF-8.
        min_bytes: the shortest match; None takes the index's own.
        ids: how many document ids are listed for each match.

    Returns:
        For each text its matches, ascending: `start`, `end`, `documents`, `occurrences`, `document_ids`.
    """
    least = min_bytes or index.info.min_bytes
    ranges = [
        whole_characters(text, found, least)
        for text, found in zip(texts, index.find(texts, least), strict=True)
    ]
    pieces = [text[r.start : r.end] for text, found in zip(texts, ranges, strict=True) for r in found]
    counts = index.count(pieces)
    matches = iter(
        {"documents": documents, "occurrences": occurrences, "document_ids": named}
        for documents, occurrences, named in zip(
            counts.documents.tolist(),
            counts.occurrences.tolist(),
            index.document_ids(pieces, ids),
            strict=True,
        )
    )
    return [[{"start": r.start, "end": r.end} | next(matches) for r in found] for found in ranges]


def whole_characters(text: bytes, ranges: Sequence[Range], least: int) -> list[Range]:
    """Trim ranges to whole characters; drop what is then too short or lies in another."""
    trimmed: list[Range] = []
    for found in ranges:
        start, end = found.start, found.end
        while start < end and text[start] & 0xC0 == CONTINUATION:
            start += 1
        while end > start and end < len(text) and text[end] & 0xC0 == CONTINUATION:
            end -= 1
        # Ascending ranges stay so: one lies in another only if it ends no later than one that began before,
        # or begins with one that ends later.
        if end - start < least or (trimmed and end <= trimmed[-1].end):
            continue
        if trimmed and start == trimmed[-1].start:
            trimmed.pop()
        trimmed.append(Range(start, end))
    return trimmed
