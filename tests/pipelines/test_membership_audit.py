"""Audits of scores made by hand: what is declared, what is refused, what holds, and what leaves the ledger."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from extraction.errors import InputError
from pipelines.cli import app
from pipelines.config import load_settings
from pipelines.membership.cohorts import Columns, read_records
from pipelines.membership.config import AuditConfig
from pipelines.membership.ledger import Ledger
from pipelines.membership.result import read_result

WORDS = [f"word{n}" for n in range(80)]
CONFIG = Path(__file__).parents[2] / "configs" / "membership.yaml"


def records(name: str, count: int, seed: int, **fields: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"{name}{n}",
            "text": " ".join(rng.choice(WORDS, 15)),
            "account": f"{name}-account{n}",
            "month": f"2024-{rng.integers(1, 13):02d}",
            "region": "north" if rng.random() < 0.9 else "south",
            **fields,
        }
        for n in range(count)
    ]


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class Question:
    """An audit's files in a folder."""

    def __init__(self, folder: Path, members: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
        self.folder = folder
        write_lines(folder / "in.jsonl", members)
        write_lines(folder / "out.jsonl", others)
        self.raw: dict[str, Any] = {
            "name": "returns",
            "members": str(folder / "in.jsonl"),
            "nonmembers": str(folder / "out.jsonl"),
            "scores": str(folder / "scores.csv"),
            "scope": "top_k_probabilities",
            "attacks": [{"score": "confidence", "threshold": 0.7}],
            "group_column": "account",
            "compare": ["month"],
            "subgroups": ["region"],
            "ledger": str(folder / "ledger"),
            "out": str(folder / "result"),
        }
        rng = np.random.default_rng(7)
        self.scores([rng.random() for _ in members], [rng.random() for _ in others])

    def scores(self, members: Sequence[float | str], others: Sequence[float | str]) -> None:
        rows = []
        for side, label, values in (("in", 1, members), ("out", 0, others)):
            lines = (self.folder / f"{side}.jsonl").read_text().splitlines()
            names = [json.loads(line)["id"] for line in lines]
            rows += [f"{name},{label},{value}" for name, value in zip(names, values, strict=True)]
        (self.folder / "scores.csv").write_text("\n".join(["id,member,score", *rows]) + "\n")

    def run(self, command: str, **changes: Any) -> Any:
        path = self.folder / "audit.yaml"
        path.write_text(yaml.safe_dump(self.raw | changes))
        return CliRunner().invoke(app, ["membership", command, str(path)])

    def audit(self, status: int, **changes: Any) -> dict[str, Any]:
        declared = self.run("declare", **changes)
        assert declared.exit_code == 0, declared.exception
        done = self.run("audit", **changes)
        assert done.exit_code == status, (done.output, done.exception)
        found: dict[str, Any] = json.loads((self.folder / "result" / "result.json").read_text())
        return found


@pytest.fixture
def matched(tmp_path: Path) -> Question:
    return Question(tmp_path, records("in", 300, 1), records("out", 300, 2))


def test_the_retail_returns_are_measured_and_too_few(tmp_path: Path) -> None:
    question = Question(tmp_path, [{"id": f"a{n}"} for n in range(4)], [{"id": f"b{n}"} for n in range(4)])
    question.scores([0.82, 0.74, 0.43, 0.91], [0.39, 0.58, 0.72, 0.31])
    plain = {"text_column": None, "group_column": None, "compare": [], "subgroups": []}
    found = question.audit(3, **plain)
    gap = found["attacks"][0]["evaluation"]["gap"]
    assert [gap[name]["estimate"] for name in ("true_positive_rate", "false_positive_rate", "gap")] == [
        0.75,
        0.25,
        0.5,
    ]
    assert found["verdict"] == "hold:underpowered"
    assert found["members"] == {"loaded": 4, "scored": 4, "dropped": {}}


def test_a_measured_audit_says_all_but_the_records(matched: Question) -> None:
    found = matched.audit(0)
    assert (found["verdict"], found["holds"]) == ("measured", [])
    assert found["members"]["scored"] == found["nonmembers"]["scored"] == 300
    auc = found["attacks"][0]["evaluation"]["auc"]
    assert auc["low"] < 0.5 < auc["high"]
    together = found["attacks"][0]["auc_together"]  # there is one attack alone
    assert {name: together[name] for name in ("estimate", "low", "high")} == pytest.approx(
        {name: auc[name] for name in ("estimate", "low", "high")}, abs=5e-3
    )
    assert [one["value"] for one in found["subgroups"]] == ["north", "south"]
    assert {one["name"] for one in found["comparison"]["differences"]} == {"month", "length in characters"}
    kinds = {"model", "tokenizer", "reference", "scores", "members", "nonmembers", "config", "plan"}
    assert set(found["digests"]) == kinds
    result = (matched.folder / "result" / "result.json").read_text()
    assert "in17" not in result
    assert "in-account17" not in result
    assert WORDS[3] not in result
    ledger = matched.folder / "ledger"
    assert oct(ledger.stat().st_mode & 0o777) == "0o700"
    kept = pq.read_table(ledger / "records" / f"{found['id']}.parquet").to_pylist()
    assert len(kept) == 600
    assert all(row["called_member"] == (row["score"] >= 0.7) for row in kept)


def test_the_gate_judges_the_result(matched: Question) -> None:
    matched.audit(0)
    card = matched.folder / "card.md"
    card.write_text("# A model\n")
    arguments = ["membership", "gate", str(matched.folder / "result"), "--model-card", str(card)]
    assert CliRunner().invoke(app, arguments).exit_code == 3  # 300 a side are too few to pass
    file = matched.folder / "result" / "result.json"
    evidence = json.loads((matched.folder / "result" / "membership.json").read_text())
    assert evidence["result"] == json.loads(file.read_text())["id"]
    assert evidence["attacks"][0]["verdict"] in ("hold:between", "hold:underpowered")
    file.write_text(file.read_text().replace('"measured"', '"sound"'))
    assert "it was changed" in str(CliRunner().invoke(app, arguments).exception)


def test_nothing_is_audited_that_was_not_declared(matched: Question) -> None:
    assert "run `extraction membership declare` first" in str(matched.run("audit").exception)
    assert not (matched.folder / "result").exists()
    assert matched.run("declare").exit_code == 0
    other = [{"score": "confidence", "threshold": 0.6}]
    for command in ("audit", "declare"):
        done = matched.run(command, attacks=other)
        assert "with another attacks" in str(done.exception)
    assert not (matched.folder / "result").exists()
    assert matched.run("declare").exit_code == 0  # the same again is no new entry
    assert [one["kind"] for one in Ledger(matched.folder / "ledger").entries()] == ["declared"]
    write_lines(matched.folder / "in.jsonl", records("in", 299, 1))
    assert "with another members" in str(matched.run("audit").exception)


def test_another_scope_is_asked_the_same_question(matched: Question) -> None:
    first = matched.audit(0)
    again = matched.audit(0)
    assert (again["id"], again["repeats"]) == (first["id"], None)
    assert matched.audit(0, device="cuda")["repeats"] is None  # where it runs is no part of the question
    other = matched.audit(0, scope="full_logits")
    assert other["repeats"] == first["id"]
    assert other["declaration"] == first["declaration"]
    assert other["id"] != first["id"]


def test_a_ledger_that_was_changed_is_refused(matched: Question) -> None:
    matched.audit(0)
    file = matched.folder / "ledger" / "ledger.jsonl"
    lines = file.read_text().splitlines()
    for changed in ([lines[0].replace("0.7", "0.6"), lines[1]], lines[1:]):
        file.write_text("\n".join(changed) + "\n")
        assert "line 1 is not as it was written" in str(matched.run("audit").exception)


def test_record_level_scores_go_when_their_time_is_over(matched: Question) -> None:
    found = matched.audit(0)
    ledger = Ledger(matched.folder / "ledger")
    file = ledger.path / "records" / f"{found['id']}.parquet"
    today = datetime.now(UTC).date()
    assert ledger.entries()[-1]["delete_after"] == (today + timedelta(days=90)).isoformat()
    done = CliRunner().invoke(app, ["membership", "purge", str(ledger.path)])
    assert (done.exit_code, file.exists()) == (0, True)
    assert ledger.purge(today + timedelta(days=91), everything=False) == [found["id"]]
    assert not file.exists()
    assert ledger.entries()[-1]["kind"] == "purged"
    matched.audit(0)
    done = CliRunner().invoke(app, ["membership", "purge", str(ledger.path), "--all"])
    assert "scores of 1 results removed" in done.stdout
    assert not file.exists()


@pytest.mark.parametrize(
    ("others", "why"),
    [
        (records("out", 300, 2, month="2025-01"), "month differs"),
        ([row | {"text": f"{row['text']} newword"} for row in records("out", 300, 2)], "words alone tell"),
    ],
    ids=["month", "words"],
)
def test_cohorts_that_differ_hold(tmp_path: Path, others: list[dict[str, Any]], why: str) -> None:
    found = Question(tmp_path, records("in", 300, 1), others).audit(3)
    assert found["verdict"] == "hold:unmatched-cohorts"
    assert any(one["why"].startswith(why) for one in found["holds"])
    # Whatever the attack finds then is drift, so the gate holds too.
    card = tmp_path / "card.md"
    card.write_text("# A model\n")
    gate = ["membership", "gate", str(tmp_path / "result"), "--model-card", str(card)]
    assert CliRunner().invoke(app, gate).exit_code == 3
    assert json.loads((tmp_path / "result" / "membership.json").read_text())["hold"] == found["verdict"]


def test_records_on_both_sides_are_dropped_and_many_of_them_hold(tmp_path: Path) -> None:
    members, others = records("in", 300, 1), records("out", 300, 2)
    others[0]["account"] = members[5]["account"]
    others[1]["text"] = members[6]["text"]
    others[2]["text"] = others[3]["text"]
    others[4]["text"] = ""
    found = Question(tmp_path, members, others).audit(0)
    both = {"group on both sides": 1, "same text on both sides": 1}
    assert found["members"] == {"loaded": 300, "scored": 298, "dropped": both}
    assert found["nonmembers"]["dropped"] == both | {"no text": 1, "same text twice in its cohort": 1}
    for n in range(20):
        others[n]["account"] = members[n]["account"]
    (tmp_path / "more").mkdir()
    found = Question(tmp_path / "more", members, others).audit(3)
    assert found["verdict"] == "hold:overlap"


def test_empty_cohorts_and_missing_scores_hold(tmp_path: Path) -> None:
    for name in ("empty", "missing"):
        (tmp_path / name).mkdir()
    empty = Question(tmp_path / "empty", records("in", 300, 1), []).audit(3)
    assert (empty["verdict"], empty["attacks"]) == ("hold:empty-cohort", [])
    question = Question(tmp_path / "missing", records("in", 300, 1), records("out", 300, 2))
    question.scores([0.5] * 298 + ["", "inf"], [0.4] * 300)
    found = question.audit(3)
    assert found["verdict"] == "hold:nan-scores"
    assert found["members"] == {"loaded": 300, "scored": 298, "dropped": {"no score": 2}}
    assert found["nonmembers"] == {"loaded": 300, "scored": 300, "dropped": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scope": "label_only"},
            "confidence needs scope top_k_probabilities, which shows more than label_only",
        ),
        ({"atacks": []}, "did you mean `attacks`?"),
        ({"attacks": []}, "`attacks`"),
        ({"attacks": [{"score": "loss", "threshold": float("nan")}]}, "`attacks.0.threshold`"),
        ({"scores": None}, "name a `model` to score"),
        (
            {"scores": None, "model": {"path": "m"}, "scope": "full_logits"},
            "confidence cannot be computed; these can: loss",
        ),
        ({"attacks": [{"score": "confidence", "threshold": n} for n in (0, 1)]}, "stands there twice"),
        ({"compare": ["season"]}, "no column 'season'"),
        ({"members": "nowhere.jsonl"}, "nowhere.jsonl: cannot be read"),
    ],
)
def test_a_wrong_config_is_one_line(matched: Question, change: dict[str, Any], message: str) -> None:
    error = matched.run("declare", **change).exception or matched.run("audit", **change).exception
    assert isinstance(error, InputError)
    assert message in str(error)


