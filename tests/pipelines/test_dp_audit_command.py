import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pipelines.cli import app

MANY = ["--true-positives", "500", "--positives", "500", "--false-positives", "0", "--negatives", "500"]
ONE = ["--canaries", "1000", "--guesses", "600", "--correct", "600", "--delta", "1e-5"]


def audit(kind: str, *options: str, status: int = 0) -> dict[str, object]:
    result = CliRunner().invoke(app, ["dp-audit", kind, *options])
    assert result.exit_code == status, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_worked_counts() -> None:
    assert audit("many-run", *MANY, "--alpha", "0.01")["epsilon"] == pytest.approx(4.5419, abs=5e-5)
    assert audit("one-run", *ONE)["epsilon"] == pytest.approx(5.2704, abs=5e-5)


def test_a_contradicted_claim_ends_with_status_1() -> None:
    assert audit("one-run", *ONE, "--claimed-epsilon", "3", status=1)["verdict"] == "contradicted"
    assert audit("one-run", *ONE, "--claimed-epsilon", "8")["verdict"] == "not contradicted"


def test_scores_in_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [f"c{n},{n % 2},{rng.normal(2.0 * (n % 2))}" for n in range(600)]
    path = tmp_path / "scores.csv"
    path.write_text("id,member,score\n" + "\n".join(rows), encoding="utf-8")
    one, many = audit("one-run", str(path), "--guesses", "300"), audit("many-run", str(path))
    assert 0.5 < float(str(one["epsilon"])) < 5
    assert 0.5 < float(str(many["epsilon"])) < 5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["many-run", "--positives", "3"], "name a file of scores, or all four counts"),
        (["one-run"], "name a file of scores, or --canaries and --correct"),
        (["one-run", "--canaries", "10", "--guesses", "5", "--correct", "6"], "correct guesses: 6 of 5"),
        (["many-run", *MANY, "--delta", "2"], "delta must be"),
    ],
)
def test_numbers_that_cannot_be_are_refused(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["dp-audit", *arguments])
    assert complaint in str(result.exception)


def test_scores_that_say_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,member,score\na,1,nan\nb,0,1\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["dp-audit", "one-run", str(tmp_path / "scores.csv")])
    assert "hold:nan-scores" in str(result.exception)
