"""Brings verdicts on candidates back: how many of those checked were confirmed, by score, with an interval."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.membership.intervals import Interval, wilson
from extraction.ranking.scores import SCORES
from pipelines.parts import write_json
from pipelines.rank.candidates import CANDIDATE_SCHEMA
from pipelines.rundir import RunDirectory

YES, NO, UNSURE = "yes", "no", "unsure"
NOTE = "of the candidates checked, which were picked because they are suspicious; never a share of all text"


@dataclass(frozen=True)
class Confirmed:
    """Verdicts on the candidates that one score picked.

    Attributes:
        candidates: picked by the score.
        checked: of them, those with a verdict of yes or no.
        unsure: those where nobody could tell.
        confirmed: those with a yes.
        share: of the checked ones, with its Wilson interval; None where none was checked.
    """

    candidates: int
    checked: int
    unsure: int
    confirmed: int
    share: Interval | None


def confirm(directory: Path, verdicts: Path) -> Path:
    """Count verdicts and write `confirmed.json` beside the candidates.

    Args:
        directory: what `extraction rank` wrote.
        verdicts: CSV with `candidate_id` and `verdict`: yes (memorised), no, unsure, or empty.

    Returns:
        The file.

    Raises:
        InputError: no candidates are there, or the CSV is unreadable, names an unknown candidate or verdict.
    """
    candidates = _candidates(directory)
    found = _verdicts(verdicts, {row["candidate_id"] for row in candidates})
    by_score = {
        name: asdict(_count([row for row in candidates if name in row["picked_by"]], found))
        for name in SCORES
    }
    path = directory / "confirmed.json"
    write_json(str(path), {"note": NOTE, "all": asdict(_count(candidates, found)), "by_score": by_score})
    return path


def _candidates(directory: Path) -> list[dict[str, Any]]:
    store = RunDirectory(directory).store("candidates")
    rows: list[dict[str, Any]] = store.read_all(CANDIDATE_SCHEMA, ["candidate_id", "picked_by"]).to_pylist()
    if not rows:
        raise InputError(f"{directory}: no candidates here; name a directory that `extraction rank` wrote")
    return rows


def _count(rows: Sequence[dict[str, Any]], verdicts: Mapping[str, str]) -> Confirmed:
    said = [verdicts[row["candidate_id"]] for row in rows if row["candidate_id"] in verdicts]
    confirmed, checked = said.count(YES), said.count(YES) + said.count(NO)
    share = wilson(confirmed, checked) if checked else None
    return Confirmed(len(rows), checked, said.count(UNSURE), confirmed, share)


def _verdicts(path: Path, known: set[str]) -> dict[str, str]:
    """Verdicts by candidate; those without one are left out."""
    found: dict[str, str] = {}
    for line, row in _lines(path):
        name, verdict = row["candidate_id"] or "", (row["verdict"] or "").strip().lower()
        if name not in known:
            raise InputError(f"{path}: line {line}: `candidate_id` names no candidate of this directory")
        if verdict not in (YES, NO, UNSURE, ""):
            raise InputError(f"{path}: line {line}: `verdict` is none of yes, no, unsure, or empty")
        if name in found:
            raise InputError(f"{path}: line {line}: a second verdict on one candidate; keep one")
        if verdict:
            found[name] = verdict
    return found


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle)
            missing = {"candidate_id", "verdict"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(
                    f"{path}: no column {sorted(missing)[0]!r}; keep the header of candidates.csv"
                )
            for row in reader:
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: not readable as CSV ({type(error).__name__}); save it as CSV in UTF-8"
        ) from None
