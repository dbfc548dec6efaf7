"""The command line: one line for each fault, exit status 2, nothing half-written; help that starts at once."""

import json
import os
import shutil
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.pipelines.small_run import raw_config, write_inputs


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "inputs"
    write_inputs(folder)
    return folder


def write_config(folder, **changes):
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(raw_config(folder, **changes)))
    return path


def assert_one_line(result, *parts):
    status, _, err = result
    lines = [line for line in err.splitlines() if line.startswith("extraction: ")]
    assert status == 2
    assert len(lines) == 1, err
    assert err.splitlines()[-1] == lines[0]
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; import pipelines.cli; "
        "print([m for m in ('numpy', 'torch', 'ray', 'numba', 'spacy', 'pyarrow', 'pydantic', 'transformers') "
        "if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize(
    "name", [[], ["demo"], ["run"], ["match"], ["identifiers"], ["compare"], ["report"], ["index"], ["index", "build"],
             ["index", "add"], ["index", "verify"], ["index", "info"], ["index", "find"], ["index", "count"]]
)  # fmt: skip
def test_every_command_has_help_with_an_example(command, name):
    status, out, _ = command(*name, "--help")
    assert status == 0
    assert "extraction" in out
    assert "Example: extraction" in " ".join(out.split()) or name in ([], ["index"])


def test_an_unknown_command_or_option_is_wrong_use(command):
    assert command("runn")[0] == 2
    assert command("run", "--nope")[0] == 2


def test_a_missing_config(command, tmp_path):
    assert_one_line(command("run", tmp_path / "no.yaml"), "no.yaml: no such file")


def test_a_field_of_the_wrong_type(command, folder):
    path = write_config(folder, seed="seven")
    assert_one_line(command("run", path, "--out", folder / "out"), "small.yaml", "`seed`", "integer")
    assert not (folder / "out").exists()


def test_a_missing_model(command, folder):
    path = write_config(folder, model={"path": "nowhere"}, engine={"kind": "transformers"})
    assert_one_line(
        command("run", path, "--out", folder / "out"), "model", "nowhere", "no such folder or file"
    )
    assert not (folder / "out").exists()


def test_a_missing_corpus(command, folder):
    path = write_config(folder, corpus={"sources": [str(folder / "gone.jsonl")]})
    assert_one_line(command("run", path, "--out", folder / "out"), "gone.jsonl")
    assert not (folder / "out" / "run.json").exists()


def test_an_unreadable_parquet_file(command, folder):
    (folder / "bad.parquet").write_bytes(b"PAR1 this is none")
    path = write_config(folder, corpus={"sources": [str(folder / "bad.parquet")]})
    assert_one_line(command("run", path, "--out", folder / "out"), "bad.parquet")


def test_a_text_column_that_is_not_there(command, folder):
    pq.write_table(pa.table({"id": ["a"], "body": ["text"]}), folder / "c.parquet")
    path = write_config(folder, corpus={"sources": [str(folder / "c.parquet")]})
    assert_one_line(command("run", path, "--out", folder / "out"), "c.parquet", "text", "body")


def test_an_empty_corpus(command, folder):
    (folder / "empty.jsonl").write_text("")
    path = write_config(folder, corpus={"sources": [str(folder / "empty.jsonl")]})
    assert_one_line(command("run", path, "--out", folder / "out"), "empty.jsonl")


def test_a_budget_that_cannot_be_reached(command, folder):
    path = write_config(folder, max_requests=3)
    assert_one_line(command("run", path, "--out", folder / "out"), "max_requests")
    assert not (folder / "out").exists()


def bad_line(folder):
    with open(folder / "corpus.jsonl", "a") as handle:
        handle.write("{not json\n")
    return (folder / "corpus.jsonl").read_text().count("\n")


def test_a_json_line_that_is_not_json_is_named_by_file_and_line(command, folder):
    line = bad_line(folder)
    result = command("run", write_config(folder), "--out", folder / "out")
    assert_one_line(result, "corpus.jsonl", f"line {line} is not JSON")