def test_scores_that_contradict_the_cohorts_are_refused(matched: Question) -> None:
    matched.run("declare")
    text = (matched.folder / "scores.csv").read_text()
    (matched.folder / "scores.csv").write_text(text.replace("in3,1", "in3,0"))
    assert "contradicts the cohorts" in str(matched.run("audit").exception)
    two = [{"score": "confidence", "threshold": 0.7}, {"score": "label", "threshold": 1}]
    matched.run("declare", name="two", attacks=two)
    assert "no column 'name'" in str(matched.run("audit", name="two", attacks=two).exception)


def test_the_example_config_loads() -> None:
    config = load_settings(AuditConfig, CONFIG)
    assert config.name == CONFIG.stem
    assert {attack.score for attack in config.attacks} <= set(config.scoring.names)


def test_a_result_reads_back(matched: Question) -> None:
    matched.audit(0)
    found = read_result(matched.folder / "result")
    assert found.with_id() == found
    with pytest.raises(InputError, match="no such file"):
        read_result(matched.folder)


def test_a_full_disk_leaves_no_piece_of_an_entry(matched: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    matched.audit(0)
    ledger = Ledger(matched.folder / "ledger")
    before, write = (ledger.path / "ledger.jsonl").read_bytes(), os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, data: write(handle, data[: len(data) // 2]))
        with pytest.raises(OSError, match="No space left") as error:
            ledger.append("audited", {"result": "x"})
    assert error.value.filename == str(ledger.path / "ledger.jsonl")
    assert (ledger.path / "ledger.jsonl").read_bytes() == before
    matched.audit(0)


def test_a_line_separator_in_a_name_is_no_new_line(matched: Question) -> None:
    matched.raw["subgroups"] = ["re\u2028gion"]
    for side in ("in", "out"):
        file = matched.folder / f"{side}.jsonl"
        file.write_text(file.read_text().replace('"region"', '"re\u2028gion"'))
    assert len(matched.audit(0)["subgroups"]) == 2
    assert len(Ledger(matched.folder / "ledger").entries()) == 2


@pytest.mark.parametrize(
    ("spoilt", "complaint"),
    [
        ({"id": None}, "record 2: no 'id'; give each record its own id"),
        ({"text": ["a", "list"]}, "record 2: 'text' is no text"),
        ({"text": {"a": "dictionary"}}, "record 2: 'text' is no text"),
    ],
)
def test_a_record_that_is_none_is_named(tmp_path: Path, spoilt: dict[str, Any], complaint: str) -> None:
    first, second = records("in", 2, seed=0)
    write_lines(tmp_path / "in.jsonl", [first, second | spoilt])
    with pytest.raises(InputError, match=complaint):
        read_records(tmp_path / "in.jsonl", Columns("id", "text", "account"))
