"""What people wrote with a verdict or as a reason, and copied out of the run's texts: a purge removes that too.

A quote is a stretch of 35 characters, or an identifier that came out; a single name is none, as in the report's totals.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from extraction.errors import InputError
from pipelines.review import log
from pipelines.review.emptying import texts_in
from pipelines.review.items import Item, load_items
from pipelines.review.store import REMOVED, Store
from pipelines.review.texts import Texts
from pipelines.rundir import RunDirectory

BLOCK, STEP = 24, 12  # characters: whoever repeats BLOCK + STEP - 1 of them repeats a whole block
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[ \-./](?=\d)")
_TELLING = re.compile(r"[\d@ ]")  # what has none of these is a single word


class Quotes:
    """Finds, among words that people wrote, those that repeat a stretch of a text, or an identifier."""

    def __init__(self, written: Iterable[str]) -> None:
        """Prepare to look for them.

        Args:
            written: notes, evidence and reasons.
        """
        from ahocorasick_rs import AhoCorasick

        self._written = {words: _plain(words) for words in written}
        self._blocks = [(block, words) for words, plain in self._written.items() for block in _blocks(plain)]
        self._find = AhoCorasick([block for block, _ in self._blocks]) if self._blocks else None
        self.found: set[str] = set()
        """Those that repeat something."""

    def look_in_text(self, text: str) -> None:
        """See which of them repeat a stretch of a text."""
        spans = self._find.find_matches_as_indexes(_plain(text), overlapping=True) if self._find else ()
        self.found |= {self._blocks[number][1] for number, _, _ in spans}

    def look_for_identifiers(self, values: Iterable[str]) -> None:
        """See which of them hold one of these values as words of its own, however its digits are grouped."""
        from ahocorasick_rs import AhoCorasick

        forms = {form for value in values if _TELLING.search(value) for form in _forms(_plain(value))}
        if not forms:
            return
        find = AhoCorasick(sorted(forms))
        for words, plain in self._written.items():
            for form in _forms(f" {plain} "):
                spans = find.find_matches_as_indexes(form, overlapping=True)
                if any(not (form[a - 1].isalnum() or form[b].isalnum()) for _, a, b in spans):
                    self.found.add(words)


def quoting(run: Path, store: Store, texts: Iterable[str]) -> set[str]:
    """The words of a review that quote.

    Args:
        run: the run directory.
        store: its review.
        texts: everything that stands in the run as text; what was revealed of its tokens and documents comes from here.
    """
    written = _written(store)
    if not written:
        return set()
    quotes = Quotes(written)
    for text in chain(texts, _revealed(run, store)):
        quotes.look_in_text(text)
    quotes.look_for_identifiers(_identifiers(run))
    return quotes.found


def count(store: Store, quoting: set[str]) -> int:
    """How many notes, fields of evidence and reasons a removal would empty."""
    return sum(map(len, _places(store, quoting)))


def remove(store: Store, who: str, quoting: set[str]) -> None:
    """Remove words; verdicts, actions and the chain of the log stay.

    Args:
        store: the review.
        who: for the audit log.
        quoting: the words.
    """
    notes, evidence, reasons = _places(store, quoting)
    with store.changing() as connection:
        for column, numbers in (("note", notes), ("evidence", evidence)):
            connection.executemany(
                f"UPDATE verdicts SET {column} = ? WHERE id = ?",  # noqa: S608 - a name from above
                [(REMOVED, number) for number in numbers],
            )
        if reasons:
            log.remove_reasons(connection, who, reasons)


def _places(store: Store, quoting: set[str]) -> tuple[list[int], list[int], list[int]]:
    """Rows of verdicts by their note, the same by their evidence, and entries of the log by their reason."""
    verdicts = store.rows("SELECT id, note, evidence FROM verdicts")
    return (
        [number for number, note, _ in verdicts if note in quoting],
        [number for number, _, evidence in verdicts if evidence in quoting],
        [seq for seq, reason in store.rows("SELECT seq, reason FROM log") if reason in quoting],
    )


def _written(store: Store) -> set[str]:
    queries = ("SELECT note FROM verdicts", "SELECT evidence FROM verdicts", "SELECT reason FROM log")
    return {words for query in queries for (words,) in store.rows(query)} - {"", REMOVED}


def _revealed(run: Path, store: Store) -> Iterator[str]:
    """What people have seen unmasked: whole generations with their prompts, and parts of documents."""
    seen = [entry for entry in log.entries(store) if entry.action == log.REVEAL]
    if not seen:
        return
    try:
        texts, items = Texts(run), {item.id: item for item in load_items(run, store.key)[0]}
    except InputError:  # damaged: what can be read of it is looked at anyway
        return
    for name, document in {(e.subject, json.loads(e.details).get("document")) for e in seen}:
        if name in items:
            yield from _seen(texts, items[name], document)


def _seen(texts: Texts, item: Item, document: str | None) -> Iterator[str]:
    try:
        shown = texts.generation(item) if document is None else texts.excerpt(item, document)
    except InputError:  # its index or its part is not here: nobody can compare with it any more
        return
    yield from (shown.before + shown.span + shown.after, shown.prompt or "")


def _identifiers(run: Path) -> Iterator[str]:
    store = RunDirectory(run).store("identifiers")
    for name in store.complete():
        yield from texts_in(run / "identifiers" / f"{name}.parquet", ["text", "value"])


def _plain(text: str) -> str:
    """Neither case nor lines and blanks tell two spellings apart."""
    return " ".join(text.casefold().split())


def _blocks(plain: str) -> Iterator[str]:
    for at in range(0, len(plain) - BLOCK + 1, STEP):
        yield plain[at : at + BLOCK]


def _forms(plain: str) -> set[str]:
    return {plain, _BETWEEN_DIGITS.sub("", plain)}
