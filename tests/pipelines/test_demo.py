"""The demo on known truth: what was planted is found with its document count, the base model gives back nothing."""

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from extraction.entropy import LowEntropyRule
from extraction.model import ModelSettings, load_tokenizer
from extraction.records import GENERATION_SCHEMA
from extraction.token_bytes import TokenBytes
from extraction.windows import window_hash
from index import open_index
from pipelines.demo import corpus
from pipelines.demo.demo import demo_config, run_demo
from pipelines.parts import PartStore
from tests.pipelines.recount import IdentifierRecount, Recount, mismatches


@pytest.fixture(scope="module")
def finished(demo, tmp_path_factory, ray_cluster):
    """A finished demo, with the models that all tests share."""
    out = tmp_path_factory.mktemp("demo") / "demo"
    shutil.copytree(demo.corpus, out / "corpus")
    for name in ("base", "target"):
        shutil.copytree(getattr(demo, name), out / "models" / name)
        (out / "models" / name / "trained").touch()
    (out / "demo.json").write_text(json.dumps({"seed": 0}))
    run_demo(out, 0)
    return out


def passages(run):
    return pq.read_table(run / "passages.parquet").to_pylist()


def report_of(run):
    return json.loads((run / "report.json").read_text())


def generated_windows(run, tokenizer):
    """The bytes of every 50 consecutive generated tokens that have bytes."""
    table = TokenBytes.from_tokenizer(tokenizer)
    for row in PartStore(str(run / "generations")).read_all(GENERATION_SCHEMA).to_pylist():
        for run_ in table.runs(row["token_ids"]):
            bounds = run_.offsets.tolist()
            yield from {run_.data[a:b] for a, b in zip(bounds, bounds[50:], strict=False)}


def test_every_planted_text_that_came_out_is_found_with_its_document_count(demo, finished):
    run = finished / "run"
    tokenizer = load_tokenizer(ModelSettings(path=str(demo.target)))
    key = open_index(run / "index").key
    stored = pq.read_table(run / "windows" / "part-00000.parquet").to_pylist()
    counted = {row["hash"]: row["document_count"] for row in stored}
    came_out = {call.name: 0 for call in demo.truth.calls}
    for window in set(generated_windows(run, tokenizer)):
        for call in demo.truth.calls:
            if window in call.text.encode():
                assert counted[window_hash(window, key)] == call.documents
                came_out[call.name] += 1
    for copies in (100, 20, 5, 2, 1):
        assert any(came_out[call.name] for call in demo.truth.planted(copies)), copies
    assert all(came_out[call.name] for call in demo.truth.planted(100))


def test_every_passage_has_the_document_count_of_its_text(demo, finished):
    documents = corpus.read_texts(demo.corpus / corpus.TRANSCRIPTS)
    for row in passages(finished / "run"):
        assert row["document_count"] == sum(row["text"] in text for text in documents)


def test_private_passages_are_found_for_the_target_and_none_for_the_base_model(finished):
    last = report_of(finished / "run")["budgets"][-1]
    assert last["private_passages"] > 0
    assert last["identifiers_in_corpus"] > 0
    control = report_of(finished / "run")["control"]
    assert [budget["private_passages"] for budget in control["budgets"]] == [0, 0, 0]
    assert [budget["private_windows"] for budget in control["budgets"]] == [0, 0, 0]
    assert not any(row["kind"] == "private" for row in passages(finished / "run" / "control"))


def test_boilerplate_in_hundreds_of_documents_stands_apart_from_private_passages(demo, finished):
    rows = passages(finished / "run")
    assert {row["kind"] for row in rows if row["document_count"] > 2} == {"shared"}
    windows = pq.read_table(finished / "run" / "windows" / "part-00000.parquet").to_pylist()
    boilerplate = [row for row in windows if row["document_count"] >= 200]
    assert boilerplate
    assert {row["kind"] for row in boilerplate} == {"shared"}


