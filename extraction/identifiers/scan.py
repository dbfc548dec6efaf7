"""The pass over the corpus: every run of whole words whose letters and digits spell one of the values.

What stands between words is not looked at here, only how much of it. So `1234 5678` and `12345678` come out
alike, and so does much that is no match: `verify` judges each hit exactly.
"""

import functools
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Code points of scripts that are written without blanks: each character is a word of its own.
_SOLO_BLOCKS = (
    range(0x0E00, 0x0F00),
    range(0x3040, 0x3100),
    range(0x3400, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x32400),
)
_LAST_TABLED = 0x20000
_SOLO = 1 << 31
# White space of a wrapped and indented line; more than that parts two words.
_MOST_BETWEEN = 40
_SEED, _PRIME, _MIX = 0xCBF29CE484222325, 0x100000001B3, 0x9E3779B97F4A7C15
_BITS_FOR_A_PREFIX = 16


@functools.cache
def fold_table() -> NDArray[np.uint32]:
    """Map code points to word characters, lower case; 0 parts words, bit 31 marks a word by itself."""
    table = np.zeros(sys.maxunicode + 1, np.uint32)
    for code in range(_LAST_TABLED):
        table[code] = _folded(chr(code))
    for block in _SOLO_BLOCKS:
        letters = np.arange(block.start, block.stop, dtype=np.uint32)
        if block.start >= _LAST_TABLED:
            table[block.start : block.stop] = letters
        chosen = table[block.start : block.stop]
        chosen[chosen > 0] |= np.uint32(_SOLO)
    return table


def _folded(char: str) -> int:
    category = unicodedata.category(char)
    if category == "Nd":
        return ord(str(unicodedata.decimal(char)))
    # Variation selectors are marks, too, but they stand behind signs, in front of words.
    if char != "_" and (category[0] not in "LM" or category == "Me" or 0xFE00 <= ord(char) <= 0xFE0F):
        return 0
    if 0xFF01 <= ord(char) <= 0xFF5E:
        char = chr(ord(char) - 0xFEE0)
    lowered = char.lower()
    return ord(lowered) if len(lowered) == 1 else ord(char)


def compact(text: str) -> str:
    """Keep the word characters of `text`, folded: the form in which values are hashed."""
    table = fold_table()
    return (
        "".join(chr(int(code) & ~_SOLO) for code in table[[ord(char) for char in text]] if code)
        if text
        else ""
    )


