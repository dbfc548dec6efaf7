"""Sessions in the server's memory, and the slowing of logins. Whoever restarts the server logs everybody out."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pipelines.review.access import ROLES, Role

IDLE_SECONDS = 30 * 60.0
LONGEST_SECONDS = 12 * 3600.0
FREE_FAILURES = 3  # of a name, before it has to wait
FREE_FAILURES_OF_ALL = 20
LONGEST_WAIT, LONGEST_WAIT_OF_ALL = 300.0, 1.0  # seconds; nobody can lock the others out

Clock = Callable[[], float]


@dataclass(frozen=True)
class Session:
    """Somebody who is logged in.

    Attributes:
        user: the name.
        role: what they may do.
        csrf: the secret that each of their changes carries.
        began: when, on the server's clock.
        seen: when they last did something.
    """

    user: str
    role: Role
    csrf: str = field(repr=False)
    began: float
    seen: float

    def may(self, role: Role) -> bool:
        """Whether they may do what this role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Sessions:
    """Everybody who is logged in; cookies are kept as hashes."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Session] = {}

    def begin(self, user: str, role: Role) -> str:
        """Log somebody in; returns the cookie."""
        cookie, at = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._open = {k: s for k, s in self._open.items() if not self._over(s)}
            self._open[_hash(cookie)] = Session(user, role, secrets.token_urlsafe(32), at, at)
        return cookie

    def get(self, cookie: str) -> Session | None:
        """Who this cookie is; None once it is over."""
        with self._lock:
            found = self._open.get(_hash(cookie))
            if found is None or self._over(found):
                return None
            self._open[_hash(cookie)] = replace(found, seen=self._clock())
            return found

    def end(self, cookie: str) -> None:
        """Log out."""
        with self._lock:
            self._open.pop(_hash(cookie), None)

    def _over(self, session: Session) -> bool:
        at = self._clock()
        return at - session.seen > IDLE_SECONDS or at - session.began > LONGEST_SECONDS


class Throttle:
    """Makes guessing slow: after a few failures each further try of a name waits twice as long as the one before."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}

    def begin(self, name: str) -> float:
        """Ask to try: seconds to wait first, or 0, and the try counts as failed until it has succeeded."""
        with self._lock:
            of_all = self._wait("", FREE_FAILURES_OF_ALL, LONGEST_WAIT_OF_ALL)
            wait = max(self._wait(name, FREE_FAILURES, LONGEST_WAIT), of_all)
            if wait <= 0:
                for key in (name, ""):
                    self._failures[key] = (self._failures.get(key, (0, 0.0))[0] + 1, self._clock())
            return max(wait, 0.0)

    def succeeded(self, name: str) -> None:
        """Forget the failures of a name."""
        with self._lock:
            count, at = self._failures.get("", (1, 0.0))
            self._failures[""] = (max(count - 1, 0), at)
            self._failures.pop(name, None)

    def _wait(self, key: str, free: int, longest: float) -> float:
        count, at = self._failures.get(key, (0, 0.0))
        if count < free:
            return 0.0
        return at + min(2.0 ** min(count - free, 30), longest) - self._clock()


def _hash(cookie: str) -> str:
    return sha256(cookie.encode()).hexdigest()
