"""The release gate: a run's report.json judged by a policy, and gate.json and gate.html that say how.

The report is read here without its schema: a number that is missing or NaN is no evidence, and puts the rules that ask
for it on hold instead of ending the whole gate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from extraction.errors import InputError
from extraction.gate import BudgetEvidence, Evidence, Finding, IdentifierEvidence, judge, overall
from extraction.identifiers.records import SINGLE_NAME
from extraction.policy import CountName, Policy
from extraction.shares import HitCounts
from pipelines.config import load_settings
from pipelines.membership.evidence import membership_evidence
from pipelines.parts import write_json
from pipelines.report.pages import render_page, write_page
from pipelines.report.render import read_report
from pipelines.rundir import RunDirectory

# Of each outcome: the colour on the page, as in a report's verdict, and the words.
WORDS = {
    "pass": ("nothing", "Pass", "This run keeps every rule of the policy."),
    "fail": ("private", "Fail", "This run breaks the policy."),
    "hold": ("incomplete", "Hold", "The evidence does not suffice to judge this run."),
}
NO_MODEL = "none"  # as reports say it of generations made elsewhere
COUNTS: tuple[str, ...] = get_args(CountName)


def run_gate(run: Path, policy_path: Path) -> tuple[list[Finding], list[Path]]:
    """Judge a run by every rule of a policy and write gate.json and gate.html beside its report.

    Args:
        run: a run directory.
        policy_path: a policy in YAML.

    Returns:
        How each rule came out, in the order of the policy, and the paths written.

    Raises:
        InputError: the policy or the report cannot be read; nothing is written.
    """
    policy = load_settings(Policy, policy_path)
    report = read_report(run)
    if not isinstance(report, dict) or report.get("schema_version") != 1:
        raise InputError(f"{run / 'report.json'}: no report of schema version 1; make it again")
    evidence = replace(
        evidence_of(report, _state_of(run)), membership=membership_evidence(run, _model_of(report))
    )
    findings = [judge(rule, evidence) for rule in policy.rules]
    record = _gate_record(report, policy, findings)
    page = render_page("gate.html", {"gate": record, "words": WORDS[record["outcome"]]})
    write_json(str(run / "gate.json"), record)
    return findings, [run / "gate.json", write_page(run / "gate.html", page)]


def _gate_record(report: Mapping[str, Any], policy: Policy, findings: Sequence[Finding]) -> dict[str, Any]:
    judged = zip(policy.rules, findings, strict=True)
    return {
        "schema_version": 1,
        "run": str(_section(report, "run").get("id")),
        "outcome": overall(findings),
        "rules": [{"settings": rule.model_dump(mode="json"), **asdict(finding)} for rule, finding in judged],
    }


def _state_of(run: Path) -> str | None:
    """What run.json says of the run: while it goes on, its report is one of an earlier, smaller run."""
    if not (run / "run.json").exists():
        return None
    state = RunDirectory(run).read().get("status")
    return None if state is None else str(state)


def _model_of(report: Mapping[str, Any]) -> str | None:
    """The digest of the model that the run is of."""
    found = _section(_section(report, "method"), "model").get("fingerprint")
    return found if isinstance(found, str) and found != NO_MODEL else None


def evidence_of(report: Mapping[str, Any], state: str | None) -> Evidence:
    """Take from a report what rules ask for.

    Args:
        report: the content of report.json, whatever it holds.
        state: the run's status in run.json; None where it says nothing.
    """
    control, method = report.get("control"), _section(report, "method")
    types = [str(name) for name in _list(method.get("identifier_types"))]
    budgets = [row for row in _list(report.get("budgets")) if _whole(_get(row, "budget")) is not None]
    return Evidence(
        incomplete=_incomplete(report, state),
        control=None
        if control is None
        else "complete"
        if _get(control, "status") == "complete"
        else "incomplete",
        control_text=isinstance(report.get("control_text"), dict),
        private_documents=_whole(method.get("private_documents")),
        identifier_types=[*types, *([SINGLE_NAME] if "PERSON" in types else [])],
        budgets=sorted((_budget(row, report) for row in budgets), key=lambda row: row.budget),
    )


def _incomplete(report: Mapping[str, Any], state: str | None) -> list[str]:
    reasons = [str(_get(item, "reason")) for item in _list(report.get("incomplete"))]
    if report.get("status") != "complete" and not reasons:
        reasons = ["the report does not say that it is complete"]
    if state not in (None, "complete") and report.get("status") == "complete":
        reasons.append(f"run.json says that the run is {state}")
    return reasons


def _budget(row: Mapping[str, Any], report: Mapping[str, Any]) -> BudgetEvidence:
    interval, identifiers = row.get("extracted_share_interval"), _section(row, "identifiers")
    return BudgetEvidence(
        budget=int(row["budget"]),
        reached=row.get("reached") is True,
        generated_tokens=_whole(row.get("generated_tokens")),
        requests=_whole(row.get("requests")),
        counts={name: _whole(row.get(name)) for name in COUNTS},
        identifiers={
            name: IdentifierEvidence(_whole(_get(found, "in_corpus")), _whole(_get(found, "private")))
            for name, found in identifiers.items()
        },
        share=_share(row.get("extracted_share")),
        share_high=_share(_get(interval, "high")),
        families=_families(report, row["budget"]),
    )


def _families(report: Mapping[str, Any], budget: int) -> list[HitCounts] | None:
    """Every family's requests at a budget; None where a number of them is missing."""
    method = _section(report, "method")
    shortest, prompts = _whole(method.get("min_tokens")), _section(method, "prompt_families")
    found = []
    for name, rows in _section(report, "families").items():
        row = next((r for r in _list(rows) if _get(r, "budget") == budget), None)
        numbers = [_whole(_get(row, key)) for key in _HITS]
        longest = _whole(_get(prompts.get(name), "max_tokens"))
        if shortest is None or longest is None or None in numbers:
            return None
        requests, hits, generated, extracted = (n for n in numbers if n is not None)
        found.append(HitCounts(requests, hits, generated, extracted, shortest, longest))
    sound = all(own.hits <= own.requests for own in found) and sum(own.generated for own in found) > 0
    return found if sound else None


_HITS = ("requests", "requests_with_extraction", "generated_tokens", "extracted_tokens")  # as in HitCounts


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _section(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    """A count; None for what is none: missing, NaN, negative, a truth value."""
    return value if type(value) is int and value >= 0 else None


def _share(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known and 0 <= value <= 1 else None