class Keys:
    """The compact forms that are looked for, hashed."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Build the tables.

        Args:
            keys: distinct, each made by `compact`, none empty. Hits name them by position.
        """
        hashes, prefixes = _hashes(keys)
        self.longest = max((len(key) for key in keys), default=0)
        self.bitmap = np.zeros(_power_of_two(_BITS_FOR_A_PREFIX * max(1, len(prefixes))) // 8, np.uint8)
        _set_bits(self.bitmap, prefixes)
        self.slot_hashes = np.zeros(_power_of_two(2 * max(1, len(keys)) + 1), np.uint64)
        self.slot_keys = np.full(len(self.slot_hashes), -1, np.int64)
        _fill_slots(self.slot_hashes, self.slot_keys, hashes)

    def scan(self, text: NDArray[Any], low: int, high: int) -> NDArray[np.int64]:
        """Find the hits whose first word begins in `low:high`.

        Args:
            text: code points: uint8 for ASCII, else uint32.
            low: first position.
            high: one past the last.

        Returns:
            int64[n, 3]: start, end, key; in order of start.
        """
        room = 1024
        table = fold_table()
        while True:
            out = np.empty((room, 3), np.int64)
            found = _scan(
                text, table, low, high, self.longest, self.bitmap, self.slot_hashes, self.slot_keys, out
            )
            if found <= room:
                return out[:found]
            room = found


def _power_of_two(least: int) -> int:
    return 1 << max(6, (least - 1).bit_length())


def _hashes(keys: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    codes = np.array([ord(char) for key in keys for char in key], np.uint64)
    ends = np.cumsum([len(key) for key in keys], dtype=np.int64) if keys else np.zeros(0, np.int64)
    prefixes = _hash_prefixes(codes, ends)
    return prefixes[ends - 1] if keys else prefixes, prefixes


def _hash_prefixes_py(codes: Any, ends: Any) -> Any:
    out = np.empty(len(codes), np.uint64)
    start = 0
    for end in ends:
        h = np.uint64(_SEED)
        for position in range(start, end):
            h = (h ^ codes[position]) * np.uint64(_PRIME)
            out[position] = h
        start = end
    return out


def _mix_py(h: Any) -> Any:
    return (h ^ (h >> np.uint64(29))) * np.uint64(_MIX)


_mix = numba.njit(inline="always")(_mix_py)


def _set_bits_py(bitmap: Any, hashes: Any) -> None:
    mask = np.uint64(len(bitmap) * 8 - 1)
    for h in hashes:
        bit = (_mix(h) >> np.uint64(20)) & mask
        bitmap[bit >> np.uint64(3)] |= np.uint8(1 << (bit & np.uint64(7)))


def _fill_slots_py(slot_hashes: Any, slot_keys: Any, hashes: Any) -> None:
    mask = np.uint64(len(slot_hashes) - 1)
    for key in range(len(hashes)):
        slot = (_mix(hashes[key]) >> np.uint64(16)) & mask
        while slot_keys[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slot_hashes[slot] = hashes[key]
        slot_keys[slot] = key


def _scan_py(
    text: Any,
    table: Any,
    low: int,
    high: int,
    longest: int,
    bitmap: Any,
    slot_hashes: Any,
    slot_keys: Any,
    out: Any,
) -> int:
    """Return the number of hits; those that `out` has room for are in it."""
    size = len(text)
    solo = np.uint32(_SOLO)
    letter = np.uint32(_SOLO - 1)
    bit_mask = np.uint64(len(bitmap) * 8 - 1)
    slot_mask = np.uint64(len(slot_hashes) - 1)
    found = 0
    position = low
    if 0 < low < size and table[text[low]] & letter and not table[text[low]] & solo:
        before = table[text[low - 1]]
        if before & letter and not before & solo:  # inside a word that began further left
            while position < size and table[text[position]] and not table[text[position]] & solo:
                position += 1
    while position < high:
        if table[text[position]] == 0:
            position += 1
            continue
        start = position
        at = position
        length = 0
        h = np.uint64(_SEED)
        first_word = True
        while True:
            # One word, folded into the hash of what stands in front of it.
            code = table[text[at]]
            if code & solo:
                h = (h ^ np.uint64(code & letter)) * np.uint64(_PRIME)
                length += 1
                at += 1
            else:
                while at < size:
                    code = table[text[at]]
                    if code == 0 or code & solo:
                        break
                    h = (h ^ np.uint64(code)) * np.uint64(_PRIME)
                    length += 1
                    at += 1
                    if length > longest and not first_word:
                        break
            if first_word:
                position = at
                first_word = False
            if length > longest:
                break
            mixed = _mix(h)
            bit = (mixed >> np.uint64(20)) & bit_mask
            if not bitmap[bit >> np.uint64(3)] & np.uint8(1 << (bit & np.uint64(7))):
                break
            slot = (mixed >> np.uint64(16)) & slot_mask
            while slot_keys[slot] >= 0:
                if slot_hashes[slot] == h:
                    if found < len(out):
                        out[found, 0] = start
                        out[found, 1] = at
                        out[found, 2] = slot_keys[slot]
                    found += 1
                slot = (slot + np.uint64(1)) & slot_mask
            end = at
            while at < size and table[text[at]] == 0 and at - end <= _MOST_BETWEEN:
                at += 1
            if at >= size or at - end > _MOST_BETWEEN:
                break
    return found


_hash_prefixes = numba.njit(cache=True)(_hash_prefixes_py)
_set_bits = numba.njit(cache=True)(_set_bits_py)
_fill_slots = numba.njit(cache=True)(_fill_slots_py)
_scan = numba.njit(cache=True, nogil=True)(_scan_py)
