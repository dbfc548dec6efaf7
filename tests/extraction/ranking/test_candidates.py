from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extraction.ranking.candidates import Picking, different, draw, suspicious_first


def pick(scores: np.ndarray, tokens: list[list[int]], picking: Picking) -> list[int]:
    order = suspicious_first(scores).tolist()
    kept = different([tokens[n] for n in order], picking.wanted)
    return [order[kept[place]] for place in draw(len(kept), picking)]


def test_the_highest_come_first_and_nan_never() -> None:
    tokens = [[n, n + 1, n + 2] for n in range(0, 50, 10)]
    scores = np.array([1.0, np.nan, 3.0, 2.0, np.nan])
    assert pick(scores, tokens, Picking(count=10, among=None)) == [2, 3, 0]
    assert pick(scores, tokens, Picking(count=2, among=None)) == [2, 3]


def test_near_copies_fall() -> None:
    first = [1, 2, 3, 4, 5, 6]  # four trigrams
    half = [1, 2, 3, 4, 9, 9]  # two of its four stand in the first
    third = [1, 2, 3, 8, 8, 7]  # one of four
    repeated = [1, 2, 3, 1, 2, 3]  # 123 twice, 231, 312: the first holds 123 once
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    assert pick(scores, [first, half, third, repeated], Picking(among=None)) == [0, 2, 3]


def test_of_short_ones_without_trigrams_only_copies_fall() -> None:
    tokens = [[1, 2], [1, 2], [2, 1], [1], [1], [], []]
    assert pick(-np.arange(7.0), tokens, Picking(among=None)) == [0, 2, 3, 5]


def test_no_more_is_read_than_it_takes() -> None:
    read: list[int] = []

    def texts() -> Iterator[list[int]]:
        for n in range(100):
            read.append(n)
            yield [n, n + 1, n + 2]

    assert different(texts(), 3) == [0, 1, 2]
    assert read == [0, 1, 2]


def test_a_draw_from_the_top_is_seeded_and_in_order() -> None:
    tokens = [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(500)]
    scores = -np.arange(500.0)
    picked = pick(scores, tokens, Picking(count=20, among=100, seed=1))
    assert picked == sorted(picked)
    assert len(set(picked)) == 20
    assert max(picked) < 100
    assert picked == pick(scores, tokens, Picking(count=20, among=100, seed=1))
    assert picked != pick(scores, tokens, Picking(count=20, among=100, seed=2))


@given(st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=12))
def test_any_texts_against_a_direct_comparison(tokens: list[list[int]]) -> None:
    kept: list[int] = []
    for n, ids in enumerate(tokens):
        trigrams = [tuple(ids[i : i + 3]) for i in range(len(ids) - 2)]

        def near(other: int, trigrams: list[tuple[int, ...]] = trigrams) -> bool:
            rest = [tuple(tokens[other][i : i + 3]) for i in range(len(tokens[other]) - 2)]
            shared = 0
            for trigram in trigrams:
                if trigram in rest:
                    rest.remove(trigram)
                    shared += 1
            return bool(trigrams) and shared > 0 and 2 * shared >= len(trigrams)

        if ids not in tokens[:n] and not any(near(other) for other in kept):
            kept.append(n)
    assert pick(-np.arange(float(len(tokens))), tokens, Picking(count=20, among=None)) == kept
