import pytest

from pipelines.review.items import load_items
from pipelines.review.listing import PAGE, Filters, Listing
from pipelines.review.store import Store
from pipelines.review.verdicts import Judgement, Standing, give
from tests.pipelines.review import cases


@pytest.fixture
def store(run):
    made = Store(run)
    yield made
    made.close()


@pytest.fixture
def listing(run, store):
    items, _ = load_items(run, store.key)
    return Listing(items, Standing(store, two_people=False))


def ids(page):
    return [item.id for item in page.items]


def counts(page, facet):
    return {count.value: count.items for count in page.facets[facet]}


def test_private_passages_with_identifiers_come_first(listing):
    kinds = [item.kind for item in listing.items]
    assert kinds == ["private", "private", "private", "identifier", "shared", "low_entropy"]
    assert set(ids(listing.page(Filters(), "rosa"))[:3]) == {"a1", "b1", "b2"}


def test_no_item_holds_what_the_tagger_found(listing):
    for item in listing.items:
        assert not any(secret in item.masked for secret in cases.SECRETS)
    assert "[account number]" in listing.get("a1").masked


def test_filters_combine_and_counts_disregard_their_own_facet(listing):
    page = listing.page(Filters({"kind": ("private",), "budget": ("10000",)}), "rosa")
    assert ids(page) == ["a1", "b1"] and page.total == 2
    assert counts(page, "kind") == {"private": 2, "shared": 1, "low_entropy": 1}
    assert counts(page, "budget") == {"10000": 2, "20000": 1}
    assert counts(page, "family") == {"empty": 1, "public": 1}
    either = listing.page(Filters({"kind": ("private", "shared")}), "rosa")
    assert either.total == 4


def test_search_looks_at_masked_text_alone(listing):
    assert ids(listing.page(Filters(search="WOUND"), "rosa")) == ["b2", "b1"]
    for secret in cases.SECRETS:
        assert listing.page(Filters(search=secret), "rosa").total == 0


def test_a_cluster_can_be_looked_at_alone(listing):
    assert set(ids(listing.page(Filters(cluster="b1"), "rosa"))) == {"b1", "b2"}
    assert listing.page(Filters(cluster="unknown"), "rosa").total == 0


def test_verdicts_are_counted_as_soon_as_they_are_given(listing, store):
    assert counts(listing.page(Filters(), "rosa"), "verdict") == {"none": 6}
    give(store, "rosa", ["a1"], Judgement("private"))
    page = listing.page(Filters({"verdict": ("none",)}), "rosa")
    assert counts(page, "verdict") == {"none": 5, "private": 1}
    assert "a1" not in ids(page)
    before, behind = listing.neighbours(listing.get("a1"), Filters({"verdict": ("none",)}), "rosa")
    assert before is None and behind is not None  # one goes on from where one was


def test_the_state_of_the_list_survives_its_address():
    filters = Filters({"kind": ("private", "shared"), "type": ("EMAIL",)}, 'a & b "c"', "b1", 3)
    from urllib.parse import parse_qsl

    assert Filters.parse(parse_qsl(filters.query())) == filters
    odd = [("page", "-1"), ("page", "x"), ("kind", "<script>"), ("unknown", "1"), ("q", " " * 500)]
    assert Filters.parse(odd) == Filters({"kind": ("<script>",)})


def test_pages_hold_every_item_once(tmp_path):
    rows = [cases.passage(f"p{n:04d}", f"text {n}", document_count=n % 7) for n in range(2 * PAGE + 1)]
    run = cases.write_run(tmp_path / "many", rows)
    store = Store(run)
    items, _ = load_items(run, store.key)
    listing = Listing(items, Standing(store, two_people=False))
    pages = [listing.page(Filters({"kind": ("private",)}, page=number), "rosa") for number in (1, 2, 3)]
    assert [len(page.items) for page in pages] == [PAGE, PAGE, 1]
    assert len({name for page in pages for name in ids(page)}) == 2 * PAGE + 1
    assert listing.page(Filters(page=99), "rosa").number == 3
    store.close()
