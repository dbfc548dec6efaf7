import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from tests.pipelines.page_reading import Page, numbers, written_forms

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


def test_a_verdict_never_confirms() -> None:
    clear = str(audit("one-run", *ONE, "--claimed-epsilon", "3", status=1)["statement"])
    assert clear.startswith("With 95 % confidence, the claim of epsilon 3 at delta 1e-05 is contradicted")
    open_ = str(audit("one-run", *ONE, "--claimed-epsilon", "8")["statement"])
    assert "is not contradicted" in open_ and "That confirms nothing" in open_
    assert "epsilon is at least 5.2704" in str(audit("one-run", *ONE)["statement"])


@pytest.mark.parametrize(
    ("options", "kicker"),
    [
        (["--claimed-epsilon", "3"], "Contradicted"),
        (["--claimed-epsilon", "8"], "Not contradicted"),
        ([], "A lower bound"),
    ],
)
def test_the_page_says_what_the_record_says(tmp_path: Path, options: list[str], kicker: str) -> None:
    status = 1 if kicker == "Contradicted" else 0
    printed = audit("one-run", *ONE, *options, "--out", str(tmp_path / "audit"), status=status)
    record = json.loads((tmp_path / "audit" / "dp_audit.json").read_text(encoding="utf-8"))
    assert record == printed
    html = (tmp_path / "audit" / "dp_audit.html").read_text(encoding="utf-8")
    page = Page(html)
    assert kicker in page.text and str(record["statement"]) in page.text
    forms = written_forms(record) | {f"{record['epsilon']:.4f}"}
    assert numbers(page.text) - forms == set()
    assert "script" not in {tag for tag, _ in page.tags}


def test_several_numbers_of_guesses_share_the_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "scores.csv"
    rows = [f"c{n},{n % 2},{rng.normal(1.5 * (n % 2))}" for n in range(400)]
    path.write_text("id,member,score\n" + "\n".join(rows), encoding="utf-8")
    found = audit("one-run", str(path), "--guesses", "40", "--guesses", "200")
    assert found["counts"]["numbers_of_guesses"] == 2  # type: ignore[index]
    assert found["confidence"] == pytest.approx(0.95)


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
        (["many-run", *MANY, "--claimed-epsilon", "nan"], "a claimed epsilon is a number"),
        (["one-run", *ONE, "--claimed-epsilon", "-1"], "a claimed epsilon is a number"),
    ],
)
def test_numbers_that_cannot_be_are_refused(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["dp-audit", *arguments])
    assert complaint in str(result.exception)


def test_scores_that_say_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,member,score\na,1,nan\nb,0,1\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["dp-audit", "one-run", str(tmp_path / "scores.csv")])
    assert "hold:nan-scores" in str(result.exception)
