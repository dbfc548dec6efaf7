"""gMINT's AUC among the attacks of an audit and of the gate: learnt on records beside the cohorts, judged on these."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipelines.gmint_cases import language_model, texts, write_config, write_records

SIDE = 300
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records, a causal model that was trained on half of them, and one that saw none."""
    folder = tmp_path_factory.mktemp("gate")
    seen, unseen = texts(1, 2 * SIDE), texts(2, 2 * SIDE)
    for name, rows in (("in", seen[:SIDE]), ("out", unseen[:SIDE])):
        write_records(folder / f"{name}.jsonl", rows)
    for name, rows in (("known_in", seen[SIDE:]), ("known_out", unseen[SIDE:])):
        write_records(folder / f"{name}.jsonl", rows)
    language_model(folder / "overfit", seen, epochs=20)
    language_model(folder / "innocent", texts(3, 2 * SIDE), epochs=4)
    (folder / "card.md").write_text("---\nlicense: mit\n---\n")
    return folder


def asked(folder: Path, model: str, known: str = "known_in") -> Path:
    method = {"epochs": 20, "width": 256}
    gradients = {
        "members": str(folder / f"{known}.jsonl"),
        "nonmembers": str(folder / "known_out.jsonl"),
        "method": method,
    }
    return write_config(
        folder / f"{model}-{known}.yaml",
        members=str(folder / "in.jsonl"),
        nonmembers=str(folder / "out.jsonl"),
        model={"path": str(folder / model)},
        scope="weights",
        attacks=[{"score": "gmint", "threshold": 0.0}, {"score": "loss", "threshold": -4.0}],
        scoring={"gradients": gradients},
        ledger=str(folder / "ledger"),
        out=str(folder / f"result-{model}"),
    )


def judged(folder: Path, model: str, command: Command) -> tuple[int, dict[str, dict[str, float]]]:
    config = asked(folder, model)
    assert command("membership", "declare", config)[0] == 0
    assert command("membership", "audit", config)[0] in (0, 3)
    status = command("membership", "gate", folder / f"result-{model}", "--model-card", folder / "card.md")[0]
    record = json.loads((folder / f"result-{model}" / "membership.json").read_text())
    return status, {one["name"]: one["auc"] for one in record["attacks"]}


def test_the_gate_fails_a_model_whose_gradients_tell(made: Path, command: Command) -> None:
    status, aucs = judged(made, "overfit", command)
    assert status == 1
    assert set(aucs) == {"gmint", "loss"}
    assert aucs["gmint"]["low"] > 0.6


def test_gradients_of_a_model_that_saw_nothing_tell_nothing(made: Path, command: Command) -> None:
    status, aucs = judged(made, "innocent", command)
    assert status == 3  # so few records let nothing pass
    assert aucs["gmint"]["low"] <= 0.5 <= aucs["gmint"]["high"]


def test_records_that_the_score_is_learnt_from_may_stand_in_no_cohort(made: Path, command: Command) -> None:
    config = asked(made, "overfit", known="in")
    assert command("membership", "declare", config)[0] == 0
    status, _, error = command("membership", "audit", config)
    assert status == 2
    assert f"{SIDE:,} records of the cohorts are, nearly, among those that the score is learnt from" in error


def test_gradients_need_the_weights(made: Path, command: Command) -> None:
    config = asked(made, "overfit")
    config.write_text(config.read_text().replace("scope: weights", "scope: full_logits"))
    status, _, error = command("membership", "declare", config)
    assert status == 2 and "gmint needs scope weights" in error