@pytest.mark.usefixtures("ray_cluster")
def test_bad_records_may_be_skipped_and_the_run_is_incomplete(command, folder):
    bad_line(folder)
    path = write_config(folder, budgets=[1000])
    status, out, _ = command("run", path, "--out", folder / "out", "--skip-bad-records")
    assert status == 0
    assert "INCOMPLETE: records of the corpus that could not be read (1)" in out
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["status"] == "incomplete"
    assert json.loads((folder / "out" / "run.json").read_text())["status"] == "incomplete"
    assert command("run", path, "--out", folder / "out")[0] == 2  # incomplete is never clean unless asked for
    assert str(folder / "out" / "report.html") in out.splitlines()
    assert command("report", folder / "out")[0] == 0


@pytest.mark.usefixtures("ray_cluster")
def test_a_directory_made_with_another_config(command, folder):
    assert command("run", write_config(folder, budgets=[500]), "--out", folder / "out")[0] == 0
    result = command("run", write_config(folder, budgets=[500], seed=9), "--out", folder / "out")
    assert_one_line(result, "another `seed` (7, now 9)")


@pytest.mark.usefixtures("ray_cluster")
def test_generations_made_elsewhere(command, folder, tmp_path):
    letter = json.loads((folder / "corpus.jsonl").read_text().splitlines()[-1])["text"]
    index = folder / "corpus.index"
    assert command("index", "build", folder / "corpus.jsonl", "--out", index)[0] == 0
    rows = [
        {"id": "a", "text": f"So it said: {letter[:120]}"},
        {"id": 2, "text": "xyz " * 30},
        {"id": "c", "text": letter[:120], "prompt": letter[:140], "family": "chat"},
    ]
    given = tmp_path / "given.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("match", index, given, "--tokenizer", "bytes", "--out", tmp_path / "m")
    status, out, err = command(*arguments)
    assert status == 0, err
    report = json.loads((tmp_path / "m" / "report.json").read_text())
    (budget,) = report["budgets"]
    assert (budget["reached"], budget["requests"], budget["distinct_windows"]) == (True, 3, 71)
    assert report["families"]["chat"][0]["distinct_windows"] == 0  # it stands in the request's own prompt
    assert (budget["distinct_passages"], budget["extracted_tokens"]) == (1, 120)
    assert "report.html" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a"}', "neither `text` nor `token_ids`"),
        ("{", "not JSON"),
        ('{"id": "a", "token_ids": [999999]}', "`token_ids`"),
        ('{"text": "x"}', "`id`"),
    ],
)
def test_bad_generations_are_named_by_file_and_line(command, folder, tmp_path, line, message):
    index = folder / "corpus.index"
    command("index", "build", folder / "corpus.jsonl", "--out", index)
    (tmp_path / "g.jsonl").write_text('{"id": "ok", "text": "fine"}\n' + line + "\n")
    result = command("match", index, tmp_path / "g.jsonl", "--tokenizer", "bytes", "--out", tmp_path / "m")
    assert_one_line(result, "g.jsonl:2", message)
    assert not (tmp_path / "m").exists()
    shutil.rmtree(index)


@pytest.mark.usefixtures("ray_cluster")
def test_generations_keep_the_ids_they_came_with_and_other_prompts_are_refused(command, folder, tmp_path):
    letter = json.loads((folder / "corpus.jsonl").read_text().splitlines()[-1])["text"]
    index = folder / "corpus.index"
    command("index", "build", folder / "corpus.jsonl", "--out", index)
    given = tmp_path / "given.jsonl"
    arguments = ("match", index, given, "--tokenizer", "bytes", "--out", tmp_path / "m")
    given.write_text(json.dumps({"id": "mine-7", "text": letter[:120], "prompt": letter[:120]}) + "\n")
    assert command(*arguments)[0] == 0
    given.write_text(json.dumps({"id": "mine-7", "text": letter[:120]}) + "\n")
    assert_one_line(command(*arguments), "another `generations`")
    assert command(*arguments[:-1], tmp_path / "other")[0] == 0
    (row,) = pq.read_table(tmp_path / "other" / "passages.parquet").to_pylist()
    assert row["request_ids"] == ["mine-7"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"id": "a", "text": "\\ud800"}', "lone surrogate"),
        ('{"id": "a", "text": "x", "family": "all"}', "`family`"),
        ('{"id": "a", "text": "x", "family": "a\\u0000b"}', "`family`"),
        ('{"id": "a", "token_ids": [true, 5]}', "`token_ids`"),
    ],
)
def test_odd_generations_are_refused_before_anything_is_done(command, folder, tmp_path, record, message):
    index = folder / "corpus.index"
    command("index", "build", folder / "corpus.jsonl", "--out", index)
    (tmp_path / "g.jsonl").write_text(record + "\n")
    result = command("match", index, tmp_path / "g.jsonl", "--tokenizer", "bytes", "--out", tmp_path / "m")
    assert_one_line(result, "g.jsonl:1", message)
    assert not (tmp_path / "m").exists()


