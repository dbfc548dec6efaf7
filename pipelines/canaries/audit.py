"""`extraction dp-audit --out`: what an audit says of a privacy claim, in dp_audit.json and dp_audit.html."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from extraction.dp_audit import CONTRADICTED, Bound
from pipelines.parts import write_json
from pipelines.report.pages import render_page, write_page
from pipelines.rundir import now

SCHEMA_VERSION = 1
KINDS = {"many-run": "models trained with and without the canary", "one-run": "canaries in one model"}


def audit_record(kind: str, bound: Bound, claimed: float | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What dp_audit.json holds.

    Args:
        kind: `many-run` or `one-run`.
        bound: what the audit found.
        claimed: the claimed epsilon; None where no claim is judged.
        facts: the counts that the bound was computed from.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "created": now(),
        "audit": kind,
        **asdict(bound),
        "claimed_epsilon": claimed,
        "verdict": None if claimed is None else bound.against(claimed),
        "statement": statement(bound, claimed),
        "counts": dict(facts),
    }


def statement(bound: Bound, claimed: float | None) -> str:
    """The verdict in a sentence: a claim is contradicted or not contradicted, never confirmed."""
    confidence = f"{100 * bound.confidence:.6g} %"
    if claimed is None:
        return (
            f"With {confidence} confidence, epsilon is at least {bound.epsilon:.4f} at delta {bound.delta:g}."
        )
    claim = f"the claim of epsilon {claimed:g} at delta {bound.delta:g}"
    if bound.against(claimed) == CONTRADICTED:
        return (
            f"With {confidence} confidence, {claim} is contradicted: epsilon is at least {bound.epsilon:.4f}."
        )
    return (
        f"At {confidence} confidence, {claim} is not contradicted: this attack shows no more than epsilon "
        f"{bound.epsilon:.4f}. That confirms nothing; another attack may show more."
    )


def write_audit(record: dict[str, Any], out: Path) -> list[Path]:
    """Write the record and the page.

    Args:
        record: of `audit_record`.
        out: a folder; made, readable by its owner alone.
    """
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_json(str(out / "dp_audit.json"), record)
    return [out / "dp_audit.json", write_page(out / "dp_audit.html", audit_page(record))]


def audit_page(record: dict[str, Any]) -> str:
    """Make the HTML of dp_audit.html."""
    level, kicker = {
        CONTRADICTED: ("private", "Contradicted"),
        None: ("shared", "A lower bound"),
    }.get(record["verdict"], ("nothing", "Not contradicted"))
    context = {"record": record, "level": level, "kicker": kicker, "kind": KINDS[record["audit"]]}
    return render_page("dp_audit.html", context, "pipelines.canaries")
