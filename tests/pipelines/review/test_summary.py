import json

import pytest

from pipelines.review.store import Store
from pipelines.review.verdicts import TWO_PEOPLE, Judgement, give


@pytest.fixture
def store(run):
    made = Store(run)
    yield made
    made.close()


def reviewed(run, command):
    assert command("report", run)[0] == 0
    return json.loads((run / "report.json").read_text())["review"]


def test_the_report_counts_the_verdicts(run, store, command):
    give(store, "rosa", ["a1"], Judgement("private"))
    give(store, "rolf", ["a1", "c1", "gone"], Judgement("public"))
    section = reviewed(run, command)
    private = section["kinds"]["private"]
    assert (private["passages"], private["none"], private["public"], private["private"]) == (3, 2, 1, 0)
    assert section["kinds"]["shared"]["public"] == 1
    page = (run / "report.html").read_text()
    assert "What people said of the passages" in page
    give(store, "rosa", ["b1"], Judgement("unsure"))
    assert reviewed(run, command)["kinds"]["private"]["unsure"] == 1  # written again, it is counted again


def test_two_people_are_counted_once_both_have_judged(run, store, command):
    with store.changing() as connection:
        connection.execute("INSERT INTO facts VALUES (?, 'yes')", (TWO_PEOPLE,))
    give(store, "rosa", ["a1", "b1"], Judgement("private"))
    give(store, "rolf", ["a1"], Judgement("public"))
    section = reviewed(run, command)
    private = section["kinds"]["private"]
    assert (private["disagree"], private["none"]) == (1, 2)
    assert section["agreement"] == 0.0


def test_without_a_review_the_report_stays_as_it_is(run, command):
    before = (run / "report.json").read_text()
    assert command("report", run)[0] == 0
    assert (run / "report.json").read_text() == before
    assert "What people said" not in (run / "report.html").read_text()
