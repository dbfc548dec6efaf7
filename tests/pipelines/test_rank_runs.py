"""Ranking the generations of a run directory: whose they are, whether they are all there, and what was searched."""

import json
import shutil

import pytest

from pipelines.rundir import RunDirectory
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama

pytestmark = pytest.mark.usefixtures("ray_cluster")

DOCUMENT = " ".join(SENTENCES)
COPIED = 12


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, vocabulary in (("model", 420), ("other", 380)):
        byte_level_tokenizer(folder / name, vocabulary=vocabulary)
        llama(folder / name, vocabulary=vocabulary)
    return folder


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A corpus of one document, and generations with ids of their own: some copy it, the others copy nothing."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "corpus.jsonl").write_text(json.dumps({"id": "d0", "text": DOCUMENT}) + "\n")
    rows = [{"id": f"copy {n}", "text": DOCUMENT[7 * n : 7 * n + 330]} for n in range(COPIED)]
    rows += [{"id": f"own {n}", "text": DOCUMENT[::-1][9 * n : 9 * n + 200]} for n in range(18)]
    (folder / "generations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def run(sources, models, tmp_path, command):
    """A run of `extraction match` over them."""
    if not (sources / "run").exists():
        index = sources / "index"
        command("index", "build", sources / "corpus.jsonl", "--out", index, "--workers", 1)
        status, _, err = command(
            *("match", index, sources / "generations.jsonl", "--tokenizer", models / "model"),
            *("--out", sources / "run"),
        )
        assert status == 0, err
    shutil.copytree(sources / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def rank(models, tmp_path, command):
    def ranked(source, *options, model="model", out="ranked"):
        arguments = ["--model", models / model, "--top", 5, "--among", 0, "--out", tmp_path / out]
        return command("rank", source, *arguments, *options)

    return ranked


def summary(folder):
    return json.loads((folder / "ranking.json").read_text())


def change(folder, **facts):
    directory = RunDirectory(folder)
    directory.write(directory.read() | facts)


def test_what_copies_the_corpus_is_known_whatever_its_id(run, rank, tmp_path):
    status, _, err = rank(run)
    assert status == 0, err
    found = summary(tmp_path / "ranked")
    assert (found["status"], found["incomplete"]) == ("complete", [])
    judged = found["calibration"]["by_score"]["perplexity"]
    assert (judged["generations"], judged["hits"]) == (COPIED + 18, COPIED)


def test_scores_are_not_judged_by_a_search_that_was_not_finished(run, rank, tmp_path):
    (run / "matches" / "requests" / "part-00000.done").unlink()
    assert rank(run)[0] == 0
    found = summary(tmp_path / "ranked")["calibration"]
    assert found["by_score"] is None and "all of these generations" in found["reason"]


@pytest.mark.parametrize("state", ["running", "incomplete"])
def test_a_run_that_is_not_complete_makes_no_complete_ranking(run, rank, tmp_path, state):
    change(run, status=state)
    status, out, _ = rank(run)
    assert status == 2 and "INCOMPLETE: the run is not complete." in out
    assert summary(tmp_path / "ranked")["status"] == "incomplete"
    assert rank(run, "--skip-bad-records")[0] == 0  # asked for


def test_another_run_is_not_taken_for_the_one_that_was_ranked(run, rank):
    assert rank(run)[0] == 0
    change(run, run="run-of-another-day")
    status, _, err = rank(run)
    assert status == 2 and "made with another `generations`" in err


def test_another_file_of_the_same_size_is_another(sources, rank, tmp_path):
    own = shutil.copy(sources / "generations.jsonl", tmp_path / "generations.jsonl")
    assert rank(own)[0] == 0
    (tmp_path / "moved").mkdir()
    assert rank(shutil.copy(own, tmp_path / "moved" / "file.jsonl"))[0] == 0  # the same, wherever it lies
    text = (tmp_path / "generations.jsonl").read_text()
    (tmp_path / "generations.jsonl").write_text(text.replace("branch", "crutch"))
    status, _, err = rank(own)
    assert status == 2 and "made with another `generations`" in err


def test_only_the_model_that_generated_may_rank_a_run(run, rank, tmp_path):
    status, _, err = rank(run, model="other")
    assert status == 2 and "--model has another tokenizer" in err and len(err.splitlines()) == 1
    change(run, fingerprints=RunDirectory(run).read()["fingerprints"] | {"model": "0" * 64})
    status, _, err = rank(run)
    assert status == 2 and "--model has another model" in err
    assert not (tmp_path / "ranked").exists()


def test_a_purged_run_is_not_ranked(run, rank, command, tmp_path):
    assert command("purge", run)[0] == 0
    status, _, err = rank(run)
    assert status == 2 and "were purged" in err
    assert not (tmp_path / "ranked").exists()


def test_records_that_were_left_out_are_counted(sources, rank, tmp_path):
    (tmp_path / "bad.jsonl").write_text((sources / "generations.jsonl").read_text() + '{"id": "x"}\n')
    assert rank(tmp_path / "bad.jsonl")[0] == 2
    status, out, _ = rank(tmp_path / "bad.jsonl", "--skip-bad-records")
    assert status == 0 and "INCOMPLETE: generations that could not be read (1)." in out
    assert summary(tmp_path / "ranked")["skipped_records"] == 1
