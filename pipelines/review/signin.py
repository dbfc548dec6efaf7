"""Who sends a request: sessions, roles, and the secret that each change carries."""

import hmac
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Form, HTTPException, Request

from pipelines.review.access import Role
from pipelines.review.opened import Review
from pipelines.review.sessions import Session


class LoginNeededError(Exception):
    """Nobody is logged in with this cookie."""


def review_of(request: Request) -> Review:
    """The review that is open."""
    review: Review = request.app.state.review
    return review


Opened = Annotated[Review, Depends(review_of)]


def cookie_name(request: Request) -> str:
    """Cookies do not know ports: two servers on one machine must not overwrite each other's."""
    return f"review_{request.url.port or 'default'}"


def session_of(request: Request, review: Opened) -> Session:
    """Who is logged in.

    Raises:
        LoginNeededError: nobody.
    """
    session = review.sessions.get(request.cookies.get(cookie_name(request), ""))
    if session is None:
        raise LoginNeededError
    return session


def _changing(role: Role) -> Callable[[Session, str], Session]:
    def check(session: Annotated[Session, Depends(session_of)], csrf: Annotated[str, Form()] = "") -> Session:
        if not hmac.compare_digest(csrf.encode(), session.csrf.encode()):
            raise HTTPException(403, "The form is out of date; load the page again.")
        if not session.may(role):
            raise HTTPException(403, f"Your role is {session.role}; this needs a {role}.")
        return session

    return check


Viewer = Annotated[Session, Depends(session_of)]
Changing = Annotated[Session, Depends(_changing("viewer"))]
Reviewing = Annotated[Session, Depends(_changing("reviewer"))]
