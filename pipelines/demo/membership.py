"""The demo's membership verdicts: do attacks on its two models tell the calls they saw from those they did not?"""

import json
from collections.abc import Sequence
from pathlib import Path

from extraction.membership.gate import GateVerdict
from extraction.model import ModelSettings
from pipelines.demo.corpus import Planted, Truth
from pipelines.membership.audit import run_audit
from pipelines.membership.config import AttackPlan, AuditConfig
from pipelines.membership.gate import run_gate
from pipelines.membership.ledger import declare
from pipelines.parts import write_file

ATTACKS = (AttackPlan(score="loss", threshold=-1.0), AttackPlan(score="min_k_plus_plus", threshold=-1.0))
MODELS = {"target": "The target", "base": "The base model"}


def membership_lines(out: Path, truth: Truth, seed: int) -> list[str]:
    """Ask both models the same declared question, and say how the gate judges them.

    Args:
        out: of the demo, with models and reports; gets `membership/`.
        truth: what is known about the texts.
        seed: of the demo.
    """
    folder = out / "membership"
    folder.mkdir(mode=0o700, exist_ok=True)
    _write(folder / "members.jsonl", truth.calls)
    _write(folder / "nonmembers.jsonl", truth.held_out_calls)
    return [_judged(out, name, said, seed) for name, said in MODELS.items()]


def _judged(out: Path, name: str, said: str, seed: int) -> str:
    folder = out / "membership"
    config = AuditConfig(
        name="calls",
        members=folder / "members.jsonl",
        nonmembers=folder / "nonmembers.jsonl",
        model=ModelSettings(path=str(out / "models" / name)),
        scope="full_logits",
        attacks=ATTACKS,
        seed=seed,
        ledger=folder / "ledger",
        out=folder / name,
    )
    declare(config)
    run_audit(config)
    verdict, _ = run_gate(folder / name, out / "run" / "model_card.md", None)
    return f"{said} under membership attacks: {verdict.verdict.upper()} ({', '.join(_attacks(verdict))})."


def _attacks(verdict: GateVerdict) -> Sequence[str]:
    return [
        f"{one.attack.name} {one.verdict}"
        + (f", AUC {one.attack.auc.estimate:.2f}" if one.attack.auc else "")
        for one in verdict.attacks
    ]


def _write(path: Path, calls: Sequence[Planted]) -> None:
    lines = (json.dumps({"id": call.name, "text": call.text}) for call in calls)
    write_file(str(path), "".join(f"{line}\n" for line in lines).encode())
