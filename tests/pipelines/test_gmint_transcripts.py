"""gMINT on the demo's language models: the target learnt its calls by heart, and the base model saw none of them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo.corpus import Planted
from tests.conftest import Demo
from tests.pipelines.gmint_cases import write_config

WORDS = 40  # of each call: calls that were trained on are longer or shorter than the others, and would hold for that
SIDE = 40
METHOD = {"epochs": 30, "splits": 3, "width": 64}
Command = Callable[..., tuple[int, str, str]]


def write_calls(path: Path, calls: Sequence[Planted]) -> str:
    cut = [{"id": call.name, "text": " ".join(call.text.split()[:WORDS])} for call in calls]
    path.write_text("".join(json.dumps(call) + "\n" for call in cut), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("name", "leaks"), [("target", True), ("base", False)])
def test_gradients_tell_the_calls_of_a_fine_tuned_model_alone(
    demo: Demo, tmp_path: Path, command: Command, name: str, leaks: bool
) -> None:
    sides = {
        "members": write_calls(tmp_path / "in.jsonl", demo.truth.calls),
        "nonmembers": write_calls(tmp_path / "out.jsonl", demo.truth.held_out_calls),
    }
    config = write_config(
        tmp_path / "calls.yaml",
        kind="causal",
        models={name: {"path": str(getattr(demo, name))}},
        data={"calls": sides},
        samples=[SIDE],
        method=METHOD,
        out=str(tmp_path / "out"),
    )
    status, said, error = command("membership", "gmint", config)
    assert status == 0, (said, error)
    found = findings(tmp_path / "out")
    assert (found["gradients"]["auc"]["low"] > 0.5) == leaks
    assert found["permuted"]["auc"]["low"] <= 0.5 <= found["permuted"]["auc"]["high"]
    assert found["untrained"]["auc"]["low"] <= 0.5 <= found["untrained"]["auc"]["high"]


def findings(folder: Path) -> dict[str, Any]:
    record = json.loads((folder / "gmint.json").read_text(encoding="utf-8"))
    (cell,) = record["cells"]
    (found,) = cell["findings"]
    return dict(found)


def test_the_gate_takes_them_as_an_attack_on_the_calls(demo: Demo, tmp_path: Path, command: Command) -> None:
    calls, others = demo.truth.calls, demo.truth.held_out_calls
    gradients = {
        "members": write_calls(tmp_path / "known_in.jsonl", calls[1::2]),
        "nonmembers": write_calls(tmp_path / "known_out.jsonl", others[1::2]),
        "method": METHOD,
    }
    config = write_config(
        tmp_path / "gate.yaml",
        members=write_calls(tmp_path / "in.jsonl", calls[::2]),
        nonmembers=write_calls(tmp_path / "out.jsonl", others[::2]),
        model={"path": str(demo.target)},
        scope="weights",
        attacks=[{"score": "gmint", "threshold": 0.0}],
        scoring={"gradients": gradients},
        ledger=str(tmp_path / "ledger"),
        out=str(tmp_path / "result"),
    )
    (tmp_path / "card.md").write_text("---\nlicense: mit\n---\n")
    assert command("membership", "declare", config)[0] == 0
    assert command("membership", "audit", config)[0] in (0, 3)
    status, said, error = command(
        "membership", "gate", tmp_path / "result", "--model-card", tmp_path / "card.md"
    )
    assert status == 1, (said, error)
