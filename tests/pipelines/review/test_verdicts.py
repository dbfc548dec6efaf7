import threading

import pytest

from pipelines.review import log
from pipelines.review.store import Store
from pipelines.review.verdicts import DISAGREE, NONE, Judgement, Standing, agreement, give


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path)
    yield made
    made.close()


def test_the_last_verdict_stands_and_none_is_lost(store):
    give(store, "rosa", ["x"], Judgement("unsure"))
    give(store, "rosa", ["x"], Judgement("private", "remove", "a letter"))
    standing = Standing(store, two_people=False)
    standing.refresh()
    assert standing.outcome("x", "rolf") == "private"
    assert standing.own("x", "rosa").note == "a letter"
    assert store.rows("SELECT count(*) FROM verdicts") == [(2,)]


def test_of_two_people_none_sees_the_other_before_both_have_judged(store):
    standing = Standing(store, two_people=True)
    give(store, "rosa", ["x"], Judgement("private"))
    standing.refresh()
    assert standing.outcome("x", "rosa") == "private"
    assert standing.visible("x", "rolf") == [] and standing.outcome("x", "rolf") == NONE
    give(store, "rolf", ["x"], Judgement("public"))
    standing.refresh()
    assert standing.outcome("x", "rosa") == standing.outcome("x", "vera") == DISAGREE
    give(store, "rolf", ["x"], Judgement("private"))
    standing.refresh()
    assert standing.outcome("x", "rosa") == "private"
    assert standing.pairs() == {("private", "public"): 1}  # what they said blind


def test_agreement_is_that_of_cohen():
    # Worked by hand: of 10 pairs 8 agree; 6 and 6 of 10 say private: 0.36 + 0.16 = 0.52 by chance.
    pairs = {
        ("private", "private"): 5,
        ("public", "public"): 3,
        ("private", "public"): 1,
        ("public", "private"): 1,
    }
    observed, kappa = agreement(pairs)
    assert (observed, round(kappa, 4)) == (0.8, 0.5833)
    assert agreement({}) == (None, None)
    assert agreement({("private", "private"): 1}) == (1.0, None)


def test_a_cluster_is_judged_in_one_change(store):
    give(store, "rosa", ["x", "y", "z"], Judgement("boilerplate"), cluster="x")
    (entry,) = log.entries(store)
    assert (entry.subject, entry.details) == (
        "x",
        '{"items": 3, "proposed": "none", "verdict": "boilerplate"}',
    )
    assert store.rows("SELECT item FROM verdicts") == [("x",), ("y",), ("z",)]


def test_two_servers_on_one_run_lose_nothing_and_keep_one_chain(tmp_path):
    stores = [Store(tmp_path) for _ in range(2)]

    def judge(store, who):
        for number in range(50):
            give(store, who, [f"item-{number}"], Judgement("private"))

    threads = [
        threading.Thread(target=judge, args=pair) for pair in zip(stores, ("rosa", "rolf"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = log.entries(stores[0])
    assert len(entries) == 100 and log.fault(stores[0], entries) is None
    standing = Standing(stores[1], two_people=True)
    standing.refresh()
    assert {said for _, said, _ in standing.settled()} == {"private"}
    assert standing.pairs() == {("private", "private"): 50} and standing.judged == {"rosa": 50, "rolf": 50}
    for store in stores:
        store.close()
