"""`extraction identifiers`: names and numbers in texts made elsewhere, and how many documents hold them."""

import json
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from extraction.errors import InputError
from pipelines.lines import id_fault, parse_line

if TYPE_CHECKING:
    from extraction.identifiers import IdentifierSettings
    from extraction.identifiers.records import Finding
    from pipelines.identify import Value

_PRINTED = ("type", "value", "text", "start", "end", "validated", "context", "recogniser")


def identifiers(
    file: Annotated[Path, typer.Argument(help='JSON lines, each {"id": ..., "text": ...}.')],
    index: Annotated[
        Path | None, typer.Option("--index", help="Index of the corpus that each value is looked up in.")
    ] = None,
    skip_bad_records: Annotated[
        bool,
        typer.Option("--skip-bad-records", help="Count lines that cannot be read, and go on."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="A YAML file whose section `identifiers` says what is tagged."),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="How many look values up side by side, a core each.")
    ] = 1,
) -> None:
    """List the identifiers of each text: names, account and phone numbers, and the like.

    Prints one JSON object for each line of FILE. Offsets are in characters; values are normalised. With an
    index, each identifier has the number of documents that hold its value and of the places in them. Formats
    of your own stand in the config: configs/clinical.yaml has one for hospital numbers.

    Example: extraction identifiers answers.jsonl --index corpus.index > found.jsonl
    """
    from extraction.identifiers import IdentifierSettings
    from index import open_index
    from pipelines.config import load_identifier_settings
    from pipelines.report.words import noun

    settings = load_identifier_settings(config) if config else IdentifierSettings()
    if index is not None:
        open_index(index)  # one that cannot be read is refused before minutes of tagging
    with tempfile.TemporaryFile() as copy:
        lines = _Lines(file, skip_bad_records)
        # All lines are read before anything is printed: a bad one leaves no half of a result behind.
        lines.copy_to(copy)
        if index is None:
            for identifier, found in _tagged(copy, settings):
                _print(identifier, [_row(finding) for finding in found])
        else:
            _print_with_counts(copy, index, settings, workers)
    if lines.bad:
        print(f"{file}: {noun(lines.bad, 'line')} could not be read, left out", file=sys.stderr)


@dataclass
class _Lines:
    """The records of a file; bad lines are refused or counted."""

    path: Path
    skip: bool
    bad: int = 0

    def copy_to(self, copy: IO[bytes]) -> None:
        try:
            with self.path.open("rb") as source:
                for number, line in enumerate(source, 1):
                    if line.strip():
                        self._copy(line, number, copy)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read ({error.strerror}); name a file of JSON lines"
            ) from error
        copy.seek(0)

    def _copy(self, line: bytes, number: int, copy: IO[bytes]) -> None:
        fault = _fault(line)
        if fault is None:
            copy.write(line if line.endswith(b"\n") else line + b"\n")
        elif self.skip:
            self.bad += 1
        else:
            raise InputError(f"{self.path}:{number}: {fault}; mend the line or pass --skip-bad-records")


def _fault(line: bytes) -> str | None:
    """Say what is wrong with a line, without quoting it."""
    record = parse_line(line)
    if isinstance(record, str):
        return record
    if fault := id_fault(record):
        return fault
    if not isinstance(record.get("text"), str):
        return "`text` is missing or not a string"
    return None


def _records(copy: IO[bytes]) -> Iterator[tuple[str | int, str]]:
    for line in copy:
        record = json.loads(line)
        yield record["id"], record["text"]


def _tagged(copy: IO[bytes], settings: "IdentifierSettings") -> Iterator[tuple[str | int, list["Finding"]]]:
    from extraction.identifiers import Tagger

    ids: deque[str | int] = deque()

    def texts() -> Iterator[str]:
        for identifier, text in _records(copy):
            ids.append(identifier)
            yield text

    # The tagger reads ahead by a batch, so the ids that wait are those of one batch.
    for found in Tagger(settings).tag(texts()):
        yield ids.popleft(), found


def _print_with_counts(copy: IO[bytes], index: Path, settings: "IdentifierSettings", workers: int) -> None:
    values: dict[Value, None] = {}
    # Findings wait in a file: those of a long run do not fit in memory.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for identifier, found in _tagged(copy, settings):
            rows = [_row(finding) for finding in found]
            values.update(dict.fromkeys((row["type"], row["value"]) for row in rows))
            waiting.write(json.dumps([identifier, rows]) + "\n")
        counts = _counts(tuple(values), index, settings, workers)
        waiting.seek(0)
        for line in waiting:
            identifier, rows = json.loads(line)
            _print(identifier, [row | counts[row["type"], row["value"]] for row in rows])


def _counts(
    values: "tuple[Value, ...]", index: Path, settings: "IdentifierSettings", workers: int
) -> "dict[Value, dict[str, int]]":
    """The documents and occurrences of each value."""
    from pipelines.parts import PartStore
    from pipelines.values import LookupJob, look_up, merge_lookup
    from pipelines.workers import runner

    counts = {value: {"documents": 0, "occurrences": 0} for value in values}
    with tempfile.TemporaryDirectory() as folder:
        found = PartStore(folder)
        with runner(workers) as run:
            look_up(LookupJob(values, settings, str(index.resolve()), found), run)
        for row in merge_lookup(found, 1).to_pylist():
            counts[row["type"], row["value"]] = {name: row[name] for name in ("documents", "occurrences")}
    return counts


def _row(finding: "Finding") -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _PRINTED}


def _print(identifier: str | int, rows: list[dict[str, Any]]) -> None:
    line = json.dumps({"id": identifier, "identifiers": rows}, ensure_ascii=False)
    if not _has_utf8(line):
        line = json.dumps({"id": identifier, "identifiers": rows})
    typer.echo(line.encode())


def _has_utf8(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can carry as an escape only
        return False
    return True
