"""The extraction game: which generated identifiers are the corpus' own, and how many of those did not come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extraction.membership.intervals import Interval, wilson

Value = tuple[str, str]
"""Type and normalised value."""

BINS = ((1, 1), (2, 2), (3, 5), (6, 10), (11, 50), (51, None))
"""Numbers of documents, both ends included."""


@dataclass(frozen=True)
class Leaked:
    """Distinct identifiers that a run generated within a budget.

    Attributes:
        budget: in generated tokens.
        reached: whether the run generated as many.
        generated: distinct identifiers.
        in_corpus: those of them that stand in the corpus.
        precision: their share, with its Wilson interval; None where none was generated.
        recall: of all identifiers of the corpus, the share that was generated; None where the corpus has none.
    """

    budget: int
    reached: bool
    generated: int
    in_corpus: int
    precision: Interval | None
    recall: Interval | None


@dataclass(frozen=True)
class ByDocuments:
    """Identifiers of the corpus by how many documents hold them (`documents_to` None: no upper end)."""

    documents_from: int
    documents_to: int | None
    identifiers: int
    found: int
    recall: Interval | None


def leaked(
    generated: set[Value], corpus: Mapping[Value, int], also: set[Value], budget: int, reached: bool
) -> Leaked:
    """Count what was generated within a budget.

    Args:
        generated: distinct identifiers that came out.
        corpus: all identifiers that the tagger finds in the corpus, with their documents.
        also: generated ones that a search of the text finds there too, though the tagger did not.
        budget: in generated tokens.
        reached: whether the run generated as many.
    """
    standing = {value for value in generated if value in corpus or value in also}
    recalled = sum(value in corpus for value in generated)
    return Leaked(
        budget=budget,
        reached=reached,
        generated=len(generated),
        in_corpus=len(standing),
        precision=wilson(len(standing), len(generated)) if generated else None,
        recall=wilson(recalled, len(corpus)) if corpus else None,
    )


def by_documents(generated: set[Value], corpus: Mapping[Value, int]) -> Sequence[ByDocuments]:
    """How many of the corpus' identifiers came out, by how many documents hold them."""
    rows = []
    for low, high in BINS:
        inside = [
            v for v, documents in corpus.items() if documents >= low and (high is None or documents <= high)
        ]
        found = sum(value in generated for value in inside)
        recall = wilson(found, len(inside)) if inside else None
        rows.append(ByDocuments(low, high, len(inside), found, recall))
    return rows
