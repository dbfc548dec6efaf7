"""The page as an application: routes, local files, and the guard around all of it."""

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp

from pipelines.review import pages
from pipelines.review.guard import SAFE, Guard, Sites
from pipelines.review.opened import Review
from pipelines.review.routes import router
from pipelines.review.signin import LoginNeededError


def make_app(review: Review, sites: Sites) -> ASGIApp:
    """Make the application.

    Args:
        review: the open review.
        sites: the addresses that it answers to.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.review = review
    app.state.secure = all(origin.startswith("https:") for origin in sites.origins)
    app.include_router(router)
    app.mount("/static", StaticFiles(packages=[("pipelines.review", "static")]))
    app.add_exception_handler(LoginNeededError, _to_login)
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    return Guard(app, sites)


def _to_login(request: Request, _error: Exception) -> Response:
    if request.method in SAFE:
        return RedirectResponse("/login", 303)
    return PlainTextResponse("Log in first.", 401)


def _refused(request: Request, error: Exception) -> HTMLResponse:
    refused = error if isinstance(error, StarletteHTTPException) else HTTPException(500)
    return _fault_page(request, refused.status_code, str(refused.detail))


def _not_understood(request: Request, error: Exception) -> HTMLResponse:
    """Name the field, never what stood in it."""
    fields = error.errors() if isinstance(error, RequestValidationError) else []
    named = ", ".join(sorted({str(field["loc"][-1]) for field in fields}))
    return _fault_page(request, 400, f"The form was not understood. Look at: {named}.")


def _fault_page(request: Request, status: int, said: str) -> HTMLResponse:
    return pages.render(request.app.state.review, None, "fault.html", status, said=said)
