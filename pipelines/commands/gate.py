"""`extraction gate`: a run judged by a policy, for a release pipeline to act on."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.progress import inert

STATUS = {"pass": 0, "fail": 1, "hold": 3}


def gate(
    run: Annotated[Path, typer.Argument(help="A run directory that holds report.json.")],
    policy: Annotated[Path, typer.Option(help="A policy in YAML; copy configs/policy.yaml.")],
) -> None:
    """Judge a run by a policy: print each rule with its evidence, write gate.json and gate.html.

    Exit status: 0 every rule passes, 1 a rule fails, 3 none fails but one is on hold (evidence is missing, incomplete,
    not reached, or too thin for the rule), 2 a fault.

    Example: extraction gate runs/release-7 --policy configs/policy.yaml
    """
    from extraction.gate import overall
    from pipelines.gate import run_gate

    findings, paths = run_gate(run, policy)
    for finding in findings:
        typer.echo(inert(f"{finding.outcome}  {finding.rule}: {finding.evidence}."))
    outcomes = [finding.outcome for finding in findings]
    counts = ", ".join(f"{outcomes.count(name)} {name}" for name in ("pass", "fail", "hold"))
    typer.echo(f"{overall(findings).upper()}: {counts}.")
    for path in paths:
        typer.echo(inert(str(path)))
    raise typer.Exit(STATUS[overall(findings)])
