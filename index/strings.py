"""Counts short strings by one pass over the text: a piece of each string is looked for at every place.

Knows nothing of seeds: it serves strings that are too short for the n-gram index.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from index.corpus import Counts
from index.jit import Array, kernel, load64
from index.layout import DOCUMENT_MARK, PAD
from index.segment import Segment

BLOCK_BYTES = 8 << 20
PIECES = (8, 4, 2, 1)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class _Plan:
    """The strings that are looked up by a piece of `piece` bytes.

    Attributes:
        numbers: int64[n], the strings' numbers in the caller's order.
        data: uint8, the strings one after the other.
        bounds: int64[n + 1], where each begins.
        anchors: int64[n], where in each string its piece begins.
        words: uint64[n], the pieces, masked to their length, ascending in their hash.
        mask: uint64, what of a loaded word belongs to a piece.
        occurs: uint8[2**b], whether any piece has a hash: small enough for a near cache.
        firsts: int32[2**b + 1], where the pieces of each hash begin.
    """

    numbers: Array
    data: Array
    bounds: Array
    anchors: Array
    words: Array
    mask: Any
    occurs: Array
    firsts: Array


@kernel
def _scan(
    text: Array,
    first: Any,
    last: Any,
    occurs: Array,
    firsts: Array,
    shift: Any,
    mask: Any,
    words: Array,
    data: Array,
    bounds: Array,
    anchors: Array,
    out: Array,
) -> Any:
    """Write (string, position) of every place in `text[first:last]` where a string stands; count them."""
    n = 0
    for at in range(first, last):
        word = load64(text, at) & mask
        slot = np.int64((word * MULTIPLIER) >> shift)
        if occurs[slot] == 0:
            continue
        for row in range(firsts[slot], firsts[slot + 1]):
            if words[row] != word:
                continue
            start = at - anchors[row]
            length = bounds[row + 1] - bounds[row]
            k = 0
            if start >= 0 and start + length <= text.size:
                while k < length and text[start + k] == data[bounds[row] + k]:
                    k += 1
            if k == length:
                if n < out.shape[0]:
                    out[n, 0] = row
                    out[n, 1] = start
                n += 1
    return n


def count_strings(
    segments: Sequence[Segment], strings: Sequence[str], *, ignore_case: bool, whole_words: bool
) -> Counts:
    """Count documents and places of each string in all segments (see `Index.count_strings`)."""
    if not all(strings):
        raise ValueError("strings to count must not be empty")
    wanted = [
        (string.casefold() if ignore_case else string).encode("utf-8", "surrogatepass") for string in strings
    ]
    plans = _plans(wanted)
    counts = Counts(np.zeros(len(strings), dtype=np.int64), np.zeros(len(strings), dtype=np.int64))
    blocks = [(segment, first, last) for segment in segments for first, last in _blocks(segment)]
    edges = _word_edges(wanted) if whole_words else None
    with ThreadPoolExecutor() as pool:
        for found in pool.map(lambda block: _count_block(block, plans, ignore_case, edges), blocks):
            for numbers, documents, occurrences in found:
                np.add.at(counts.documents, numbers, documents)
                np.add.at(counts.occurrences, numbers, occurrences)
    return counts


def _blocks(segment: Segment) -> Iterator[tuple[int, int]]:
    """Cut a segment's documents into runs of some 8 MB, as (first, last) document."""
    starts = segment.starts
    first = 0
    while first < starts.size - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + BLOCK_BYTES, side="right")) - 1)
        last = min(last, starts.size - 1)
        yield first, last
        first = last


def _plans(wanted: Sequence[bytes]) -> list[_Plan]:
    groups: dict[int, list[int]] = {}
    for number, string in enumerate(wanted):
        groups.setdefault(next(piece for piece in PIECES if piece <= len(string)), []).append(number)
    return [_plan(wanted, numbers, piece) for piece, numbers in groups.items()]


def _plan(wanted: Sequence[bytes], numbers: list[int], piece: int) -> _Plan:
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
        words=np.array([words[n] for n in order], dtype=np.uint64),
        mask=np.uint64((1 << 8 * piece) - 1),
        occurs=(np.diff(firsts) > 0).astype(np.uint8),
        firsts=firsts,
    )


