"""What the prefix test refuses: one line that names the field and what to do, status 2, nothing half-written."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file, save_file

from pipelines.config import load_settings
from pipelines.parts import write_json
from pipelines.prefix.config import PrefixConfig
from tests.extraction.tiny_models import byte_level_tokenizer, llama
from tests.pipelines.prefix_cases import Cases, write_prefix

CONFIG = Path(__file__).parents[2] / "configs" / "prefix.yaml"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Two untrained models and a corpus of few documents: nothing here needs a memory."""
    folder = tmp_path_factory.mktemp("cases")
    for name in ("model", "base"):
        byte_level_tokenizer(folder / name)
        llama(folder / name)
    texts = {
        f"Document {n} says that the branch opens at {n} and closes at {n + 1} on every day.": 1
        for n in range(9)
    }
    lines = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Cases(folder, texts)


def refused(command: Any, cases: Cases, folder: Path, *parts: str, **changes: Any) -> None:
    out = folder / "out"
    status, _, err = command("prefix", write_prefix(cases, folder / "prefix.yaml", **changes), "--out", out)
    lines = [line for line in err.splitlines() if line.startswith("extraction: ")]
    assert (status, len(lines)) == (2, 1), err
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0], lines[0]
    assert not (out / "prefix.json").exists()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"documets": 5}, "`documets`: no such field; did you mean `documents`?"),
        ({"prefix_tokens": [16, 8]}, "prefix_tokens: name each once, in ascending order"),
        ({"draws": [0]}, "`draws.0`: input should be greater than or equal to 1"),
        ({"certainties": [1.0]}, "`certainties.0`: input should be less than 1"),
        ({"target_tokens": 15}, "`target_tokens`: "),
        ({"corpus": {"kind": "unsearchable"}}, "corpus.kind: there is nothing to cut prompts out of"),
        ({"model": {"tokenizer": "bytes"}}, "model.path: probabilities are read from the model"),
        ({"games": {"candidates": 1}}, "`games.candidates`: "),
        ({"engine": {"kind": "endpoint"}}, "`engine`: "),
        ({"sampling": {"max_tokens": 8}}, "sampling.max_tokens: 8 tokens hold no target of 16"),
        ({"model": {"path": "nowhere"}}, "nowhere: no such folder or file"),
        ({"games": {"known": ["nowhere.txt"]}}, "games.known: nowhere.txt: no such file"),
        ({"corpus": {"sources": ["gone.jsonl"]}}, "gone.jsonl"),
        ({"run": "nowhere"}, "nowhere: no run.json"),
    ],
)
def test_a_mistake_is_one_line(
    command: Any, cases: Cases, tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    refused(command, cases, tmp_path, complaint, **changes)


def test_a_control_with_other_tokens_is_refused(command: Any, cases: Cases, tmp_path: Path) -> None:
    byte_level_tokenizer(tmp_path / "other", vocabulary=400)
    llama(tmp_path / "other", vocabulary=400)
    refused(command, cases, tmp_path, "control: ", "other tokens", control={"path": str(tmp_path / "other")})


def test_a_masked_model_without_a_mask_is_refused_before_anything_runs(
    command: Any, cases: Cases, tmp_path: Path
) -> None:
    refused(
        command, cases, tmp_path, "games.masked: ", "no mask", games={"masked": {"path": str(cases.model)}}
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("ray_cluster")
def test_documents_that_are_too_short_leave_nothing_to_ask(
    command: Any, cases: Cases, tmp_path: Path
) -> None:
    refused(
        command,
        cases,
        tmp_path,
        "prefix_tokens: no document holds a prompt of 100 tokens",
        prefix_tokens=[100],
    )


def fake_run(folder: Path, cases: Cases, **prints: Any) -> Path:
    folder.mkdir()
    config = {
        "name": "r",
        "model": {"path": str(cases.model)},
        "prompts": {"families": {"empty": {"share": 1}}},
        "corpus": {"index": "x"},
        "budgets": [10],
    }
    write_json(
        str(folder / "run.json"),
        {
            "run": "r-1",
            "status": "complete",
            "config": config | prints.pop("config", {}),
            "fingerprints": prints,
        },
    )
    (folder / "report.json").write_text("{}")
    return folder


def test_a_run_of_another_model_or_corpus_is_refused(command: Any, cases: Cases, tmp_path: Path) -> None:
    from extraction.model import ModelSettings, model_fingerprint

    own = model_fingerprint(ModelSettings(path=str(cases.model)))
    runs = {
        "of another model": fake_run(tmp_path / "a", cases, model="0"),
        "searched another corpus": fake_run(tmp_path / "b", cases, model=own, corpus="0"),
    }
    for complaint, run in runs.items():
        refused(command, cases, tmp_path, f"run: {run}", complaint, run=str(run))
    (tmp_path / "a" / "report.json").unlink()
    refused(command, cases, tmp_path, "not finished", run=str(tmp_path / "a"))


def test_a_run_beside_another_control_is_refused(command: Any, cases: Cases, tmp_path: Path) -> None:
    """Its identifiers would be shown as those of a control that did not generate them."""
    from extraction.model import ModelSettings, model_fingerprint
    from index import open_index

    refused(
        command, cases, tmp_path, "nowhere: no run.json", run=str(tmp_path / "nowhere")
    )  # builds the index
    prints = {
        "model": model_fingerprint(ModelSettings(path=str(cases.model))),
        "corpus": open_index(str(cases.folder / "index")).info.fingerprint,
        "config": {"min_tokens": 16},
    }
    run = fake_run(tmp_path / "run", cases, **prints)
    fake_run(run / "control", cases, **prints | {"model": "0"})
    complaint = f"another model than the control of run {run}"
    refused(
        command, cases, tmp_path, "control.path: ", complaint, run=str(run), control={"path": str(cases.base)}
    )


@pytest.mark.usefixtures("ray_cluster")
def test_hostile_text_is_only_text_and_other_settings_are_refused(
    command: Any, cases: Cases, tmp_path: Path
) -> None:
    hostile = [
        "<script>alert(1)</script> " * 12,
        "</s><s>" * 40,
        "\u202e\u0000\ufffd \u00e9\u00e9\u00e9 " * 20,
        "=cmd()|' /C calc'!A0 " * 15,
        "\U0001f600" * 120,
        "",
        "a",
    ]
    own = tmp_path / "hostile.jsonl"
    own.write_text(
        "\n".join(json.dumps({"id": f"h{n}", "text": t}) for n, t in enumerate(hostile)), encoding="utf-8"
    )
    corpus = {"sources": [str(own), str(cases.folder / "corpus.jsonl")], "index": str(tmp_path / "index")}
    config = write_prefix(cases, tmp_path / "h.yaml", corpus=corpus, prefix_tokens=[4], opening="random")
    status, out, err = command("prefix", config, "--out", tmp_path / "h")
    assert status == 0, err
    record = json.loads((tmp_path / "h" / "prefix.json").read_text(encoding="utf-8"))
    (row,) = record["lengths"]
    assert row["left_out"]["a special token stands in it"] == 1
    total = (
        row["targets"] + row["low_entropy"] + sum(row["left_out"].values()) + sum(row["not_counted"].values())
    )
    assert total == record["sample"]["documents"] == 15
    assert "<script>" not in (tmp_path / "h" / "prefix.html").read_text(encoding="utf-8")
    assert (tmp_path / "h").stat().st_mode & 0o077 == 0
    write_prefix(cases, tmp_path / "h.yaml", corpus=corpus, prefix_tokens=[5], opening="random")
    status, _, err = command("prefix", config, "--out", tmp_path / "h")
    assert status == 2 and "another `targets.prefix_tokens` ([4], now [5])" in err


@pytest.mark.usefixtures("ray_cluster")
def test_a_bad_record_makes_the_result_incomplete(command: Any, cases: Cases, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    shutil.copy(cases.folder / "corpus.jsonl", broken)
    with broken.open("a", encoding="utf-8") as handle:
        handle.write("\n{not json\n")
    corpus = {"sources": [str(broken)], "index": str(tmp_path / "index")}
    config = write_prefix(cases, tmp_path / "b.yaml", corpus=corpus)
    assert command("prefix", config, "--out", tmp_path / "b")[0] == 2
    assert not (tmp_path / "b" / "prefix.json").exists()
    status, out, _ = command("prefix", config, "--out", tmp_path / "b", "--skip-bad-records")
    assert status == 0
    assert "Incomplete: records of the corpus that could not be read (1)." in out
    assert json.loads((tmp_path / "b" / "run.json").read_text())["status"] == "incomplete"
    assert (
        command("prefix", config, "--out", tmp_path / "b")[0] == 2
    )  # incomplete is never clean unless asked for


def test_the_config_in_configs_loads() -> None:
    config = load_settings(PrefixConfig, CONFIG)
    assert config.main_length == 50
    assert config.name == "prefix"
    assert config.games is not None and config.screen is not None
    assert yaml.safe_load(CONFIG.read_text())["prefix_tokens"] == [10, 25, 50, 100, 200]


def test_the_command_has_help_with_an_example(command: Any) -> None:
    status, out, _ = command("prefix", "--help")
    assert status == 0
    assert "Example: extraction prefix" in " ".join(out.split())


@pytest.mark.usefixtures("ray_cluster")
def test_a_model_that_gives_no_numbers_is_never_clean(command: Any, cases: Cases, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(cases.model, broken)
    weights = load_file(broken / "model.safetensors")
    weights["model.norm.weight"][:] = float("nan")
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    screen = {"documents": 9, "prefix_tokens": 8}
    config = write_prefix(cases, tmp_path / "n.yaml", model={"path": str(broken)}, screen=screen)
    status, out, _ = command("prefix", config, "--out", tmp_path / "n")
    record = json.loads((tmp_path / "n" / "prefix.json").read_text(encoding="utf-8"))
    assert status == 2
    assert record["status"] == "incomplete"
    assert all(row["targets"] == 0 and row["by_model"] == {"model": None} for row in record["lengths"])
    lost = sum(row["not_counted"]["not_a_number"] for row in record["lengths"])
    assert lost > 0
    assert "that a model gave no number for" in out
    assert record["screen"]["by_model"]["model"]["not_a_number"] > 0
    assert "the result is incomplete" in (tmp_path / "n" / "prefix.html").read_text(encoding="utf-8")
