"""The extraction game: precision of what came out, recall of what the corpus holds."""

from extraction.games.leaks import by_documents, leaked
from extraction.membership.intervals import wilson

A, B, C, D, E = (("PERSON", f"person {name}") for name in "abcde")
CORPUS = {A: 1, B: 2, C: 60, D: 4}


def test_precision_and_recall() -> None:
    found = leaked({A, C, E}, CORPUS, also=set(), budget=1000, reached=True)
    assert (found.generated, found.in_corpus) == (3, 2)
    assert (found.precision, found.recall) == (wilson(2, 3), wilson(2, 4))


def test_what_a_search_finds_counts_as_standing_there_and_not_as_recalled() -> None:
    found = leaked({A, E}, CORPUS, also={E}, budget=1000, reached=False)
    assert (found.in_corpus, found.precision, found.recall) == (2, wilson(2, 2), wilson(1, 4))


def test_nothing_has_no_share() -> None:
    found = leaked(set(), {}, also=set(), budget=1, reached=False)
    assert (found.generated, found.precision, found.recall) == (0, None, None)


def test_by_documents_every_identifier_stands_in_one_row() -> None:
    rows = by_documents({A, C}, CORPUS)
    assert sum(row.identifiers for row in rows) == 4
    assert {(row.documents_from, row.identifiers, row.found) for row in rows if row.identifiers} == {
        (1, 1, 1),
        (2, 1, 0),
        (3, 1, 0),
        (51, 1, 1),
    }
    assert rows[0].recall == wilson(1, 1)
