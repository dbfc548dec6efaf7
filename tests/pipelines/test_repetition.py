"""What stands behind a repetition is counted apart, at each budget, and agrees with a plain recount."""

import json

import numpy as np
import pytest

from extraction.model import load_tokenizer
from extraction.repetition import find_repetition
from extraction.token_bytes import TokenBytes
from pipelines.repetition import STORE
from pipelines.run import run_pipeline
from pipelines.rundir import RunDirectory
from pipelines.sample import prepare
from tests.extraction.tiny_models import SENTENCES, TEXT, byte_level_tokenizer
from tests.pipelines.small_run import small_config, write_inputs

pytestmark = pytest.mark.usefixtures("ray_cluster")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a stand-in model that often writes a word six times and then a sentence of the corpus."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    byte_level_tokenizer(folder / "model")
    sentences = "".join(
        json.dumps({"id": str(i), "text": s}) + "\n" for i, s in enumerate([TEXT, *SENTENCES])
    )
    (folder / "corpus.jsonl").write_text(sentences)
    changes = {
        "model": {"tokenizer": str(folder / "model")},
        "engine": {
            "kind": "deterministic",
            "passages": str(folder / "passages.txt"),
            "passage_share": 0.9,
        },
        "sampling": {"max_tokens": 120},
        "prompts": {"families": {"empty": {"share": 0.2}, "repeat": {"share": 0.8}}},
        "budgets": [4000, 12000],
        "min_tokens": 16,
    }
    (folder / "passages.txt").write_text(TEXT)
    words = prepare(small_config(folder, **changes)).prompts.asked_words()["repeat"].words
    passages = [f" {' '.join([word] * 6)}. {s}" for word in words for s in SENTENCES]
    (folder / "passages.txt").write_text("\n\n".join([*passages, *SENTENCES]))
    config = small_config(folder, **changes)
    out = tmp_path_factory.mktemp("run") / "repeats"
    report = json.loads(run_pipeline(config, out, None, skip_bad_records=False).read_text())
    return config, RunDirectory(out), report


def rows_of(store):
    return [
        row for name in store.complete() for row in store.read(name).to_pylist() if row["family"] == "repeat"
    ]


def test_the_end_of_every_repetition_is_found(run):
    config, directory, _ = run
    table = TokenBytes.from_tokenizer(load_tokenizer(config.model))
    found = {row["number"]: row for row in rows_of(directory.store(STORE))}
    generated = rows_of(directory.store("generations"))
    asked = prepare(config).prompts.asked_words()["repeat"]
    assert len(found) == len(generated)
    for row in generated:
        (word,) = asked.of(np.array([row["number"]]))
        expected = vars(find_repetition(row["token_ids"], word, table))
        assert found[row["number"]] == {"family": "repeat", "number": row["number"], **expected}
    assert 3 < sum(row["diverged"] for row in found.values()) < len(found)


def test_counts_behind_the_repetition_agree_with_a_recount(run):
    _, directory, report = run
    rows = {row["number"]: row for row in rows_of(directory.store(STORE))}
    windows = rows_of(directory.store("matches/windows"))
    for budget in report["families"]["repeat"]:
        chosen = [row for number, row in rows.items() if number < budget["requests"]]
        behind = {"private": set(), "shared": set()}
        for window in windows:
            row = rows[window["number"]]
            if row["diverged"] and row["number"] < budget["requests"] and window["start"] >= row["end"]:
                behind.setdefault(window["kind"], set()).add(window["hash"])
        assert budget["repetition"] == {
            "repeated": sum(row["times"] > 0 for row in chosen),
            "diverged": sum(row["diverged"] for row in chosen),
            "windows_after": len(behind["private"] | behind["shared"]),
            "private_windows_after": len(behind["private"]),
        }
        assert 5 < budget["repetition"]["windows_after"] < budget["distinct_windows"]


def test_other_families_have_no_such_counts(run):
    report = run[2]
    assert all("repetition" not in budget for budget in report["families"]["empty"])
    assert {p.split("-")[0] for p in run[1].store(STORE).complete()} == {"part"}


def test_the_page_shows_them(run):
    _, directory, report = run
    page = (directory.path / "report.html").read_text()
    assert "Behind a repetition" in page
    assert f"<td>{report['families']['repeat'][-1]['repetition']['diverged']:,}</td>" in page
