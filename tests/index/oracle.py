"""Brute force: what the index must answer, from the words of the promise alone."""

from collections.abc import Sequence


def places(document: bytes, text: bytes) -> list[int]:
    """Every place of a text in a document, overlapping ones included."""
    found, at = [], document.find(text)
    while at >= 0:
        found.append(at)
        at = document.find(text, at + 1)
    return found


def maximal_ranges(documents: Sequence[bytes], text: bytes, least: int) -> list[tuple[int, int]]:
    """All ranges of a text that stand in one document and cannot be made longer on either side."""
    ranges: list[tuple[int, int]] = []
    end = 0
    for start in range(len(text)):
        end = max(end, start)
        while end < len(text) and any(text[start : end + 1] in document for document in documents):
            end += 1
        if end - start >= least and (not ranges or end > ranges[-1][1]):
            ranges.append((start, end))
    return ranges


def counts(documents: Sequence[bytes], text: bytes) -> tuple[int, int]:
    """How many documents, and how many places in them, hold a text."""
    found = [len(places(document, text)) for document in documents]
    return sum(n > 0 for n in found), sum(found)
