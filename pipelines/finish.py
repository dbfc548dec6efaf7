"""The end of a run: counting, passages.parquet, report.json and the pages made from it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extraction.counts import Found
from extraction.repetition import REPETITION_SCHEMA
from pipelines.assemble import (
    NOT_TEXT,
    SKIPPED_RECORDS,
    control_section,
    control_text_section,
    counted,
    document_count_bins,
    incomplete_reasons,
)
from pipelines.count import Rules, load_found, passages_in, windows_in, write_passages, write_windows
from pipelines.generate import failed_requests
from pipelines.listing import write_listing
from pipelines.match import MatchStores
from pipelines.parts import write_json
from pipelines.repetition import STORE, add_repetitions, count_repetitions
from pipelines.rundir import RunDirectory
from pipelines.values import Lookups

if TYPE_CHECKING:
    from extraction.identifiers import IdentifierSettings
    from index import Index


@dataclass(frozen=True)
class Again:
    """What makes a run again: its seed, and the commands in their order."""

    seed: int
    commands: list[str]


@dataclass(frozen=True)
class Analysed:
    """A run whose generations are matched and tagged, ready to be counted.

    Attributes:
        directory: where it stands.
        run: the content of run.json.
        index: the index that it was matched against.
        rules: what counting needs to know.
        identifiers: how identifiers were tagged.
        lookup: the counts of its identifiers, in the corpus and beside it.
        method: the `method` part of the report.
        seed: the run's seed; 0 for generations made elsewhere.
        command: what makes it again.
        unread: by reason, input beside the corpus that could not be read.
        names: ids that generations made elsewhere came with, by request id.
        ranking: what was ranked for people to check; None where nothing was.
    """

    directory: RunDirectory
    run: dict[str, Any]
    index: "Index"
    rules: Rules
    identifiers: "IdentifierSettings"
    lookup: Lookups
    method: dict[str, Any]
    seed: int
    command: str
    unread: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    ranking: dict[str, Any] | None = None

    def found(self) -> Found:
        """Everything that was found, in memory."""
        return load_found(self.directory, self.lookup, self.rules)


@dataclass(frozen=True)
class ControlRun:
    """A control that is counted already: the hashes of its windows, uint8[windows, 16], and its report."""

    hashes: NDArray[np.uint8]
    report: Mapping[str, Any]


@dataclass(frozen=True)
class ControlText:
    """Text that the model never saw: what it is called and its index."""

    name: str
    index: "Index"


def finish(work: Analysed, control: ControlRun | None, text: ControlText | None) -> Path:
    """Count a run and write everything that is read from it: windows, passages, report and pages.

    Returns:
        The path of report.json.
    """
    found = work.found()
    in_control = passages_in(found.passages, windows_in(found, control.hashes)) if control else None
    write_windows(work.directory, found, work.rules)
    write_listing(work.directory, work.lookup, work.identifiers.document_ids)
    passages = write_passages(
        work.directory, found, work.rules, work.index, work.identifiers, in_control, work.names
    )
    sections: dict[str, Any] = {
        **counted(found, work.rules),
        "passages_by_document_count": document_count_bins(passages),
        "control": control_section(found, work.rules, control.hashes, control.report) if control else None,
        "control_text": _text_section(work, found, text) if text else None,
        "ranking": work.ranking,
        "method": work.method,
    }
    repetitions = work.directory.store(STORE).read_all(REPETITION_SCHEMA)
    add_repetitions(sections["families"], count_repetitions(found, work.rules, repetitions))
    again = Again(work.seed, [work.command])
    return publish_report(work.directory, work.run, again, _incomplete(work), sections)


def publish_report(
    directory: RunDirectory,
    run: Mapping[str, Any],
    again: Again,
    incomplete: list[dict[str, Any]],
    sections: Mapping[str, Any],
) -> Path:
    """Write report.json and the pages made from it, and say in run.json how the run ended.

    Args:
        directory: the run's.
        run: the content of run.json.
        again: how the run is made again.
        incomplete: reasons why it is not whole; empty for one that is.
        sections: everything else that the report holds, but its limitations.

    Returns:
        The path of report.json.
    """
    from pipelines.report import build_limitations, render_report

    ended = {"status": "incomplete" if incomplete else "complete", "incomplete": incomplete}
    own = {"id": run["run"], "created": run["created"], **asdict(again)}
    report: dict[str, Any] = {"schema_version": 1, "run": own, **ended, **sections}
    report["limitations"] = build_limitations(report)
    write_json(str(directory.path / "report.json"), report)
    render_report(report, directory.path)
    directory.write({**run, **ended})
    return directory.path / "report.json"


def _incomplete(work: Analysed) -> list[dict[str, Any]]:
    info = work.index.info
    unread = {SKIPPED_RECORDS: info.skipped_records, NOT_TEXT: info.not_text_files, **work.unread}
    return incomplete_reasons(failed_requests(work.directory.store("generations")), unread)


def _text_section(work: Analysed, found: Found, text: ControlText) -> dict[str, Any]:
    stores = MatchStores.of_control_text(work.directory), MatchStores.of(work.directory)
    return control_text_section(text.name, text.index.info, work.index.info, stores, found)
