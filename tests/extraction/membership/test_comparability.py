import numpy as np
import pytest

from extraction.membership.baseline import blind_baseline
from extraction.membership.comparability import MISSING, RARE, differences, standardised_difference
from extraction.membership.overlap import (
    NEAR_TEXT,
    SAME_GROUP,
    SAME_ID,
    SAME_TEXT,
    Identity,
    crossing,
)

WORDS = [f"word{n}" for n in range(60)]


def texts(count: int, seed: int, words: list[str] = WORDS) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 20)) for _ in range(count)]


def test_worked_standardised_differences() -> None:
    # Means 2 and 1, variances 2/3 and 2/3.
    assert standardised_difference(np.array([1.0, 2, 3]), np.array([0.0, 1, 2])) == pytest.approx(
        1.2247, abs=5e-5
    )
    half, fifth = np.array([1.0, 0] * 5), np.array([1.0, 0, 0, 0, 0] * 2)
    assert standardised_difference(half, fifth) == pytest.approx(0.3 / np.sqrt((0.25 + 0.16) / 2))
    assert standardised_difference(np.ones(3), np.ones(4)) == 0
    assert standardised_difference(np.ones(3), np.zeros(4)) == float("inf")


def test_numbers_dates_words_and_what_is_missing() -> None:
    members = {
        "period": ["2024-01"] * 100,
        "kind": ["shoes"] * 90 + ["hats"] * 10,
        "price": [10, 12] * 50,
        "source": [None] * 60 + ["web"] * 40,
        "shop": [f"shop{n}" for n in range(100)],
    }
    others = {
        "period": ["2024-06-01"] * 100,
        "kind": ["shoes"] * 50 + ["hats"] * 50,
        "price": [10, 12] * 50,
        "source": ["web"] * 100,
        "shop": [f"shop{n}" for n in range(100)],
    }
    found = {(one.name, one.level): one for one in differences(members, others, 0.2)}
    assert found["period", None].beyond
    assert found["period", None].difference is None  # each side is of one month: no variance to measure by
    assert found["kind", "hats"].difference == pytest.approx(-0.4 / np.sqrt((0.09 + 0.25) / 2))
    assert found["kind", "hats"].beyond
    assert (found["price", None].difference, found["price", None].beyond) == (0, False)
    assert found["source", MISSING].beyond
    assert found["shop", RARE].difference == 0  # no value is common enough to be named
    assert not any(level and level.startswith("shop") for _, level in found)


def test_a_large_difference_of_few_records_is_chance() -> None:
    few, many = [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]
    assert not differences({"x": few}, {"x": many}, 0.2)[0].beyond
    assert differences({"x": few * 100}, {"x": many * 100}, 0.2)[0].beyond
    assert not differences({"x": few * 100}, {"x": many * 100}, 0.9)[0].beyond


def test_words_tell_drifted_cohorts_apart_and_not_matched_ones() -> None:
    matched = blind_baseline(texts(150, 1), texts(150, 2), None, seed=0)
    assert matched is not None
    assert not matched.tells_apart
    later = texts(150, 2, [*WORDS[5:], *(f"new{n}" for n in range(5))])
    drifted = blind_baseline(texts(150, 1), later, None, seed=0)
    assert drifted is not None
    assert drifted.tells_apart
    assert drifted.auc.estimate > 0.7


def test_groups_are_not_split_over_folds() -> None:
    # Each group's word stands in its own records alone: across folds it tells nothing.
    groups = [f"g{n // 10}" for n in range(200)]
    own = [f"{group} {group}" for group in groups]
    found = blind_baseline(own[:100], own[100:], groups, seed=0)
    assert found is not None
    assert not found.tells_apart
    assert blind_baseline(own[:100], own[100:], None, seed=0).tells_apart


def test_too_few_records_or_no_words_give_no_baseline() -> None:
    assert blind_baseline(texts(9, 1), texts(50, 2), None, 0) is None
    assert blind_baseline([""] * 50, [" "] * 50, None, 0) is None


def test_what_stands_on_both_sides_is_found_with_its_reason() -> None:
    own = texts(6, 3)
    changed = own[3].split()
    changed[7] = "another"
    members = [Identity(f"m{n}", f"account{n}", text) for n, text in enumerate(own)]
    others = [
        Identity("m0", None, "an id that is there already"),
        Identity("o1", "account1", "of a customer that is there already"),
        Identity("o2", None, own[2].upper() + "  "),
        Identity("o3", None, " ".join(changed)),
        *(Identity(f"o{n}", None, text) for n, text in enumerate(texts(4, 4), 4)),
    ]
    inside, outside = crossing(members, others, 0.7)
    assert inside == {0: SAME_ID, 1: SAME_GROUP, 2: SAME_TEXT, 3: NEAR_TEXT}
    assert outside == inside
    assert crossing([Identity("a", None, None)], [Identity("b", None, None)], 0.7) == ({}, {})
