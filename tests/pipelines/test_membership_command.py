import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from extraction.errors import InputError
from pipelines.cli import app

WORKED = [*((f"m{n}", 1, n) for n in (3, 5, 6, 7, 8)), *((f"o{n}", 0, n) for n in (1, 2, 3, 4, 6))]


def evaluate(path: Path, *options: str, status: int = 0) -> dict[str, object]:
    result = CliRunner().invoke(app, ["membership", "evaluate", str(path), *options])
    assert result.exit_code == status, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def write(path: Path, rows: list[tuple[object, ...]], head: str = "id,member,score") -> Path:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def test_csv_and_parquet_give_the_worked_values(tmp_path: Path) -> None:
    from_csv = evaluate(write(tmp_path / "scores.csv", WORKED), "--threshold", "5")
    names, labels, values = zip(*WORKED, strict=True)
    table = pa.table({"score": values, "id": names, "member": [label == 1 for label in labels]})
    pq.write_table(table, tmp_path / "scores.parquet")
    assert evaluate(tmp_path / "scores.parquet", "--threshold", "5") == from_csv
    assert from_csv["auc"]["estimate"] == pytest.approx(0.84)
    assert from_csv["auc"]["low"] == pytest.approx(0.437, abs=5e-4)
    assert from_csv["gap"]["gap"]["estimate"] == pytest.approx(0.8 - 0.2)
    assert [rate["allowed"] for rate in from_csv["rates"]] == [0, 0]
    assert from_csv["warnings"] == []


def test_swapped_labels_give_the_rest_to_one_and_a_warning(tmp_path: Path) -> None:
    rows = [(f"{label}{n}", label, n + 60 * (1 - label)) for label in (0, 1) for n in range(100)]
    found = evaluate(write(tmp_path / "swapped.csv", rows))
    kept = evaluate(write(tmp_path / "kept.csv", [(name, 1 - label, score) for name, label, score in rows]))
    assert found["auc"]["estimate"] == pytest.approx(1 - kept["auc"]["estimate"])
    assert "labels swapped" in found["warnings"][0]
    assert kept["warnings"] == []


def test_perfect_scores_and_groups_on_both_sides(tmp_path: Path) -> None:
    rows = [("a", 1, 1, "x"), ("b", 1, 1, "y"), ("c", 0, 0, "x"), ("d", 0, 0, "z")]
    found = evaluate(write(tmp_path / "scores.csv", rows, "id,member,score,group"))
    assert found["auc"]["estimate"] == 1.0
    assert 0 < found["auc"]["low"] < 1
    assert "both sides" in found["warnings"][0]


@pytest.mark.parametrize(
    ("rows", "hold"),
    [
        ([("a", 1, 1)], "hold:empty-cohort"),
        ([("a", 1, 1), ("b", 0, "")], "hold:nan-scores"),
        ([("a", 1, 1), ("b", 0, 1)], "hold:constant-scores"),
    ],
)
def test_scores_that_prove_nothing_hold(rows: list[tuple[object, ...]], hold: str, tmp_path: Path) -> None:
    found = evaluate(write(tmp_path / "scores.csv", rows), status=3)
    assert (found["hold"], found["auc"]) == (hold, None)


@pytest.mark.parametrize(
    ("rows", "head", "complaint"),
    [
        ([("a", 1)], "id,member", "no column 'score'; it has: id, member"),
        ([("a", "maybe", 1)], "id,member,score", "row 1: `member` is neither"),
        ([("a", 1, 1), ("b", 0, "high")], "id,member,score", "row 2: `score` is no number"),
        ([("a", 1, 1), ("a", 0, 0)], "id,member,score", "an id comes twice"),
    ],
)
def test_bad_files_are_refused(
    rows: list[tuple[object, ...]], head: str, complaint: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, ["membership", "evaluate", str(write(tmp_path / "bad.csv", rows, head))])
    assert complaint in str(result.exception)


def test_the_roc_is_drawn_on_logarithmic_axes(tmp_path: Path) -> None:
    scores, picture = write(tmp_path / "scores.csv", WORKED), tmp_path / "roc.svg"
    evaluate(scores, "--roc", str(picture))
    drawn = picture.read_text(encoding="utf-8")
    assert "False-positive rate" in drawn
    assert "10^{-1}" in drawn  # a decade is a tick
    held = write(tmp_path / "held.csv", [("a", 1, 1), ("b", 0, 1)])
    evaluate(held, "--roc", str(tmp_path / "none.svg"), status=3)
    assert not (tmp_path / "none.svg").exists()


def test_swapped_labels_warn_however_few_there_are(tmp_path: Path) -> None:
    found = evaluate(
        write(tmp_path / "swapped.csv", [(name, 1 - side, value) for name, side, value in WORKED])
    )
    assert found["auc"]["estimate"] == pytest.approx(0.16)
    assert "labels swapped" in found["warnings"][0]
    assert "Chance may explain it too" in found["warnings"][0]


def test_files_that_could_be_read_two_ways_are_refused(tmp_path: Path) -> None:
    for content, complaint in (
        (b"id,member,score,score\na,1,1,2\nb,0,0,0\n", "two columns are named 'score'"),
        (b"id,member,score,name\na,1,1,loss\nb,0,0,\n", "a row has no `name`"),
        (b"id,member,\xff\xfescore\na,1,1\n", "not readable as CSV"),
        (b"id,member,score\na,1,\xff\n", "not readable as CSV"),
    ):
        (tmp_path / "bad.csv").write_bytes(content)
        result = CliRunner().invoke(app, ["membership", "evaluate", str(tmp_path / "bad.csv")])
        assert isinstance(result.exception, InputError)
        assert complaint in str(result.exception)
    pq.write_table(
        pa.table({"id": ["a"], "member": [1], "score": [1.0], "name": [None]}), tmp_path / "bad.pq"
    )
    assert "has no `name`" in str(
        CliRunner().invoke(app, ["membership", "evaluate", str(tmp_path / "bad.pq")]).exception
    )


def test_a_threshold_that_is_no_number_is_refused(tmp_path: Path) -> None:
    scores = write(tmp_path / "scores.csv", WORKED)
    for value in ("nan", "inf"):
        result = CliRunner().invoke(app, ["membership", "evaluate", str(scores), "--threshold", value])
        assert "--threshold: no number" in str(result.exception)
