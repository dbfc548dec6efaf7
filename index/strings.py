"""Counts short strings by one pass over the text: a piece of each string is looked for at every place.

Knows nothing of seeds: it serves strings that are too short for the n-gram index.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from index.corpus import Counts
from index.jit import Array, kernel, load64, plain_kernel
from index.layout import DOCUMENT_MARK, PAD
from index.segment import Segment

BLOCK_BYTES = 8 << 20
PIECES = (8, 4, 2, 1)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
CODE_POINTS = 0x110000


@dataclass(frozen=True)
class _Plan:
    """The strings that are looked up by a piece of `piece` bytes.

    Attributes:
        numbers: int64[n], the strings' numbers in the caller's order.
        data: uint8, the strings one after the other.
        bounds: int64[n + 1], where each begins.
        anchors: int64[n], where in each string its piece begins.
        edges: bool[n, 2], whether a word character before or behind the string makes it a part of a longer word.
        words: uint64[n], the pieces, masked to their length, ascending in their hash.
        mask: uint64, what of a loaded word belongs to a piece.
        occurs: uint8[2**b], whether any piece has a hash: small enough for a near cache.
        firsts: int32[2**b + 1], where the pieces of each hash begin.
    """

    numbers: Array
    data: Array
    bounds: Array
    anchors: Array
    edges: Array
    words: Array
    mask: Any
    occurs: Array
    firsts: Array


@plain_kernel
def _word_at(text: Array, at: Any, is_word: Array) -> Any:
    """Say whether a word character begins at a place of UTF-8 text; a document mark is none."""
    lead = np.int64(text[at])
    if lead < 0x80:
        return is_word[lead]
    if lead < 0xE0:
        code = (lead & 0x1F) << 6 | (text[at + 1] & 0x3F)
    elif lead < 0xF0:
        code = (lead & 0x0F) << 12 | (text[at + 1] & 0x3F) << 6 | (text[at + 2] & 0x3F)
    elif lead < 0xF8:
        code = (lead & 0x07) << 18 | (text[at + 1] & 0x3F) << 12 | (text[at + 2] & 0x3F) << 6
        code |= text[at + 3] & 0x3F
    else:
        return False
    return is_word[code]


@plain_kernel
def _word_before(text: Array, at: Any, is_word: Array) -> Any:
    at -= 1
    while text[at] & 0xC0 == 0x80:
        at -= 1
    return _word_at(text, at, is_word)


@kernel
def _scan(
    text: Array, marks: Array, copies: Array, occurs: Array, firsts: Array, shift: Any, mask: Any, words: Array,
    data: Array, bounds: Array, anchors: Array, edges: Array, is_word: Array, seen: Array, documents: Array,
    places: Array,
) -> None:  # fmt: skip
    """Add the documents and places of each string in a block; `seen` is the last document that each was seen in."""
    document = 0
    for at in range(text.size):
        word = load64(text, at) & mask
        slot = np.int64((word * MULTIPLIER) >> shift)
        if occurs[slot] == 0:
            continue
        for row in range(firsts[slot], firsts[slot + 1]):
            if words[row] != word:
                continue
            start = at - anchors[row]
            length = bounds[row + 1] - bounds[row]
            if start < 0 or start + length > text.size:
                continue
            k = 0
            while k < length and text[start + k] == data[bounds[row] + k]:
                k += 1
            if k < length:
                continue
            if edges[row, 0] and _word_before(text, start, is_word):
                continue
            if edges[row, 1] and _word_at(text, start + length, is_word):
                continue
            while marks[document + 1] < at:
                document += 1
            places[row] += copies[document]
            if seen[row] != document:
                seen[row] = document
                documents[row] += copies[document]


def count_strings(
    segments: Sequence[Segment], strings: Sequence[str], *, ignore_case: bool, whole_words: bool
) -> Counts:
    """Count documents and places of each string in all segments (see `Index.count_strings`)."""
    if not all(strings):
        raise ValueError("strings to count must not be empty")
    cased = [string.casefold() if ignore_case else string for string in strings]
    plans = _plans([string.encode("utf-8", "surrogatepass") for string in cased], _edges(cased, whole_words))
    counts = Counts(np.zeros(len(strings), dtype=np.int64), np.zeros(len(strings), dtype=np.int64))
    blocks = [(segment, first, last) for segment in segments for first, last in _blocks(segment)]
    with ThreadPoolExecutor() as pool:
        for found in pool.map(lambda block: _count_block(block, plans, ignore_case), blocks):
            for plan, (documents, places) in zip(plans, found, strict=True):
                counts.documents[plan.numbers] += documents
                counts.occurrences[plan.numbers] += places
    return counts


def _edges(strings: Sequence[str], whole_words: bool) -> Array:
    """bool[n, 2]: whether each string begins and ends with a word character, where that matters."""
    if not whole_words:
        return np.zeros((len(strings), 2), dtype=np.bool_)
    return np.array([(_is_word(string[0]), _is_word(string[-1])) for string in strings], dtype=np.bool_)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@cache
def _word_characters() -> Array:
    """bool[CODE_POINTS]: whether each is a letter, a digit or the underscore."""
    return np.array([_is_word(chr(code)) for code in range(CODE_POINTS)], dtype=np.bool_)


def _blocks(segment: Segment) -> Iterator[tuple[int, int]]:
    """Cut a segment's documents into runs of some 8 MB, as (first, last) document."""
    starts = segment.starts
    first = 0
    while first < starts.size - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + BLOCK_BYTES, side="right")) - 1)
        last = min(last, starts.size - 1)
        yield first, last
        first = last