def test_a_corpus_that_changed_since_it_was_indexed(command, folder):
    config = write_config(
        folder, corpus={"sources": [str(folder / "corpus.jsonl")], "index": str(folder / "ix")}
    )
    command("index", "build", folder / "corpus.jsonl", "--out", folder / "ix")
    time.sleep(0.01)
    (folder / "corpus.jsonl").write_text(json.dumps({"id": "new", "text": "another text"}) + "\n")
    assert_one_line(
        command("run", config, "--out", folder / "out"), "corpus.jsonl", "changed since the index"
    )
    assert not (folder / "out").exists()


def test_a_foreign_folder_is_left_as_it_is(command, folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "letter.txt").write_text("mine")
    assert_one_line(command("run", write_config(folder), "--out", folder / "mine"), "not empty")
    assert os.listdir(folder / "mine") == ["letter.txt"]


def test_a_missing_corpus_leaves_no_run_directory(command, folder):
    config = write_config(folder, corpus={"sources": [str(folder / "gone.jsonl")]})
    assert_one_line(command("run", config, "--out", folder / "out"), "gone.jsonl")
    assert not (folder / "out").exists()


def test_a_cluster_that_does_not_answer(command, folder):
    result = command("run", write_config(folder), "--out", folder / "out", "--ray-address", "127.0.0.1:1")
    assert_one_line(result, "--ray-address 127.0.0.1:1", "nothing answers")


def test_control_characters_in_names_are_shown_and_not_sent(command, folder):
    result = command("run", folder / "no\x1b[31mfile\x07.yaml")
    assert_one_line(result, r"no\x1b[31mfile\x07.yaml: no such file")
    assert "\x1b" not in result[2]


@pytest.mark.parametrize("content", ["a: " + "[" * 5000, "a: 2024-99-99"])
def test_a_config_that_breaks_the_reader(command, folder, content):
    (folder / "c.yaml").write_text(content)
    assert_one_line(command("run", folder / "c.yaml"), "c.yaml: not YAML")


def test_a_run_json_that_is_none(command, folder):
    (folder / "out").mkdir()
    (folder / "out" / "run.json").write_text("[]")
    assert_one_line(command("run", write_config(folder), "--out", folder / "out"), "run.json")


def test_a_corpus_folder_that_cannot_all_be_read_is_refused(command, folder):
    texts = folder / "texts"
    (texts / "a").mkdir(parents=True)
    (texts / "a" / "1.txt").write_text("one document")
    (texts / "nowhere").symlink_to(folder / "absent")
    assert_one_line(command("index", "build", texts, "--out", folder / "ix"), "nowhere", "leads nowhere")
    (texts / "nowhere").unlink()
    os.mkfifo(texts / "pipe")
    assert_one_line(command("index", "build", texts, "--out", folder / "ix"), "pipe", "neither a file")
    (texts / "pipe").unlink()
    (texts / "behind").symlink_to(folder / "elsewhere")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "2.txt").write_text("another document")
    (folder / "elsewhere" / "round").symlink_to(texts)
    assert command("index", "build", texts, "--out", folder / "ix")[0] == 0
    assert json.loads(command("index", "info", folder / "ix")[1])["documents"] == 2


def test_lines_that_break_the_json_reader_are_named(command, folder):
    (folder / "deep.jsonl").write_text("[" * 200_000 + "\n")
    assert_one_line(
        command("index", "build", folder / "deep.jsonl", "--out", folder / "ix"), "deep.jsonl", "line 1"
    )