def test_nothing_that_stands_only_in_the_held_out_calls_is_ever_found(demo, finished):
    section = report_of(finished / "run")["control_text"]
    assert section["also_in_corpus"] > 0
    assert section["only_here"] == 0
    held_out = [call.text for call in demo.truth.held_out_calls]
    assert not [row for row in passages(finished / "run") if any(row["text"] in text for text in held_out)]


@pytest.mark.parametrize("part", ["run", "run/control"])
def test_the_counts_at_each_budget_agree_with_a_recount_by_brute_force(demo, finished, part):
    run, config = finished / part, demo_config(finished, 0)
    recount = Recount(
        PartStore(str(run / "generations")).read_all(GENERATION_SCHEMA).to_pylist(),
        [text.encode() for text in corpus.read_texts(demo.corpus / corpus.TRANSCRIPTS)],
        load_tokenizer(ModelSettings(path=str(demo.target))),
        LowEntropyRule(),
    )
    report, identifiers = report_of(run), IdentifierRecount(recount, config.identifiers)
    assert mismatches(report, recount, identifiers, config.prompts.shares()) == []
    assert all(budget["reached"] for budget in report["budgets"])


def test_two_workers_and_an_empty_prompt_without_a_seed_give_different_samples(finished):
    rows = PartStore(str(finished / "run" / "generations")).read_all(GENERATION_SCHEMA).to_pylist()
    empty = [row for row in rows if row["family"] == "empty"]
    assert len({tuple(row["prompt_token_ids"]) for row in empty}) == 1
    # Memorised texts come out again and again, but no two workers walk the same path.
    assert len({tuple(row["token_ids"]) for row in empty}) > len(empty) / 2


def test_identifiers_are_found_in_the_corpus_with_document_counts(finished):
    kinds = report_of(finished / "run")["budgets"][-1]["identifiers"]
    assert kinds["ACCOUNT_NUMBER"]["in_corpus"] > 0
    assert kinds["PERSON"]["in_corpus"] > 0


def test_the_comparison_and_the_closing_words_are_there(finished, capsys):
    assert (finished / "compare" / "compare.html").exists()
    run_demo(finished, 0)
    out = capsys.readouterr().out
    assert re.search(
        r"Of [\d,]+ generated tokens, [\d,]+ \([\d.]+%\) repeat training text word for word", out
    )
    assert "The control model gave back 0 private passages." in out
    assert "Of 4 calls planted in 100 documents, 4 came out" in out
    assert str(finished / "run" / "report.html") in out.splitlines()
    assert re.search(r"Without the corpus: \d+ of the first 100 generations by the best score", out)


def test_every_score_is_judged_by_the_matches_of_the_run(finished):
    run = finished / "run"
    ranking = report_of(run)["ranking"]
    requests = pq.read_table(sorted(map(str, (run / "matches" / "requests").glob("*.parquet"))))
    repeating = {
        f"{row['family']}-{row['number']:09d}" for row in requests.to_pylist() if row["extracted_tokens"]
    }
    (scores,) = (run / "scores").iterdir()
    rows = pq.read_table(sorted(map(str, scores.glob("*.parquet")))).to_pylist()
    assert {row["generation_id"] for row in rows} >= repeating
    for name, found in ranking["calibration"]["by_score"].items():
        known = sorted((row for row in rows if row[name] is not None), key=lambda row: -row[name])
        assert found["generations"] == len(known)
        hundred = next(at for at in found["at"] if at["depth"] == 100)
        hits = sum(row["generation_id"] in repeating for row in known[:100])
        assert hundred["precision"]["estimate"] == hits / 100
        share = sum(row["generation_id"] in repeating for row in known) / len(known)
        assert hundred["random"]["estimate"] == pytest.approx(share)
        assert hundred["random"]["low"] <= share <= hundred["random"]["high"]
        assert ranking["confirmed"]["by_score"][name]["confirmed"] == found["among_candidates"]["repeating"]
    assert any(
        at["beats_random"]
        for found in ranking["calibration"]["by_score"].values()
        for at in found["at"]
        if at["depth"] == 100
    )
    assert ranking["confirmed"]["all"]["checked"] == ranking["candidates"]
