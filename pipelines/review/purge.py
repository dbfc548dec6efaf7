"""Deletes the texts of a run and keeps what was counted: ids, keyed hashes, numbers, verdicts and the audit log.

Killed, it is run again. Copies in backups and snapshots, and what a disk keeps of overwritten blocks, are out of its
reach, as is an index that stands outside of the run directory.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from pipelines.parts import MARKER
from pipelines.review import log, quotes
from pipelines.review.emptying import CANDIDATES, DAMAGED, empty, row_count, text_columns, texts_in
from pipelines.review.items import PASSAGES
from pipelines.review.opened import review_lock
from pipelines.review.store import FILE, Store
from pipelines.rundir import RunDirectory, now
from pipelines.work import one_at_a_time

FOLDERS = ("index", "control_text")  # indexes hold the text that they index; one may be half built
HARMLESS = frozenset(
    "run.json report.json report.html model_card.md gate.json gate.html compare.json compare.html ranking.json "
    "confirmed.json membership.json membership_card.md prefix.json prefix.html .lock .review.lock".split()
) | {FILE, f"{FILE}-wal", f"{FILE}-shm"}
FOLDER, UNFINISHED, WORDS = "folder", "file", "notes and reasons that repeat a text"
_LEAST = 24  # bytes of a text that is looked for afterwards
_VARIED = 6  # distinct bytes in them: less is filler, which stands in files by chance


@dataclass(frozen=True)
class Removed:
    """What was removed from one file or folder, or would be.

    Attributes:
        path: within the run directory.
        what: `file`, `folder`, or what in it was emptied.
        rows: rows that it had; 0 for whole files.
    """

    path: str
    what: str
    rows: int = 0

    @property
    def is_witness(self) -> bool:
        """Whether its texts are what is looked for in all other files; it goes when none of them holds any."""
        path = Path(self.path)
        return path.name == PASSAGES or (path.parent.name == "candidates" and path.suffix == ".parquet")


@dataclass(frozen=True)
class Purge:
    """What a purge did.

    Attributes:
        removed: in its order.
        unknown: files that it does not know and left as they are.
    """

    removed: list[Removed]
    unknown: list[str]


def purge(run: Path, who: str, dry_run: bool) -> Purge:
    """Delete all texts and token ids of a run.

    Args:
        run: the run directory.
        who: for the audit log.
        dry_run: only say what would be removed.

    Raises:
        InputError: a page is open, a run is going on, or text stands in a file that no part of this project writes.
    """
    if not any((run / name).exists() for name in ("run.json", PASSAGES)):
        raise InputError(f"{run}: no run directory; name one that `extraction run` made")
    with review_lock(run, alone=True), one_at_a_time(run):
        found = _removals(run)
        if dry_run and not (run / FILE).exists():  # then nobody wrote anything, and nothing is to be made
            return Purge(found, _unknown(run))
        store = Store(run)
        try:
            quoting = quotes.quoting(run, store, _texts(run, found))
            words = [Removed(FILE, WORDS, n)] if (n := quotes.count(store, quoting)) else []
            if not dry_run:
                _remove_all(run, store, who, found, quoting)
            return Purge([*words, *found], _unknown(run))
        finally:
            store.close()


def _remove_all(run: Path, store: Store, who: str, found: list[Removed], quoting: set[str]) -> None:
    """Remove words first, while what they repeat is there; last the texts that all other files are held against."""
    log.record(store, who, "purge began")
    _mark(run)
    quotes.remove(store, who, quoting)
    for one in found:
        if not one.is_witness:
            _remove(run, one, store.key)
    store.shrink()
    _refuse_leftovers(run, _needles(run, found))
    for one in found:
        if one.is_witness:
            _remove(run, one, store.key)
    log.record(store, who, "purge", files=len(found), rows=sum(one.rows for one in found))
    store.forget_key()
    store.shrink()


def _mark(run: Path) -> None:
    """Say in every run.json that its texts are gone, before they are: what is half purged is never gone on with."""
    for file in run.glob("**/run.json"):
        directory = RunDirectory(file.parent)
        facts = directory.read()
        directory.write(facts | {"purged": facts.get("purged") or now()})


def _removals(run: Path) -> list[Removed]:
    """Everything that holds text or tokens, by path, witnesses last."""
    folders = [Removed(str(folder.relative_to(run)), FOLDER) for folder in _indexes(run)]
    return sorted([*folders, *_files_to_empty(run)], key=lambda one: (one.is_witness, one.path))


def _files_to_empty(run: Path) -> Iterator[Removed]:
    for path in _files(run):
        name = str(path.relative_to(run))
        if path.name.startswith(".") and path.suffix == ".tmp":
            yield Removed(name, UNFINISHED)
        elif columns := text_columns(path):
            yield Removed(name, ", ".join(columns), 0 if columns == [DAMAGED] else row_count(path))


def _indexes(run: Path) -> list[Path]:
    """Folders of indexes, under whatever name."""
    whole = {path.parent for path in run.rglob("index.json")}
    return sorted(whole | {run / name for name in FOLDERS if (run / name).is_dir()})


def _files(run: Path) -> Iterator[Path]:
    """Every file that is part of no index."""
    indexes = set(_indexes(run))
    for path in sorted(run.rglob("*")):
        if path.is_file() and not indexes.intersection(path.parents):
            yield path


def _remove(run: Path, found: Removed, key: bytes) -> None:
    path = run / found.path
    if found.what == FOLDER and not path.is_symlink():
        shutil.rmtree(path)
    elif found.what in (FOLDER, UNFINISHED, DAMAGED):
        path.unlink()
    else:
        empty(path, key)


def _texts(run: Path, found: list[Removed]) -> Iterator[str]:
    for one in found:
        if one.path.endswith(".parquet") and one.what != DAMAGED:
            yield from texts_in(run / one.path, one.what.split(", "))


def _needles(run: Path, found: list[Removed]) -> list[bytes]:
    """Openings of the texts that were judged, to look for in everything else."""
    judged = (texts_in(run / one.path, ["text"]) for one in found if one.is_witness and one.what != DAMAGED)
    openings = {text.encode()[: 2 * _LEAST] for texts in judged for text in texts}
    return [one for one in openings if len(one) >= _LEAST and len(set(one)) >= _VARIED]


def _refuse_leftovers(run: Path, needles: list[bytes]) -> None:
    """Read every file that is left, byte by byte: a text in one that nobody thought of must not stay unseen."""
    if not needles:
        return
    from ahocorasick_rs import BytesAhoCorasick

    search = BytesAhoCorasick(needles)
    for path in _files(run):
        if not Removed(str(path.relative_to(run)), "").is_witness and _holds(search, path):
            raise InputError(
                f"{path}: still holds text of this run; delete it, or move it out of {run}, and purge again"
            )


def _holds(search: Any, path: Path) -> bool:
    return bool(search.find_matches_as_indexes(path.read_bytes(), overlapping=False))


def _unknown(run: Path) -> list[str]:
    """Files that no part of this project writes."""
    known = (".parquet", MARKER, ".tmp")
    return [
        str(path.relative_to(run))
        for path in _files(run)
        if path.name not in HARMLESS and path.name != CANDIDATES and path.suffix not in known
    ]