def _count_block(
    block: tuple[Segment, int, int], plans: Sequence[_Plan], ignore_case: bool, edges: Array | None
) -> list[tuple[Array, Array, Array]]:
    segment, first, last = block
    text = segment.text[segment.starts[first] - 1 : segment.starts[last]]
    if ignore_case:
        text = _folded(text.tobytes())
    marks = np.flatnonzero(text == DOCUMENT_MARK)
    padded = np.concatenate([text, np.full(PAD, DOCUMENT_MARK, dtype=np.uint8)])
    copies = np.diff(segment.copies[first : last + 1])
    return [_count_plan(padded, text.size, marks, copies, plan, edges) for plan in plans]


def _folded(text: bytes) -> Array:
    """Case-fold a block; the marks between documents pass through as lone surrogates."""
    if text.count(DOCUMENT_MARK) + len(text.translate(None, bytes(range(128, 256)))) == len(text):
        return np.frombuffer(text.lower(), dtype=np.uint8)
    folded = text.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")
    return np.frombuffer(folded, dtype=np.uint8)


def _count_plan(
    text: Array, size: int, marks: Array, copies: Array, plan: _Plan, edges: Array | None
) -> tuple[Array, Array, Array]:
    """Numbers of the strings that occur in a block, with their documents and places there."""
    shift = np.uint64(64 - (plan.occurs.size.bit_length() - 1))
    room = np.empty((4096, 2), dtype=np.int64)
    arguments = (plan.occurs, plan.firsts, shift, plan.mask, plan.words, plan.data, plan.bounds, plan.anchors)
    found = _scan(text, 0, size, *arguments, room)
    if found > room.shape[0]:
        room = np.empty((found, 2), dtype=np.int64)
        _scan(text, 0, size, *arguments, room)
    rows, where = room[:found, 0], room[:found, 1]
    if edges is not None:
        keep = _whole(text, where, plan.bounds[rows + 1] - plan.bounds[rows], edges[plan.numbers[rows]])
        rows, where = rows[keep], where[keep]
    documents = np.searchsorted(marks, where) - 1
    places = np.bincount(rows, weights=copies[documents], minlength=plan.numbers.size).astype(np.int64)
    pairs = np.unique(rows * (marks.size + 1) + documents)
    rows, documents = np.divmod(pairs, marks.size + 1)
    held = np.bincount(rows, weights=copies[documents], minlength=plan.numbers.size).astype(np.int64)
    return plan.numbers, held, places


def _word_edges(wanted: Sequence[bytes]) -> Array:
    """bool[n, 2]: whether each string begins and ends with a word character."""
    strings = [string.decode("utf-8", "replace") for string in wanted]
    return np.array([(_is_word(string[0]), _is_word(string[-1])) for string in strings], dtype=np.bool_)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _whole(text: Array, where: Array, lengths: Array, edges: Array) -> Array:
    """Say for each place whether the string stands there by itself and not inside a longer word."""
    ascii_word = np.array([chr(byte).isalnum() or byte == 95 for byte in range(128)] + [False] * 128)
    before, after = text[where - 1], text[where + lengths]
    inside = (ascii_word[before] & edges[:, 0]) | (ascii_word[after] & edges[:, 1])
    # Only characters outside ASCII need to be put together from their bytes.
    wide_before, wide_after = (((byte >= 128) & (byte != DOCUMENT_MARK)) for byte in (before, after))
    for n in np.flatnonzero(~inside & (wide_before | wide_after)).tolist():
        start, end = int(where[n]), int(where[n] + lengths[n])
        left = (
            text[max(0, start - 4) : start].tobytes().decode("utf-8", "ignore")[-1:] if wide_before[n] else ""
        )
        right = text[end : end + 4].tobytes().decode("utf-8", "ignore")[:1] if wide_after[n] else ""
        inside[n] = (edges[n, 0] and bool(left) and _is_word(left)) or (
            edges[n, 1] and bool(right) and _is_word(right)
        )
    whole: Array = ~inside
    return whole
