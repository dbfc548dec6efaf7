"""The addresses of the page. A change needs its form's secret; a reveal is on record before its text is read."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from extraction.errors import InputError
from pipelines.review import log, pages
from pipelines.review.access import OWNER
from pipelines.review.exports import EXPORTS, export
from pipelines.review.items import Item
from pipelines.review.listing import Filters
from pipelines.review.opened import Review
from pipelines.review.shown import visible
from pipelines.review.signin import Changing, Opened, Reviewing, Viewer, cookie_name
from pipelines.review.verdicts import ACTIONS, VERDICTS, Judgement, give

router = APIRouter()
Reason = Annotated[str, Form(min_length=5, max_length=500, pattern=r"\S.*\S")]
Words = Annotated[str, Form(max_length=4000)]


@router.get("/login")
def login_page(review: Opened) -> HTMLResponse:
    """Ask for a name and a password, or for the token."""
    return pages.render(review, None, "login.html", fault="")


@router.post("/login")
def login(
    request: Request,
    review: Opened,
    secret: Annotated[str, Form(max_length=1000)],
    name: Annotated[str, Form(max_length=100)] = OWNER,
) -> Response:
    """Log in; after a few failures each further try has to wait."""
    known = name if name in review.options.access.users or review.options.access.token else "unknown"
    wait = review.throttle.begin(known)
    if wait > 0:
        said = f"Too many attempts. Try again in {wait:.0f} seconds."
        answer: Response = pages.render(review, None, "login.html", 429, fault=said)
        answer.headers["Retry-After"] = str(int(wait) + 1)
        return answer
    user = OWNER if review.options.access.token else name
    role = review.options.access.role_of(name, secret)
    if role is None:
        log.record(review.store, known, "login failed")
        return pages.render(review, None, "login.html", 403, fault="The name or the secret is wrong.")
    review.throttle.succeeded(known)
    log.record(review.store, user, "login", role=role)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        cookie_name(request),
        review.sessions.begin(user, role),
        httponly=True,
        samesite="strict",
        secure=request.app.state.secure,
    )
    return answer


@router.post("/logout")
def logout(request: Request, review: Opened, session: Changing) -> Response:
    """Log out."""
    review.sessions.end(request.cookies.get(cookie_name(request), ""))
    log.record(review.store, session.user, "logout")
    return RedirectResponse("/login", 303)


@router.get("/")
def listed(request: Request, review: Opened, session: Viewer) -> HTMLResponse:
    """The list."""
    return pages.list_page(review, session, _filters(request))


@router.get("/progress")
def progress(review: Opened, session: Viewer) -> HTMLResponse:
    """How far the review is."""
    return pages.progress_page(review, session)


@router.get("/items/{name}")
def item(name: str, request: Request, review: Opened, session: Viewer) -> HTMLResponse:
    """One item, masked."""
    return pages.item_page(review, session, _item(review, name), _filters(request))


@router.post("/items/{name}/reveal")
def reveal(name: str, request: Request, review: Opened, session: Reviewing, reason: Reason) -> HTMLResponse:
    """One item as it is."""
    found = _item(review, name)
    log.record(review.store, session.user, log.REVEAL, found.id, reason.strip(), what="generation")
    return pages.item_page(review, session, found, _filters(request), pages.revealed(review, found))


@router.post("/items/{name}/excerpt")
def excerpt(
    name: str,
    request: Request,
    review: Opened,
    session: Reviewing,
    reason: Reason,
    document: Annotated[str, Form(max_length=4000)],
) -> HTMLResponse:
    """One item, and a part of a training document that holds it, as it is."""
    found = _item(review, name)
    named = {visible(one): one for one in review.texts.document_ids(found)}  # as the form names them
    if visible(document) not in named:
        raise HTTPException(404, "That document is none of this item's.")
    document = named[visible(document)]
    log.record(
        review.store, session.user, log.REVEAL, found.id, reason.strip(), what="document", document=document
    )
    try:
        shown = pages.revealed_excerpt(review, found, document)
    except InputError as error:
        raise HTTPException(404, str(error).capitalize() + ".") from None
    return pages.item_page(review, session, found, _filters(request), excerpt=(document, shown))


@router.post("/items/{name}/verdict")
def verdict(
    name: str,
    request: Request,
    review: Opened,
    session: Reviewing,
    said: Annotated[str, Form(alias="verdict")],
    action: Annotated[str, Form()] = "none",
    note: Words = "",
    evidence: Words = "",
    scope: Annotated[Literal["item", "cluster"], Form()] = "item",
) -> Response:
    """Judge one item, or its whole cluster, and go on to the next."""
    found, filters = _item(review, name), _filters(request)
    if said not in VERDICTS or action not in ACTIONS:
        raise HTTPException(400, "Choose a verdict.")
    _, behind = review.listing.neighbours(found, filters, session.user)
    whole = scope == "cluster" and found.cluster
    members = review.listing.members[found.cluster] if whole else [found.id]
    give(
        review.store,
        session.user,
        members,
        Judgement(said, action, _written(note), _written(evidence)),
        found.cluster if whole else "",
    )
    target = f"/items/{quote(behind.id)}" if behind else "/"
    return RedirectResponse(f"{target}?{filters.query()}", 303)


@router.post("/export")
def exported(
    review: Opened,
    session: Changing,
    kind: Annotated[str, Form()],
    with_text: Annotated[bool, Form()] = False,
    reason: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """A file of verdicts or of documents; on record before it is sent."""
    if kind not in EXPORTS:
        raise HTTPException(404, "There is no such export.")
    if not pages.may_export(review, session):
        raise HTTPException(403, "Your role may not export this review.")
    if with_text and not (review.options.include_text and session.may("admin")):
        raise HTTPException(403, "Text is for an admin, of a page that was started with --include-text.")
    if with_text and len(reason.strip()) < 5:
        raise HTTPException(400, "Say why the text is needed.")
    log.record(review.store, session.user, "export", kind, reason.strip(), text=with_text)
    data, media_type = export(review, kind, with_text)
    headers = {"Content-Disposition": f'attachment; filename="{kind}"'}
    return Response(data, media_type=media_type, headers=headers)


def _item(review: Review, name: str) -> Item:
    found = review.listing.get(name)
    if found is None:
        raise HTTPException(404, "There is no such item in this run.")
    return found


def _written(text: str) -> str:
    """What a person wrote, inert from now on wherever it is shown."""
    return visible(text.replace("\r\n", "\n").strip())


def _filters(request: Request) -> Filters:
    return Filters.parse(request.query_params.multi_items())
