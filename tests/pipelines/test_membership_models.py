"""Models trained here, from cohorts to the gate: what was learnt by heart fails, what was never seen passes."""

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from extraction.membership.evaluation import evaluate
from extraction.membership.intervals import auc_interval
from extraction.membership.score_files import read_scores
from extraction.membership.scores import NAMES, lowest_mean, standardised
from extraction.model import ModelSettings
from pipelines.cli import app
from pipelines.membership.scoring import Reader
from tests.pipelines.word_models import random_texts, word_model

SIZE, LENGTH = 1500, 10
EPOCHS = 24


def texts(seed: int, count: int = SIZE) -> list[str]:
    """Texts of one length; see `random_texts`."""
    return random_texts(seed, count, LENGTH)


def write(path: Path, rows: list[str]) -> Path:
    lines = [{"id": f"{path.stem}{n}", "text": text} for n, text in enumerate(rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def trained(folder: Path, rows: list[str], epochs: int = EPOCHS) -> Path:
    """Train a small language model on some texts and save it with its tokenizer."""
    return word_model(folder, rows, epochs, width=64, positions=128, rate=4e-3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cohorts, and two models: one that was trained on the members, one on neither cohort."""
    folder = tmp_path_factory.mktemp("membership")
    write(folder / "in.jsonl", texts(1))
    write(folder / "out.jsonl", texts(2))
    write(folder / "population.jsonl", texts(4, 400))
    write(folder / "prefix.jsonl", texts(5, 2))
    trained(folder / "overfit", texts(1))
    trained(folder / "innocent", texts(3), epochs=EPOCHS // 4)
    (folder / "card.md").write_text("---\nlicense: mit\n---\n")
    return folder


def command(*arguments: object) -> int:
    result = CliRunner().invoke(app, ["membership", *map(str, arguments)])
    assert result.exit_code in (0, 1, 3), result.exception
    return result.exit_code


def gated(folder: Path, model: str) -> tuple[dict[str, Any], int]:
    """Ask both models the same declared question, and judge one of them."""
    config = {
        "name": "cohorts",
        "members": str(folder / "in.jsonl"),
        "nonmembers": str(folder / "out.jsonl"),
        "model": {"path": str(folder / model)},
        "scope": "full_logits",
        "attacks": [{"score": "loss", "threshold": -4.0}, {"score": "min_k_plus_plus", "threshold": -1.0}],
        "ledger": str(folder / "ledger"),
        "out": str(folder / f"result-{model}"),
    }
    (folder / "audit.yaml").write_text(yaml.safe_dump(config))
    assert command("declare", folder / "audit.yaml") == 0
    assert command("audit", folder / "audit.yaml") == 0
    result = json.loads((folder / f"result-{model}" / "result.json").read_text())
    return result, command("gate", folder / f"result-{model}", "--model-card", folder / "card.md")


def test_a_model_that_learnt_its_members_by_heart_fails_and_one_that_saw_none_passes(made: Path) -> None:
    overfit, status = gated(made, "overfit")
    assert status == 1
    assert overfit["attacks"][0]["evaluation"]["auc"]["low"] > 0.6
    innocent, status = gated(made, "innocent")
    assert status == 0
    assert innocent["repeats"] == overfit["id"]
    assert innocent["digests"]["model"] != overfit["digests"]["model"]
    for one in innocent["attacks"]:
        assert one["auc_together"]["high"] < 0.55


def test_every_score_is_higher_for_members(made: Path) -> None:
    out = made / "scores.parquet"
    command(
        *("score", made / "overfit", "--members", made / "in.jsonl", "--nonmembers", made / "out.jsonl"),
        *("--reference", made / "innocent", "--neighbours", 2, "--prefix", made / "prefix.jsonl"),
        *("--shadow", made / "innocent", "--population", made / "population.jsonl", "--out", out),
    )
    found = {name: evaluate(read_scores(out, name=name)).auc for name in NAMES}
    low = {name: auc.low for name, auc in found.items() if auc is not None}
    assert set(low) == set(NAMES)
    assert min(low.values()) > 0.55, low


@pytest.mark.parametrize(("seen", "status"), [(True, 1), (False, 0)])
def test_a_classifier_that_learnt_its_members_by_heart_fails(tmp_path: Path, seen: bool, status: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(3)
    features = rng.normal(size=(3, SIZE, 5))
    labels = (features[..., 0] + rng.normal(size=(3, SIZE)) > 0).astype(int)
    trained_on = 0 if seen else 2
    classifier = DecisionTreeClassifier(random_state=0).fit(features[trained_on], labels[trained_on])
    rows = [
        {
            "id": f"{side}-{n}",
            "member": side == 0,
            "label": str(labels[side, n]),
            "0": found[0],
            "1": found[1],
        }
        for side in (0, 1)
        for n, found in enumerate(classifier.predict_proba(features[side]).tolist())
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "predicted.parquet")
    (tmp_path / "card.md").write_text("")
    assert command("predictions", tmp_path / "predicted.parquet", "--out", tmp_path / "scores.parquet") == 0
    assert command("gate", tmp_path / "scores.parquet", "--model-card", tmp_path / "card.md") == status


def test_shadow_models_need_a_population(made: Path) -> None:
    arguments = ["score", made / "overfit", "--members", "a", "--nonmembers", "b", "--out", "c"]
    result = CliRunner().invoke(app, ["membership", *map(str, arguments), "--shadow", str(made / "innocent")])
    assert "`shadows` and `population` together" in str(result.exception)


def test_predictions_that_are_no_probabilities_are_refused(tmp_path: Path) -> None:
    for rows, complaint in (
        ("id,member,label,yes\na,1,yes,1.2", "not between 0 and 1"),
        ("id,member,label,yes\na,1,yes,high", "is no number"),
        ("id,member,label,yes\na,1,no,0.5", "no column 'no'"),
        ("id,member,label,yes,fold\na,1,yes,0.5,1", "add up to more than 1"),
        ("id,member,label,yes,split\na,1,yes,0.5,train", "of label 'split' is no number"),
        ("id,member,label,yes", "no record in it"),
    ):
        (tmp_path / "predicted.csv").write_text(rows + "\n")
        arguments = [
            "membership",
            "predictions",
            str(tmp_path / "predicted.csv"),
            "--out",
            str(tmp_path / "o"),
        ]
        assert complaint in str(CliRunner().invoke(app, arguments).exception)


def test_a_label_that_is_never_the_true_one_can_still_be_the_classifiers(tmp_path: Path) -> None:
    rows = "id,member,label,group,cat,dog,bird\na,1,cat,x,0.06,0.04,0.9\nb,0,dog,y,0.1,0.7,0.2\n"
    (tmp_path / "predicted.csv").write_text(rows)
    assert command("predictions", tmp_path / "predicted.csv", "--out", tmp_path / "scores.parquet") == 0
    found = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    assert {(row["id"], row["name"]): row["score"] for row in found} == {
        ("a", "confidence"): 0.06,
        ("b", "confidence"): 0.7,
        ("a", "label"): 0.0,  # it said bird
        ("b", "label"): 1.0,
    }


def test_min_k_points_the_published_way_at_every_published_share(made: Path) -> None:
    """Higher for members at 10 to 100 % of the tokens (Shi et al. 2024; Zhang et al. 2025)."""
    reader = Reader.load(ModelSettings(path=str(made / "overfit")))
    members, others = (reader.scorer.score([reader.text(text) for text in texts(seed)]) for seed in (1, 2))
    for read in (attrgetter("log_probs"), standardised):
        for k in np.arange(1, 11) / 10:
            inside, outside = (
                np.array([lowest_mean(read(one), k) for one in side]) for side in (members, others)
            )
            assert auc_interval(inside, outside).low > 0.55, k
