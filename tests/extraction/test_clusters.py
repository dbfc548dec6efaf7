import random

from extraction.clusters import cluster_passages
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