def _plans(wanted: Sequence[bytes], edges: Array) -> list[_Plan]:
    groups: dict[int, list[int]] = {}
    for number, string in enumerate(wanted):
        groups.setdefault(next(piece for piece in PIECES if piece <= len(string)), []).append(number)
    return [_plan(wanted, edges, numbers, piece) for piece, numbers in groups.items()]


def _plan(wanted: Sequence[bytes], edges: Array, numbers: list[int], piece: int) -> _Plan:
    # The middle of a string tells strings apart better than its start, which families of strings share.
    anchors = {number: (len(wanted[number]) - piece) // 2 for number in numbers}
    words = {n: int.from_bytes(wanted[n][anchors[n] : anchors[n] + piece], "little") for n in numbers}
    slots = 1 << min(26, max(12, len(numbers).bit_length() + 5))
    shift = np.uint64(64 - (slots.bit_length() - 1))
    hashes = (np.array([words[n] for n in numbers], dtype=np.uint64) * MULTIPLIER) >> shift
    order = [numbers[n] for n in np.argsort(hashes, kind="stable").tolist()]
    hashes.sort()
    firsts = np.searchsorted(hashes, np.arange(slots + 1, dtype=np.uint64)).astype(np.int32)
    bounds = np.cumsum([0, *(len(wanted[n]) for n in order)])
    return _Plan(
        numbers=np.array(order, dtype=np.int64),
        data=np.frombuffer(b"".join(wanted[n] for n in order), dtype=np.uint8),
        bounds=bounds,
        anchors=np.array([anchors[n] for n in order], dtype=np.int64),
        edges=edges[order],
        words=np.array([words[n] for n in order], dtype=np.uint64),
        mask=np.uint64((1 << 8 * piece) - 1),
        occurs=(np.diff(firsts) > 0).astype(np.uint8),
        firsts=firsts,
    )


def _count_block(
    block: tuple[Segment, int, int], plans: Sequence[_Plan], ignore_case: bool
) -> list[tuple[Array, Array]]:
    segment, first, last = block
    # From the mark before the first document to the one behind the last; words are read beyond it.
    text = segment.text[segment.starts[first] - 1 : segment.starts[last]]
    if ignore_case:
        text = _folded(text.tobytes())
    marks = np.flatnonzero(text == DOCUMENT_MARK)
    copies = np.diff(segment.copies[first : last + 1])
    return [_count_plan(text, marks, copies, plan) for plan in plans]


def _folded(text: bytes) -> Array:
    """Case-fold a block; the marks between documents pass through as lone surrogates."""
    marks = bytes([DOCUMENT_MARK]) * PAD
    if text.count(DOCUMENT_MARK) + len(text.translate(None, bytes(range(128, 256)))) == len(text):
        folded = text.lower()
    else:
        folded = text.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")
    return np.frombuffer(bytearray(folded + marks), dtype=np.uint8)[: len(folded)]


def _count_plan(text: Array, marks: Array, copies: Array, plan: _Plan) -> tuple[Array, Array]:
    """Documents and places of a plan's strings in a block: two int64[n]."""
    size = plan.numbers.size
    seen, documents, places = (
        np.full(size, -1),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )
    shift = np.uint64(64 - (plan.occurs.size.bit_length() - 1))
    is_word = _word_characters() if plan.edges.any() else np.zeros(0, dtype=np.bool_)
    strings = (plan.words, plan.data, plan.bounds, plan.anchors, plan.edges)
    _scan(
        text,
        marks,
        copies,
        plan.occurs,
        plan.firsts,
        shift,
        plan.mask,
        *strings,
        is_word,
        seen,
        documents,
        places,
    )
    return documents, places
