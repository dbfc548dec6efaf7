"""How much of what true openings bring out a run found: from the prefix test into the run's report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, NonNegativeInt

from extraction.errors import InputError
from pipelines.parts import read_record, write_json
from pipelines.report.records import Rate, Record

FILE = "prefix.json"


class RecoveryAt(Record):
    """At one budget of the run.

    Attributes:
        brought_out: openings from which greedy decoding gives whole what truly follows them somewhere.
        written: of these, those after which a generation of the run has a window of what truly follows.
        share: of those brought out; null where there are none.
    """

    budget: NonNegativeInt
    reached: bool
    brought_out: NonNegativeInt
    written: NonNegativeInt
    share: Rate | None


class Recovery(Record):
    """What a prefix test found beside this run.

    Attributes:
        prefix_run: its id.
        complete: whether it says that it is.
        documents: how many were drawn, of those in the corpus that differ.
        prefix_tokens: how long the true openings were.
        target_tokens: how much of what follows was asked for.
        budgets: those of the run.
    """

    prefix_run: str
    complete: bool
    documents: NonNegativeInt
    prefix_tokens: NonNegativeInt
    target_tokens: NonNegativeInt
    budgets: list[RecoveryAt] = Field(min_length=1)


def add_recovery(run: Path, report: Mapping[str, Any], prefix: Path) -> dict[str, Any]:
    """Put the recovery that a prefix test measured into a run's report.json.

    Args:
        run: the run directory.
        report: the content of its report.json.
        prefix: the directory of the prefix test, which named that run.

    Returns:
        The same with `recovery`.

    Raises:
        InputError: there is no finished prefix test, or it looked at no run, or at another one.
    """
    file = prefix / FILE
    record = read_record(file, f"{file}: not there; finish the test with `extraction prefix`", "prefix")
    try:
        found, compared = _recovery(record), record["recovery"]["run"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file}: no recovery in it; name the run as `run` in its configuration, and make it again"
        ) from error
    if compared != report.get("run", {}).get("id"):
        raise InputError(f"{file}: beside another run than {run}; name that one, or another prefix test")
    added = {**report, "recovery": found.model_dump()}
    write_json(str(run / "report.json"), added)
    return added


def _recovery(record: Mapping[str, Any]) -> Recovery:
    own = record["recovery"]
    return Recovery(
        prefix_run=record["run"]["id"],
        complete=record["status"] == "complete",
        documents=record["sample"]["documents"],
        prefix_tokens=own["prefix_tokens"],
        target_tokens=record["method"]["target_tokens"],
        budgets=[_at(one) for one in own["budgets"]],
    )


def _at(one: Mapping[str, Any]) -> RecoveryAt:
    """By greedy decoding, which stands first."""
    greedy = one["by"][0]
    return RecoveryAt(
        budget=one["budget"],
        reached=one["reached"],
        brought_out=greedy["brought_out"],
        written=greedy["both"],
        share=greedy["share"],
    )
