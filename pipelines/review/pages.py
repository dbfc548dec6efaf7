"""What the pages show, as values for the templates; raw text comes in only where it was revealed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment

from pipelines.report.pages import environment
from pipelines.review.exports import EXPORTS
from pipelines.review.growth import growth_line
from pipelines.review.items import CANDIDATE, IDENTIFIER, Item
from pipelines.review.listing import Filters, facet_label
from pipelines.review.masking import Piece
from pipelines.review.opened import Review
from pipelines.review.sessions import Session
from pipelines.review.shown import cut, left_out, visible
from pipelines.review.texts import Marked
from pipelines.review.verdicts import ACTIONS, OUTCOMES, VERDICTS, agreement

AROUND, SPAN, PREVIEW = 4_000, 20_000, 240  # characters that are shown
NEAR = 20  # members of a cluster that are listed

Reader = Callable[[str, int, int], list[Piece]]
"""Turns the part of a text between two places into pieces."""


@dataclass(frozen=True)
class Shown:
    """A text as the page shows it: its prompt and itself in pieces, and what is missing."""

    prompt: list[Piece] | None
    pieces: list[Piece]
    note: str


@cache
def _templates() -> Environment:
    made = environment("pipelines.review")
    made.filters.update(visible=visible, facet_label=lambda value, name: facet_label(name, value))
    made.globals.update(VERDICTS=VERDICTS, ACTIONS=ACTIONS, OUTCOMES=OUTCOMES)
    return made


def render(
    review: Review, session: Session | None, template: str, status: int = 200, **context: Any
) -> HTMLResponse:
    """Render a page."""
    page = _templates().get_template(template).render(review=review, session=session, **context)
    return HTMLResponse(page, status)


def list_page(review: Review, session: Session, filters: Filters) -> HTMLResponse:
    """The list."""
    page = review.listing.page(filters, session.user)
    rows = [(item, preview(review, item), outcome(review, session, item)) for item in page.items]
    answer = render(review, session, "list.html", filters=filters, page=page, rows=rows)
    answer.headers["HX-Push-Url"] = f"/?{filters.query()}"  # without the form's empty fields
    return answer


def item_page(
    review: Review,
    session: Session,
    item: Item,
    filters: Filters,
    shown: Shown | None = None,
    excerpt: tuple[str, Shown] | None = None,
) -> HTMLResponse:
    """One item: masked, unless `shown` is what was revealed; `excerpt` is a document's id and a part of it."""
    review.standing.refresh()
    before, behind = review.listing.neighbours(item, filters, session.user)
    members = review.listing.members.get(item.cluster, [])
    near = [other for name in members[: NEAR + 1] if name != item.id and (other := review.listing.get(name))]
    return render(
        review,
        session,
        "item.html",
        item=item,
        filters=filters,
        before=before,
        behind=behind,
        shown=shown or masked(review, item),
        revealed=shown is not None,
        excerpt=excerpt,
        documents=review.texts.document_ids(item),
        near=[(other, preview(review, other), outcome(review, session, other)) for other in near],
        cluster_size=len(members),
        own=review.standing.own(item.id, session.user),
        said=review.standing.visible(item.id, session.user),
        outcome=outcome(review, session, item),
        growth=growth_line(review.growth, item.first_budget),
        candidate=item.kind == CANDIDATE,
        identifier=item.kind == IDENTIFIER,
    )


def outcome(review: Review, session: Session, item: Item) -> str:
    """What an item counts as, for whoever looks."""
    return review.standing.outcome(item.id, session.user)


def preview(review: Review, item: Item) -> str:
    """The first line of an item in the list; masked, or its length alone."""
    return cut(" ".join(item.masked[: 2 * PREVIEW].split()), PREVIEW)


def masked(review: Review, item: Item) -> Shown:
    """An item's generation with everything masked; a prompt that may be training text is hidden whole."""
    if item.kind == IDENTIFIER:
        return Shown(None, [Piece(item.masked.strip("[]"), hidden=True, marked=True)], "")
    text = review.texts.generation(item)
    shown = _shown(text, review.masker.pieces)
    if text.safe_prompt or not text.prompt:
        return shown
    return replace(shown, prompt=[Piece(f"{len(text.prompt):,} characters", hidden=True)])


def revealed(review: Review, item: Item) -> Shown:
    """The same as it is."""
    return _shown(review.texts.generation(item), _raw)


def revealed_excerpt(review: Review, item: Item, document: str) -> Shown:
    """A part of a training document as it is."""
    return _shown(review.texts.excerpt(item, document), _raw)


def _raw(text: str, low: int, high: int) -> list[Piece]:
    return [Piece(text[low:high])] if low < high else []


def _shown(text: Marked, read: Reader) -> Shown:
    """Cut a long text around its span; what is hidden was decided by all of it."""
    whole, start = text.before + text.span + text.after, len(text.before)
    end = start + len(text.span)
    first, last, behind = max(0, start - AROUND), min(end, start + SPAN), min(len(whole), end + AROUND)
    parts = [
        *_left_out(first),
        *read(whole, first, start),
        *(replace(piece, marked=True) for piece in read(whole, start, last)),
        *_left_out(end - last),
        *read(whole, end, behind),
        *_left_out(len(whole) - behind),
    ]
    return Shown(None if text.prompt is None else _opening(text.prompt, read), parts, text.note)


def _opening(text: str, read: Reader) -> list[Piece]:
    end = min(len(text), AROUND)
    return [*read(text, 0, end), *_left_out(len(text) - end)]


def _left_out(count: int) -> list[Piece]:
    return [Piece(f" {left_out(count)} ")] if count else []


def progress_page(review: Review, session: Session) -> HTMLResponse:
    """How far the review is, how much two people agree, and what can be exported."""
    counts, pairs = review.listing.settled(), review.standing.pairs()
    return render(
        review,
        session,
        "progress.html",
        counts=counts,
        by_reviewer=review.standing.judged,
        pairs=pairs.total(),
        agreement=agreement(pairs),
        may_export=may_export(review, session),
        exports={k: v for k, v in EXPORTS.items() if k != "candidates.csv" or CANDIDATE in counts},
    )


def may_export(review: Review, session: Session) -> bool:
    """Whoever judges blind must not read the other's verdicts in an export."""
    return session.may("admin" if review.standing.two_people else "reviewer")
