import random

import numpy as np

from extraction.clusters import _bucket_links, cluster_passages
from tests.extraction.test_windows import words

FIRST, SECOND, THIRD = words(60, 11), words(60, 12), words(60, 13)
TEXTS = {
    "d": FIRST,
    "b": FIRST[:200] + b"One Word" + FIRST[200:],
    "c": FIRST.upper().replace(b" ", b"\n  "),
    "a": SECOND,
    "e": SECOND[5:],
    "f": THIRD,
    "g": b"ok",
}


def clusters(names, threshold=0.7):
    return dict(zip(names, cluster_passages(names, [TEXTS[n] for n in names], threshold), strict=True))


def test_near_duplicates_share_a_cluster_named_by_the_least_member():
    assert clusters(list(TEXTS)) == {"a": "a", "e": "a", "b": "b", "c": "b", "d": "b", "f": "f", "g": "g"}


def test_order_does_not_matter():
    rng = random.Random(3)
    expected = clusters(list(TEXTS))
    for _ in range(10):
        names = list(TEXTS)
        rng.shuffle(names)
        assert clusters(names) == expected


def test_the_threshold_decides():
    assert clusters(["a", "e"], 0.7)["e"] == "a"
    assert clusters(["d", "b"], 1.0) == {"d": "d", "b": "b"}
    assert clusters(["d", "c"], 1.0)["d"] == "c"
    assert cluster_passages([], [], 0.7) == []


def near_identical(count):
    """One letter to many people: each differs from the others in two words."""
    rng = random.Random(4)
    letter = FIRST.decode().split()
    made = []
    for number in range(count):
        own = list(letter)
        own[rng.randrange(60)], own[30] = f"name{number}", f"account{number * 7919}"
        made.append(" ".join(own).encode())
    return made


def test_a_huge_group_of_near_identical_letters_is_one_cluster():
    letters = near_identical(1500)
    ids = [f"{number:05d}" for number in range(1500)]
    names = cluster_passages([*ids, "z"], [*letters, THIRD], 0.7)
    assert set(names[:-1]) == {"00000"} and names[-1] == "z"


def brute_pairs(sketches, threshold):
    alike = (sketches[:, None] == sketches[None]).mean(axis=2) >= threshold
    reach = np.linalg.matrix_power(alike.astype(np.int64), 2) > 0
    while (grown := (reach.astype(np.int64) @ reach) > 0).sum() > reach.sum():
        reach = grown
    return reach


def test_a_small_bucket_is_connected_as_all_its_pairs_are():
    rng = np.random.default_rng(6)
    for _ in range(20):
        centres = rng.integers(0, 9, (4, 128), dtype=np.uint32)
        sketches = centres[rng.integers(0, 4, 30)]
        changed = rng.random(sketches.shape) < rng.uniform(0.05, 0.25, (30, 1))
        sketches = np.where(changed, rng.integers(10, 99, sketches.shape, dtype=np.uint32), sketches)
        group = np.arange(30)
        for pairs in _bucket_links(sketches, np.arange(30), 0.7):
            for a, b in pairs:
                group[group == group[b]] = group[a]
        assert np.array_equal(group[:, None] == group[None], brute_pairs(sketches, 0.7))


def test_the_work_in_a_huge_bucket_does_not_grow_with_its_square():
    sketches = np.random.default_rng(2).integers(0, 2**32, (60_000, 128), dtype=np.uint32)
    members = np.arange(60_000)
    assert (
        sum(len(pairs) for pairs in _bucket_links(sketches, members, 0.7)) == 0
    )  # all unlike: minutes by pairs
    sketches[:, :100] = sketches[0, :100]
    assert sum(len(pairs) for pairs in _bucket_links(sketches, members, 0.7)) == 59_999  # all alike: one each
