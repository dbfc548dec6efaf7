"""What every request must pass before anything else sees it, and what every answer carries."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.progress import say

SAFE = frozenset({"GET", "HEAD"})
LARGEST_BODY = 64 << 10
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser would not say where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Sites:
    """The addresses that this server answers to, `http://127.0.0.1:8765` each."""

    origins: frozenset[str]

    @classmethod
    def loopback(cls, port: int) -> "Sites":
        """The names of this machine for itself."""
        return cls(frozenset(f"http://{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")))

    def fault(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused: a status and a sentence; None where it is not."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        ours = {origin for origin in self.origins if urlsplit(origin).netloc == host}
        if not ours:
            return 421, "This server does not answer to that host."
        if scope["method"] in SAFE:
            return None
        if scope["method"] != "POST":
            return 405, "Not allowed."
        if headers.get("origin", "") not in ours:
            return 403, "This request comes from another site."
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, "The form is too large."
        return None


class Guard:
    """Refuses what comes from elsewhere, adds the headers, and lets no fault tell more than that there was one."""

    def __init__(self, app: ASGIApp, sites: Sites) -> None:
        self._app = app
        self._sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return  # neither websockets nor anything else is spoken here

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if fault := self._sites.fault(scope):
            await PlainTextResponse(fault[1], fault[0])(scope, receive, send_guarded)
            return
        try:
            await self._app(scope, receive, send_guarded)
        except Exception as error:  # it has been answered with a bare 500; its message could quote a text
            say(f"a request failed: {type(error).__name__}")
