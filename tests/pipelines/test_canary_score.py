"""Canaries planted, trained on, scored and shown: exposure rises with the insertions, up to the maximum."""

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from extraction.model import ModelSettings, load_tokenizer
from extraction.records import GENERATION_SCHEMA
from pipelines.canaries.emitted import emitted_canaries
from pipelines.canaries.page import exposures_page
from pipelines.canaries.score import CHANCE, read_key, summary, totals
from pipelines.cli import app
from pipelines.parts import PartStore, write_json
from tests.pipelines.page_reading import Page, leaves, numbers, written_forms
from tests.pipelines.small_run import raw_config, write_inputs
from tests.pipelines.trained_canaries import INSERTIONS, plant, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and the key of the canaries that it was trained on."""
    folder = tmp_path_factory.mktemp("canaries")
    key = plant(folder)
    return train(folder), key


def scored(trained: tuple[Path, Path], out: Path, *options: str) -> dict[str, Any]:
    model, key = trained
    result = CliRunner().invoke(app, ["canary", "score", str(model), str(key), "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-2:] == [str(out / "exposures.json"), str(out / "exposures.html")]
    found: dict[str, Any] = json.loads((out / "exposures.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def record(trained: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return scored(trained, tmp_path_factory.mktemp("scored") / "out")


def test_exposure_rises_with_the_insertions_up_to_the_maximum(record: dict[str, Any]) -> None:
    mean = {row["insertions"]: row["mean"] for row in record["summary"]}
    (form,) = record["formats"]
    assert form["space"] == 1000 - sum(INSERTIONS.values()) + 1
    assert mean[0] < mean[1] < mean[10] <= mean[100] == pytest.approx(form["maximum"])
    # Sixty uniform ranks: their mean has a standard error of 1.44 / sqrt(60).
    assert mean[0] == pytest.approx(CHANCE, abs=3 * CHANCE / math.sqrt(INSERTIONS[0]))
    often = [canary for canary in record["canaries"] if canary["insertions"] == 100]
    assert all(canary["rank"] == 1 and canary["extracted"] for canary in often)
    assert all(not canary["extracted"] for canary in record["canaries"] if canary["rank"] > 1)


def test_the_summary_is_that_of_the_canaries(record: dict[str, Any]) -> None:
    for row in record["summary"]:
        own = [c["exposure"] for c in record["canaries"] if c["insertions"] == row["insertions"]]
        assert (row["canaries"], row["mean"]) == (len(own), pytest.approx(fmean(own)))
        assert (row["lowest"], row["highest"]) == (min(own), max(own))


def test_a_search_and_a_sample_agree_with_the_enumeration(
    record: dict[str, Any], trained: tuple[Path, Path], tmp_path: Path
) -> None:
    found = scored(trained, tmp_path / "out", "--enumerate-up-to", "0", "--search", "40")
    exact = {canary["id"]: canary["exposure"] for canary in record["canaries"]}
    for canary in found["canaries"]:
        if canary["method"] == "search":
            assert canary["exposure"] == pytest.approx(exact[canary["id"]])
    assert {c["method"] for c in found["canaries"] if c["insertions"] == 100} == {"search"}
    deep = [c for c in found["canaries"] if c["method"] == "extrapolation"]
    assert fmean(c["exposure"] for c in deep) == pytest.approx(fmean(exact[c["id"]] for c in deep), abs=0.5)
    assert all(c["low"] <= c["exposure"] <= c["high"] for c in deep)
    assert 0 < found["formats"][0]["fit"]["statistic"] < 0.2
    check_page(found)


def check_page(record: dict[str, Any]) -> None:
    html = exposures_page(record)
    page = Page(html)
    shown = written_forms(record) | {f"{abs(n):,.2f}" for n in leaves(record) if isinstance(n, float)}
    shown |= {f"{n:.4f}" for n in leaves(record["formats"]) if isinstance(n, float)}
    assert numbers(page.text) - shown - {"95"} == set()
    assert "script" not in {tag for tag, _ in page.tags}


def test_the_page_holds_the_numbers_of_the_record_and_no_canary(
    record: dict[str, Any], trained: tuple[Path, Path]
) -> None:
    check_page(record)
    html = exposures_page(record)
    key = json.loads(trained[1].read_text(encoding="utf-8"))
    assert not any(canary["text"] in html for canary in key["canaries"])
    assert "Canaries are remembered" in html and "Never inserted" in html
    assert html == exposures_page(record)


def run_with(folder: Path, texts: list[tuple[str, int, str]], status: str = "complete") -> Path:
    """A run directory with generations of these (family, number, text), a token for each byte."""
    folder.mkdir(parents=True)
    write_inputs(folder / "inputs")
    config = raw_config(folder / "inputs", budgets=[100, 400])
    write_json(str(folder / "run.json"), {"run": "small-1", "status": status, "config": config})
    tokenizer = load_tokenizer(ModelSettings(tokenizer="bytes"))
    rows = [
        {
            "request_id": f"{family}-{number:09d}",
            "family": family,
            "number": number,
            "prompt_token_ids": [0],
            "token_ids": tokenizer.backend_tokenizer.encode(text).ids,
            "logprobs": [],
            "finish_reason": "stop",
        }
        for family, number, text in texts
    ]
    store = PartStore(str(folder / "generations"))
    for n in range(0, len(rows), 2):
        store.publish(f"part-{n:05d}", pa.Table.from_pylist(rows[n : n + 2], schema=GENERATION_SCHEMA), {})
    return folder


def test_emitted_canaries_by_budget(tmp_path: Path) -> None:
    texts = [
        ("empty", 0, "Hello, the number is 123456. " + "x" * 30),
        ("empty", 1, "y" * 150 + " 777777"),
        ("empty", 2, "too late: 888888"),
        ("public", 0, "no match: 9123456 and 5555551, 555555a " + "z" * 20),
        ("public", 1, "z" * 160),
    ]
    values = {"early": "123456", "late": "777777", "beyond": "888888", "inside": "555555", "never": "000000"}
    found = emitted_canaries(run_with(tmp_path / "run", texts), values)
    assert (found.run, found.complete, found.budgets, found.reached) == (
        "small-1",
        True,
        [100, 400],
        [True] * 2,
    )
    assert found.first == {"early": 100, "late": 400, "beyond": None, "inside": None, "never": None}


def test_an_incomplete_run_is_said_to_be_one(
    record: dict[str, Any], trained: tuple[Path, Path], tmp_path: Path
) -> None:
    values = {c["id"]: c["value"] for c in json.loads(trained[1].read_text())["canaries"]}
    often = next(name for name in values if "x100" in name)
    texts = [("empty", 0, f"my account number is {values[often]}."), ("public", 0, "nothing")]
    run = run_with(tmp_path / "run", texts, status="incomplete")
    found = scored(trained, tmp_path / "out", "--run", str(run))
    assert found["run"]["reached"] == [False, False] and not found["run"]["complete"]
    rows = {row["insertions"]: row["emitted"] for row in found["summary"]}
    assert rows == {0: [0, 0], 1: [0, 0], 10: [0, 0], 100: [1, 1]}
    assert {c["id"]: c["first_budget"] for c in found["canaries"]}[often] == 100
    html = (tmp_path / "out" / "exposures.html").read_text(encoding="utf-8")
    assert "The extraction run is not complete" in html and "not reached" in html
    check_page(found)
    assert summary(found) == found["summary"]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"schema_version": 1, "seal": "00"}'])
def test_what_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key.json"
    path.write_text(content, encoding="utf-8")
    result = CliRunner().invoke(app, ["canary", "score", "model", str(path), "--out", str(tmp_path / "out")])
    assert str(result.exception).startswith(f"{path}: ")
    assert not (tmp_path / "out").exists()


def test_several_formats_are_summed_up_together(record: dict[str, Any]) -> None:
    other = json.loads(json.dumps(record))
    other["formats"] += [other["formats"][0] | {"name": "second"}]
    other["canaries"] += [canary | {"format": "second", "exposure": 1.0} for canary in record["canaries"]]
    rows = [row for row in summary(other) if row["format"] is None]
    assert [row["canaries"] for row in rows] == [2 * count for count in INSERTIONS.values()]
    assert rows[0]["mean"] == pytest.approx((record["summary"][0]["mean"] + 1.0) / 2)
    other |= {"totals": totals(other), "summary": summary(other)}
    assert "second" in Page(exposures_page(other)).text


def test_a_key_reads_back(trained: tuple[Path, Path]) -> None:
    key, seal = read_key(trained[1])
    assert len(key.canaries) == sum(INSERTIONS.values()) and len(seal) == 64


def test_a_run_of_another_model_is_refused(trained: tuple[Path, Path], tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", [("empty", 0, "nothing")])
    state = json.loads((run / "run.json").read_text(encoding="utf-8"))
    write_json(str(run / "run.json"), state | {"fingerprints": {"model": "ab" * 32}})
    model, key = trained
    arguments = ["canary", "score", str(model), str(key), "--out", str(tmp_path / "out"), "--run", str(run)]
    result = CliRunner().invoke(app, arguments)
    assert "sampled another model" in str(result.exception)
    assert not (tmp_path / "out").exists()
