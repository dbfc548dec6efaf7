"""`extraction membership gmint`: from files to AUCs, controls and a table; again, refused, and on hold."""

import json
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from transformers import BertConfig, XLNetConfig

from extraction.errors import InputError
from extraction.gmint.texts import Encoder
from pipelines.config import load_settings
from pipelines.gmint.config import GmintConfig
from pipelines.gmint.paper import published
from pipelines.gmint.records import labels_of
from pipelines.membership.cohorts import Record
from pipelines.work import one_at_a_time
from tests.pipelines.gmint_cases import (
    classifier,
    language_model,
    texts,
    write_config,
    write_records,
)
from tests.pipelines.word_models import word_tokenizer

CONFIG = Path(__file__).parents[2] / "configs" / "gmint_paper.yaml"
SIDE = 120
QUICK = {"epochs": 30, "splits": 2, "width": 64}
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records, and a classifier that has learnt the labels of its members by heart."""
    folder = tmp_path_factory.mktemp("gmint")
    write_records(folder / "in.jsonl", texts(1, SIDE), seed=1)
    write_records(folder / "out.jsonl", [*texts(2, SIDE), texts(1, 1)[0]], seed=2)
    write_records(folder / "other.jsonl", [text.lower() for text in texts(3, SIDE)], seed=3)
    classifier(folder / "bert", folder / "in.jsonl", epochs=40)
    return folder


def config(made: Path, tmp_path: Path, **changed: Any) -> Path:
    data = {"members": str(made / "in.jsonl"), "nonmembers": str(made / "out.jsonl")}
    fields = {
        "kind": "classifier",
        "models": {"BERT": {"path": str(made / "bert")}},
        "data": {"notes": data},
        "samples": [100, 60],
        "method": QUICK,
        "out": str(tmp_path / "out"),
        **changed,
    }
    return write_config(tmp_path / "small.yaml", **fields)


def test_a_classifier_is_audited_once_and_what_was_found_is_kept(
    made: Path, tmp_path: Path, command: Command
) -> None:
    file = config(made, tmp_path)
    status, said, shown = command("membership", "gmint", file)
    assert status == 0
    assert "MINT models trained at 60 a side" in shown
    record = json.loads((tmp_path / "out" / "gmint.json").read_text())
    [cell] = record["cells"]
    assert (cell["model"], cell["data"], cell["protocol"], cell["vmapped"]) == (
        "BERT",
        "notes",
        "intra",
        True,
    )
    assert cell["layers"][-2:] == ["classifier.weight", "classifier.bias"]
    assert cell["projected"] == ["bert.pooler.dense.weight"]
    assert cell["members"]["scored"] == SIDE - 1  # one stands on both sides
    assert cell["others"]["dropped"] == {"same text on both sides": 1}
    assert record["method"]["layers"] == 3 and record["method"]["batch"] == 32
    most, fewer = cell["findings"]
    assert (most["samples_per_side"], fewer["samples_per_side"]) == (100, 60)
    assert most["loss"]["low"] > 0.65  # learnt by heart; half of the others' labels are guessed right
    assert most["gradients"]["auc"]["estimate"] > 0.6
    for control in ("permuted", "untrained"):
        assert most[control]["auc"]["low"] <= 0.5 <= most[control]["auc"]["high"]
    assert f"notes: of {SIDE + 1:,} others were left out: 1 same text on both sides." in said
    assert "| BERT (0.0 M) | notes |" in said and "the paper, mean of six" not in said
    assert (tmp_path / "out" / "table.md").read_text() in said
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert "W1" not in json.dumps(record) + said

    kept = tmp_path / "out" / "cells" / "BERT" / "notes.intra.json"
    before = kept.stat().st_mtime_ns
    assert command("membership", "gmint", file)[0] == 0
    assert kept.stat().st_mtime_ns == before
    status, _, error = command("membership", "gmint", config(made, tmp_path, samples=[100, 50]))
    assert status == 2 and "another `samples`" in error and error.count("\n") == 1


def test_records_of_other_data_sets_put_the_audit_on_hold(
    made: Path, tmp_path: Path, command: Command
) -> None:
    data = {
        "members": str(made / "in.jsonl"),
        "elsewhere": [str(made / "out.jsonl"), str(made / "other.jsonl")],
    }
    status, said, _ = command(
        "membership", "gmint", config(made, tmp_path, data={"notes": data}, samples=[100])
    )
    assert status == 3
    [cell] = json.loads((tmp_path / "out" / "gmint.json").read_text())["cells"]
    assert cell["protocol"] == "mixed" and cell["holds"] == ["hold:unmatched-cohorts"]
    assert cell["findings"][0]["words"]["tells_apart"]
    assert "hold:unmatched-cohorts; its AUC is no evidence" in said


def test_a_causal_model_is_asked_for_its_next_tokens(made: Path, tmp_path: Path, command: Command) -> None:
    model = language_model(tmp_path / "model", texts(1, SIDE), epochs=30)
    fields = {"kind": "causal", "models": {"chat": {"path": str(model)}}, "samples": [100]}
    file = config(made, tmp_path, **fields, method={**QUICK, "layers": r"layers\.1\.mlp|lm_head"})
    assert command("membership", "gmint", file)[0] == 0
    [cell] = json.loads((tmp_path / "out" / "gmint.json").read_text())["cells"]
    assert len(cell["layers"]) == 4 and cell["vmapped"]
    assert cell["findings"][0]["loss"]["low"] > 0.9
    assert cell["findings"][0]["gradients"]["auc"]["estimate"] > 0.7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": {"BERT": {"path": "nowhere"}}}, "nowhere: no such folder"),
        ({"method": {"layers": "lora_"}}, "no parameter's name matches 'lora_'"),
        ({"method": {"layers": "("}}, "`method.layers`: no regular expression"),
        ({"method": {"width": 30}}, "`method.width`: input should be a multiple of 4"),
        ({"method": {"layer": 3}}, "`method.layer`: no such field; did you mean `layers`?"),
        ({"samples": [1000]}, "in.jsonl: 119 records of 120 can be used, and `samples` asks for 1,000"),
        ({"label_column": "class"}, "no column 'class'; it has: id, label, text"),
        ({"label_column": "id"}, "BERT on notes: label_column: 239 values of `id` are no class of the model"),
        ({"data": {"notes": {"members": "in.jsonl"}}}, "name `nonmembers`, `elsewhere` or both"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_no_result(
    change: dict[str, Any], message: str, made: Path, tmp_path: Path, command: Command
) -> None:
    status, _, error = command("membership", "gmint", config(made, tmp_path, **change))
    assert status == 2
    assert message in error and error.strip().splitlines()[-1].startswith("extraction: ")
    assert not (tmp_path / "out").exists()


def test_settings_with_which_nothing_came_bind_nobody(made: Path, tmp_path: Path, command: Command) -> None:
    assert command("membership", "gmint", config(made, tmp_path, method={**QUICK, "layers": "lora_"}))[0] == 2
    few = {"samples": [30], "method": {**QUICK, "epochs": 1}}
    assert command("membership", "gmint", config(made, tmp_path, **few))[0] in (0, 3)


def test_an_audit_that_was_killed_goes_on_and_its_gradients_do_not_stay(
    made: Path, tmp_path: Path, command: Command
) -> None:
    file = config(made, tmp_path, samples=[30], method={**QUICK, "epochs": 1})
    assert command("membership", "gmint", file)[0] in (0, 3)
    expected = (tmp_path / "out" / "gmint.json").read_bytes()
    for name in ("gmint.json", "table.md", "cells/BERT/notes.intra.json"):
        (tmp_path / "out" / name).unlink()
    (tmp_path / "out" / "gradients").mkdir()
    (tmp_path / "out" / "gradients" / "gradients.npy.tmp").write_bytes(b"cut short")
    assert command("membership", "gmint", file)[0] in (0, 3)
    assert (tmp_path / "out" / "gmint.json").read_bytes() == expected
    assert not (tmp_path / "out" / "gradients").exists()


def test_an_audit_has_its_folder_for_itself(made: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "out").mkdir()
    with one_at_a_time(tmp_path / "out"):
        status, _, error = command("membership", "gmint", config(made, tmp_path))
    assert status == 2 and "another process works here" in error


def test_names_with_dots_are_different_places(made: Path, tmp_path: Path, command: Command) -> None:
    """Model `a.b` on data `c`, and model `a` on data `b.c`: one must not be taken for the other."""
    data = {"members": str(made / "in.jsonl"), "nonmembers": str(made / "out.jsonl")}
    for name in ("c", "b.c"):
        shutil.copytree(made / "bert", tmp_path / "models" / name)
    models = {name: {"path": str(tmp_path / "models" / "{data}")} for name in ("a.b", "a")}
    few = {"samples": [30], "method": {**QUICK, "epochs": 1}}
    file = config(made, tmp_path, models=models, data={"c": data, "b.c": data}, **few)
    assert command("membership", "gmint", file)[0] in (0, 3)
    cells = json.loads((tmp_path / "out" / "gmint.json").read_text())["cells"]
    assert {(cell["model"], cell["data"]) for cell in cells} == {
        (model, name) for model in models for name in ("c", "b.c")
    }


def test_another_tokenizer_is_another_audit(made: Path, tmp_path: Path, command: Command) -> None:
    shutil.copytree(made / "bert", tmp_path / "bert")
    fields = {"models": {"BERT": {"path": str(tmp_path / "bert")}}, "samples": [30]}
    file = config(made, tmp_path, **fields, method={**QUICK, "epochs": 1})
    assert command("membership", "gmint", file)[0] in (0, 3)
    (tmp_path / "bert" / "tokenizer_config.json").write_text('{"model_max_length": 5}')
    status, _, error = command("membership", "gmint", file)
    assert status == 2 and "another `digests.tokenizers.BERT/notes`" in error


@pytest.mark.parametrize("kind", ["classifier", "causal"])
def test_texts_are_cut_where_the_model_reads_no_more(kind: str, made: Path, tmp_path: Path) -> None:
    tokenizer, long = word_tokenizer(tmp_path), " ".join(texts(4, 10))
    model = SimpleNamespace(config=BertConfig(vocab_size=len(tokenizer), max_position_embeddings=16))
    encoder = Encoder.of(model, tokenizer, kind == "causal", most=512)
    assert len(encoder.sample(long).tokens) == 16
    assert encoder.sample(long).tokens[0] == tokenizer.bos_token_id
    assert len(Encoder.of(model, tokenizer, kind == "causal", most=7).sample(long).tokens) == 7
    unlimited = SimpleNamespace(config=XLNetConfig(vocab_size=len(tokenizer)))
    assert len(Encoder.of(unlimited, tokenizer, kind == "causal").sample(long).tokens) == 81
    small = SimpleNamespace(config=BertConfig(vocab_size=5))
    with pytest.raises(InputError, match="is this its tokenizer"):
        Encoder.of(small, tokenizer, kind == "causal").sample(long)


@pytest.mark.parametrize(
    ("values", "classes"),
    [(["1", "2", "2"], [0, 1, 1]), ([0, 1, 1], [0, 1, 1]), ([1, 1, 2], [0, 0, 1])],
)
def test_a_class_may_be_named_as_another_is_numbered(values: list[Any], classes: list[int]) -> None:
    """Stars, say: the class `1` is number 0."""
    model = SimpleNamespace(config=SimpleNamespace(label2id={"1": 0, "2": 1}))
    asked = SimpleNamespace(label_column="stars")
    rows = [Record(str(n), "text", None, {"stars": value}, "text") for n, value in enumerate(values)]
    assert labels_of(asked, rows, model) == classes
    rows[0] = replace(rows[0], values={"stars": None})
    with pytest.raises(InputError, match="1 values of `stars` are no class"):
        labels_of(asked, rows, model)


def test_a_classifier_with_another_loss_is_refused(made: Path, tmp_path: Path, command: Command) -> None:
    for field, value in (("problem_type", "multi_label_classification"), ("problem_type", "regression")):
        folder = tmp_path / value
        shutil.copytree(made / "bert", folder)
        raw = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**raw, field: value}))
        file = config(made, tmp_path, models={"BERT": {"path": str(folder)}})
        status, _, error = command("membership", "gmint", file)
        assert status == 2 and f"this one has 2 ({value})" in error


def test_of_several_files_the_shortest_is_named(made: Path, tmp_path: Path, command: Command) -> None:
    short = write_records(tmp_path / "short.jsonl", texts(9, 5))
    data = {"members": str(made / "in.jsonl"), "elsewhere": [str(made / "out.jsonl"), str(short)]}
    status, _, error = command("membership", "gmint", config(made, tmp_path, data={"notes": data}))
    assert status == 2 and "short.jsonl: 10 records of 10 can be used" in error
    data["elsewhere"] = [str(short), str(short)]
    status, _, error = command("membership", "gmint", config(made, tmp_path, data={"notes": data}))
    assert status == 2 and "a file stands there twice" in error


def test_all_files_are_read_before_the_first_model(made: Path, tmp_path: Path, command: Command) -> None:
    short = write_records(tmp_path / "short.jsonl", texts(9, 5))
    data = {
        name: {"members": str(made / "in.jsonl"), "nonmembers": str(others)}
        for name, others in (("notes", made / "out.jsonl"), ("letters", short))
    }
    for name in data:
        shutil.copytree(made / "bert", tmp_path / name)
    models = {"BERT": {"path": str(tmp_path / "{data}")}}
    status, _, error = command("membership", "gmint", config(made, tmp_path, data=data, models=models))
    assert status == 2 and "short.jsonl: 5 records of 5 can be used" in error
    assert "gradients of" not in error and not (tmp_path / "out" / "run.json").exists()


def test_the_full_experiment_in_configs_runs_where_its_data_and_models_are(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own file, with two models, two data sets and few samples instead of six, six and thousands."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load(CONFIG.read_text())
    assert len(load_settings(GmintConfig, CONFIG).models) == len(raw["data"]) == 6
    for seed, name in enumerate(raw["data"]):
        write_records(tmp_path / "data" / name / "trained_on.jsonl", texts(2 * seed, 40), seed)
        write_records(tmp_path / "data" / name / "held_out.jsonl", texts(2 * seed + 1, 40), seed)
    raw["models"] = {"BERT": raw["models"]["BERT"]}
    raw["data"] = {name: raw["data"][name] for name in ("AgNews", "DBPedia")}
    for name in raw["data"]:
        classifier(
            tmp_path / "models" / name / "bert-base", tmp_path / raw["data"][name]["members"], epochs=2
        )
    raw["samples"], raw["method"] = [40, 30], {**raw["method"], "epochs": 2, "splits": 2, "width": 16}
    for paths in raw["data"].values():
        assert len(paths["elsewhere"]) == 6
    assert command("membership", "gmint", write_config(tmp_path / "few.yaml", **(raw | {"name": "few"})))[
        0
    ] in (0, 3)
    cells = json.loads((tmp_path / "audits" / "few" / "gmint.json").read_text())["cells"]
    assert [(cell["data"], cell["protocol"]) for cell in cells] == [
        ("AgNews", "intra"),
        ("AgNews", "mixed"),
        ("DBPedia", "intra"),
        ("DBPedia", "mixed"),
    ]


def test_one_model_for_several_data_sets_is_refused(made: Path, tmp_path: Path, command: Command) -> None:
    data = {"members": str(made / "in.jsonl"), "nonmembers": str(made / "out.jsonl")}
    status, _, error = command("membership", "gmint", config(made, tmp_path, data={"a": data, "b": data}))
    assert status == 2 and "write {data} in its path" in error


def test_the_papers_figures_are_there() -> None:
    assert published("intra", "BLSTM", "DBPedia", 2500) == 0.9257
    assert published("mixed", "XLNet-Large", "SteamReviews", 750) == 0.9920
    six = (0.9224, 0.9257, 0.9352, 0.9273, 0.9482, 0.9355)
    assert published("intra", "BLSTM", "news", 2500) == pytest.approx(sum(six) / 6)
    assert published("intra", "GPT", "DBPedia", 2500) is None
    assert published("intra", "BERT", "DBPedia", 100) is None
