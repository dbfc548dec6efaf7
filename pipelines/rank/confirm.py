"""Brings verdicts on candidates back: how many of those checked were confirmed, by score, with an interval."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

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
    """Count verdicts and write `confirmed.json` beside the candidates, and into the run's report if it has one.

    Args:
        directory: what `extraction rank` wrote.
        verdicts: CSV with `candidate_id` and `verdict`: yes (memorised), no, unsure, or empty.

    Returns:
        The file.

    Raises:
        InputError: no candidates are there, or the CSV is unreadable, names an unknown candidate or verdict.
    """
    table = _candidates(directory)
    candidates = table.to_pylist()
    found = _verdicts(verdicts, {row["candidate_id"] for row in candidates})
    by_score = {
        name: asdict(_count([row for row in candidates if name in row["picked_by"]], found))
        for name in SCORES
    }
    counts = {"note": NOTE, "all": asdict(_count(candidates, found)), "by_score": by_score}
    path = directory / "confirmed.json"
    write_json(str(path), {"candidates": _fingerprint(table), **counts})
    _into_report(directory, counts)
    return path


def confirmed_of(directory: Path, candidates: pa.Table) -> dict[str, Any] | None:
    """What `confirm` counted before; None where it was not run, or where other candidates were picked since.

    Args:
        directory: where the candidates stand.
        candidates: those of today, of `CANDIDATE_SCHEMA`.
    """
    path = directory / "confirmed.json"
    if not path.exists():
        return None
    counts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return counts if counts.pop("candidates") == _fingerprint(candidates) else None


def _into_report(directory: Path, counts: dict[str, Any]) -> None:
    from pipelines.report import read_report, render_report

    if not (directory / "report.json").exists():  # generations that were made elsewhere
        return
    report = read_report(directory)
    if report["ranking"] is None:  # candidates of an earlier configuration
        return
    report["ranking"]["confirmed"] = counts
    write_json(str(directory / "report.json"), report)
    render_report(report, directory)


def _fingerprint(candidates: pa.Table) -> str:
    """Of which candidates the verdicts are."""
    rows = candidates.select(["candidate_id", "picked_by"]).to_pylist()
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _candidates(directory: Path) -> pa.Table:
    store = RunDirectory(directory).store("candidates")
    table = store.read_all(CANDIDATE_SCHEMA, ["candidate_id", "picked_by"])
    if not table.num_rows:
        raise InputError(f"{directory}: no candidates here; name a directory that `extraction rank` wrote")
    return table


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
            text = handle.read()
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_separator(text))
        missing = {"candidate_id", "verdict"} - set(reader.fieldnames or ())
        if missing:
            raise InputError(f"{path}: no column {sorted(missing)[0]!r}; keep the header of candidates.csv")
        for row in reader:
            if any(row.values()):  # spreadsheets leave rows of nothing behind
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: not readable as CSV ({type(error).__name__}); save it as CSV in UTF-8"
        ) from None


def _separator(text: str) -> str:
    """A spreadsheet puts semicolons or tabs between fields where commas stand in numbers."""
    header = text.partition("\n")[0]
    return max(",;\t", key=header.count)
