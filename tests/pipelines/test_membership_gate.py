"""The membership gate on scores made by hand: exit status, membership.json, the card, and the policy's rule."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import ModelCard
from typer.testing import CliRunner

from extraction.errors import InputError
from extraction.membership.score_files import MODEL_KEY
from pipelines.cli import app
from pipelines.membership.card import card_section
from pipelines.membership.gate import card_margin
from tests.pipelines import report_cases

MODEL = "8be2f0c7715ad94e"  # as in the report that the policy judges


def card(folder: Path, metadata: str = "license: mit") -> Path:
    path = folder / "README.md"
    path.write_text(f"---\n{metadata}\n---\n\n# A model\n", encoding="utf-8")
    return path


def scores(folder: Path, shift: float, size: int = 1500, names: tuple[str, ...] = ("loss", "min_k")) -> Path:
    rng = np.random.default_rng(4)
    rows = [
        {"id": f"{member}{n}", "member": member, "name": name, "score": rng.normal(shift * member)}
        for name in names
        for member in (True, False)
        for n in range(size)
    ]
    table = pa.Table.from_pylist(rows).replace_schema_metadata({MODEL_KEY: MODEL})
    pq.write_table(table, folder / "scores.parquet")
    return folder / "scores.parquet"


def gate(result: Path, model_card: Path, *options: str) -> tuple[int, list[str], dict[str, object]]:
    done = CliRunner().invoke(
        app, ["membership", "gate", str(result), "--model-card", str(model_card), *options]
    )
    record = json.loads((result.parent / "membership.json").read_text()) if done.exit_code != 2 else {}
    return done.exit_code, done.stdout.splitlines(), record


@pytest.mark.parametrize(
    ("shift", "size", "status", "outcome"),
    [(0.0, 1500, 0, "pass"), (0.5, 1500, 1, "fail"), (0.0, 100, 3, "hold"), (3.0, 30, 1, "fail")],
)
def test_the_gate_passes_fails_or_holds(
    tmp_path: Path, shift: float, size: int, status: int, outcome: str
) -> None:
    found, lines, record = gate(scores(tmp_path, shift, size), card(tmp_path))
    assert (found, record["outcome"]) == (status, outcome)
    assert lines[-3].startswith(outcome.upper())
    assert lines[-2:] == [str(tmp_path / name) for name in ("membership.json", "membership_card.md")]
    assert (record["margin"], record["model"]) == (0.55, MODEL)
    assert [one["name"] for one in record["attacks"]] == ["loss", "min_k"]
    for path in lines[-2:]:
        assert Path(path).stat().st_mode & 0o077 == 0


def test_the_cards_section_has_valid_metadata(tmp_path: Path) -> None:
    gate(scores(tmp_path, 0.5), card(tmp_path))
    section = ModelCard.load(tmp_path / "membership_card.md")
    found = {one.metric_name: one for one in section.data.eval_results}
    record = json.loads((tmp_path / "membership.json").read_text())
    assert len(found) == 2
    loss = found["AUC of the loss attack, 0.5 is chance"]
    assert (loss.metric_type, loss.metric_value) == ("roc_auc", record["attacks"][0]["auc"]["estimate"])
    assert f"{loss.metric_value:.3f}" in section.text
    assert "tells records that this model was trained on from others" in section.text


def test_constant_scores_hold(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"{member}{n},{member},1.0" for member in (0, 1) for n in range(3000)]
    path.write_text("\n".join(["id,member,score", *rows]))
    status, lines, record = gate(path, card(tmp_path))
    assert (status, record["outcome"], record["model"]) == (3, "hold", None)
    assert lines[0] == "hold:constant-scores  score"
    assert not ModelCard.load(tmp_path / "membership_card.md").data.eval_results


def test_a_card_lowers_the_margin_and_never_raises_it(tmp_path: Path) -> None:
    path = scores(tmp_path, 0.0)
    status, lines, record = gate(path, card(tmp_path, "membership_margin: 0.51"))
    assert (status, record["margin"]) == (3, 0.51)
    for raised in ("0.56", "0.4", ".nan", "high", "true"):
        with pytest.raises(InputError, match="membership_margin"):
            card_margin(card(tmp_path, f"membership_margin: {raised}"))
    (tmp_path / "membership.json").unlink()
    done = CliRunner().invoke(
        app,
        [
            "membership",
            "gate",
            str(path),
            "--model-card",
            str(card(tmp_path, "membership_margin: 0.6")),
        ],
    )
    assert "never raise it" in str(done.exception)
    assert not (tmp_path / "membership.json").exists()


@pytest.mark.parametrize("text", ["# no metadata\n", "", "---\n---\n", "---\nlicense: mit\n---\n"])
def test_a_card_that_says_nothing_leaves_the_default(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    assert card_margin(tmp_path / "README.md") == 0.55


def test_a_card_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for text in (
        "---\nmembership_margin: 0.5\n",
        "---\n- a\n---\n",
        "---\na: [\n---\n",
        "---\ndate: 2024-13-45\n---\n",
    ):
        (tmp_path / "README.md").write_text(text)
        with pytest.raises(InputError, match="metadata"):
            card_margin(tmp_path / "README.md")
    with pytest.raises(InputError, match="cannot be read"):
        card_margin(tmp_path / "none.md")


def policy_outcome(tmp_path: Path, **rule: float) -> str:
    run = tmp_path / "run"
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"rules": [{"kind": "membership", **rule}]}))
    CliRunner().invoke(app, ["gate", str(run), "--policy", str(tmp_path / "policy.yaml")])
    found: str = json.loads((run / "gate.json").read_text())["outcome"]
    return found


def test_a_policy_takes_it_as_evidence(tmp_path: Path) -> None:
    run = report_cases.write_run(tmp_path / "run", report_cases.report(), [])
    assert policy_outcome(tmp_path) == "hold"
    gate(scores(tmp_path, 0.0), card(tmp_path))
    sound = (tmp_path / "membership.json").read_text()
    for change, outcome in (
        ({}, "pass"),
        ({"outcome": "fail"}, "fail"),
        ({"outcome": "hold"}, "hold"),
        ({"outcome": "unknown"}, "hold"),
        ({"model": "another"}, "hold"),
        ({"model": None}, "hold"),
        ({"margin": float("nan")}, "hold"),
        ({"attacks": []}, "hold"),
    ):
        (run / "membership.json").write_text(json.dumps(json.loads(sound) | change))
        assert policy_outcome(tmp_path) == outcome, change
    (run / "membership.json").write_text(sound)
    assert policy_outcome(tmp_path, margin=0.53) == "hold"  # it was judged by a larger one
    (run / "membership.json").write_text("{")
    assert policy_outcome(tmp_path) == "hold"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nmembership_margin: 0.52\n---\n# A model\n",
        "\n\n---\r\nmembership_margin: 0.52\r\n---\r\n",
        "--- \nmembership_margin: 0.52\n--- \n",
    ],
    ids=["byte order mark", "empty lines first", "blanks"],
)
def test_a_lower_margin_is_found_however_the_card_was_saved(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text, encoding="utf-8", newline="")
    assert card_margin(tmp_path / "README.md") == 0.52


def test_what_a_hold_measured_is_in_no_metadata(tmp_path: Path) -> None:
    attack = {
        "name": "loss",
        "members": 900,
        "others": 900,
        "auc": {"estimate": 0.9, "low": 0.88, "high": 0.92},
        "verdict": "hold:unmatched-cohorts",
    }
    record = {"outcome": "hold", "margin": 0.55, "hold": "hold:unmatched-cohorts", "attacks": [attack]}
    (tmp_path / "held.md").write_text(card_section("returns", record), encoding="utf-8")
    held = ModelCard.load(tmp_path / "held.md")
    assert not held.data.eval_results
    assert "hold:unmatched-cohorts" in held.text.replace("\\", "")
    (tmp_path / "sound.md").write_text(card_section("returns", record | {"hold": None}), encoding="utf-8")
    assert [one.metric_value for one in ModelCard.load(tmp_path / "sound.md").data.eval_results] == [0.9]
