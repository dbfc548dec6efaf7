"""Edit distance over tokens, against the definition."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from extraction.discoverable.edits import edit_distance, nearest

TOKENS = st.lists(st.integers(0, 4), max_size=9)


def by_definition(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        replaced = distance(i - 1, j - 1) + (first[i - 1] != second[j - 1])
        return min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(first), len(second))


@given(TOKENS, TOKENS)
def test_it_is_the_definition(first: list[int], second: list[int]) -> None:
    assert edit_distance(first, second) == by_definition(tuple(first), tuple(second))


def test_the_nearest_counts() -> None:
    assert nearest([1, 2, 3], [[9, 9, 9], [1, 2, 4], [1, 2]]) == 1
    assert edit_distance([], [5, 6]) == 2
    assert edit_distance(list(range(50)), list(range(1, 51))) == 2  # shifted by one: one in, one out
