"""A review that is open: the run's items in memory, its store, who is logged in."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from pipelines.review.access import Access
from pipelines.review.items import load_items
from pipelines.review.listing import Listing
from pipelines.review.masking import Masker
from pipelines.review.sessions import Sessions, Throttle
from pipelines.review.store import Store
from pipelines.review.texts import Texts
from pipelines.review.verdicts import TWO_PEOPLE, Standing
from pipelines.rundir import RunDirectory

LOCK = ".review.lock"


@dataclass(frozen=True)
class Options:
    """How a review is opened.

    Attributes:
        access: who may log in.
        whole: mask whole texts, not identifiers alone.
        two_people: two people judge each item, blind to each other; from then on, for good.
        include_text: exports of an admin may carry raw text.
    """

    access: Access
    whole: bool = False
    two_people: bool = False
    include_text: bool = False


@dataclass(frozen=True)
class Review:
    """Everything that the page needs.

    Attributes:
        run: the run directory.
        name: the run's id.
        retention: the day on which its texts are to be purged; None where none was set.
        budgets: of the run, ascending; empty for candidates.
        growth: the observed growth curve, as in report.json.
    """

    run: Path
    name: str
    retention: date | None
    budgets: tuple[int, ...]
    growth: tuple[dict[str, Any], ...]
    options: Options
    store: Store
    listing: Listing
    masker: Masker
    texts: Texts
    sessions: Sessions = field(default_factory=Sessions)
    throttle: Throttle = field(default_factory=Throttle)

    @property
    def standing(self) -> Standing:
        """The verdicts as they stand."""
        return self.listing.standing

    @property
    def overdue(self) -> bool:
        """Whether the day to purge the texts has come."""
        return self.retention is not None and datetime.now(UTC).date() >= self.retention


def open_review(run: Path, options: Options) -> Review:
    """Read a run and open its review.

    Raises:
        InputError: there is nothing to review, a file of the run is damaged, or one token is to stand for two people.
    """
    if options.two_people and not options.access.users:
        raise InputError("--two-people: name --users FILE too; with a token there is one reviewer")
    store = Store(run)
    items, masker = load_items(run, store.key, options.whole)
    facts = RunDirectory(run).read() if (run / "run.json").exists() else {}
    config, report = facts.get("config") or {}, _report(run)
    retention = config.get("retention")
    return Review(
        run=run,
        name=str(facts.get("run", run.name)),
        retention=date.fromisoformat(retention) if retention else None,
        budgets=tuple(sorted(config.get("budgets") or ())),
        growth=tuple(report.get("growth", {}).get("all", {}).get("observed", ())),
        options=options,
        store=store,
        listing=Listing(items, Standing(store, _two_people(store, options))),
        masker=masker,
        texts=Texts(run),
    )


def _two_people(store: Store, options: Options) -> bool:
    """Once two people were asked for it stays so: a later start must not show the first verdicts."""
    if options.two_people:
        with store.changing() as connection:
            connection.execute("INSERT OR IGNORE INTO facts VALUES (?, 'yes')", (TWO_PEOPLE,))
    return store.fact(TWO_PEOPLE) is not None


def _report(run: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads((run / "report.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return report


@contextmanager
def review_lock(run: Path, alone: bool) -> Iterator[None]:
    """Hold a run for reviewing; several servers may, a purge must be alone.

    Raises:
        InputError: the run directory is missing, or it is held already.
    """
    try:
        descriptor = os.open(run / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{run}: no such run directory; name one that `extraction run` made") from None
    with os.fdopen(descriptor) as handle:
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            held = "a review page is open; stop it first" if alone else "it is being purged; wait for that"
            raise InputError(f"{run}: {held}") from None
        yield
