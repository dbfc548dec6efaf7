"""The whole run on real Ray with the deterministic engine: counts, resume, refusals."""

import json
import stat
from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from extraction.entropy import LowEntropyRule
from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
from extraction.records import GENERATION_SCHEMA
from extraction.windows import WINDOW_SCHEMA
from pipelines.count import DISTINCT_WINDOW_SCHEMA
from pipelines.match import MatchStores
from pipelines.parts import PartStore
from pipelines.run import run_pipeline
from pipelines.rundir import RunDirectory
from tests.pipelines.recount import IdentifierRecount, Recount, mismatches
from tests.pipelines.small_run import small_config, write_inputs

pytestmark = pytest.mark.usefixtures("ray_cluster")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    texts, disclaimer, letters = write_inputs(folder)
    return folder, texts, disclaimer, letters


@pytest.fixture(scope="module")
def small(inputs, tmp_path_factory, ray_cluster):
    """One finished run: its configuration, directory and report."""
    folder = inputs[0]
    out = tmp_path_factory.mktemp("run") / "small"
    config = small_config(folder, control={"text": [str(folder / "held_out.jsonl")]})
    report = run_pipeline(config, out, None, skip_bad_records=False)
    return config, out, json.loads(report.read_text())


def generations(out):
    return PartStore(str(out / "generations")).read_all(GENERATION_SCHEMA).to_pylist()


def test_every_count_agrees_with_a_recount_by_brute_force(inputs, small):
    config, out, report = small
    recount = Recount(
        generations(out),
        [text.encode() for text in inputs[1]],
        load_tokenizer(ModelSettings(tokenizer="bytes")),
        LowEntropyRule(),
    )
    identifiers = IdentifierRecount(recount, config.identifiers)
    assert mismatches(report, recount, identifiers, config.prompts.shares()) == []
    last = report["budgets"][-1]
    assert last["distinct_windows"] > 500 and last["identifiers_in_corpus"] > 5


def test_passages_have_the_document_counts_that_were_planted(inputs, small):
    _, texts, disclaimer, letters = inputs
    rows = pq.read_table(small[1] / "passages.parquet").to_pylist()
    for row in rows:
        assert row["document_count"] == sum(row["text"] in text for text in texts)
        assert row["occurrences"] == sum(text.count(row["text"]) for text in texts)
        assert row["kind"] == ("private" if row["document_count"] <= 2 else "shared")
        assert len(row["document_ids"]) == min(10, row["document_count"])
    assert [row for row in rows if row["document_count"] == 40 and row["text"].strip() in disclaimer]
    assert {row["document_count"] for row in rows} == {1, 2, 5, 40}
    assert any("ACCOUNT_NUMBER" in row["identifier_types"] for row in rows)


def test_identifiers_are_found_in_the_corpus_with_document_counts(small):
    counts = small[2]["budgets"][-1]["identifiers"]["ACCOUNT_NUMBER"]
    assert counts["in_corpus"] >= 5
    assert 0 < counts["private"] < counts["in_corpus"]


def test_text_that_was_held_out_is_found_only_where_the_corpus_holds_it_too(small):
    control = small[2]["control_text"]
    assert control["also_in_corpus"] > 0
    assert control["only_here"] == 0
    assert sum(item["also_in_corpus"] for item in control["by_length"]) > 0
    assert {item["only_here"] for item in control["by_length"]} == {0}
    assert all(item["by_chance"]["high"] > 0 for item in control["by_length"])  # none found is no floor of 0


def test_every_distinct_window_is_kept_once_with_its_requests_and_first_budget(small):
    _, out, report = small
    kept = RunDirectory(out).store("windows").read_all(DISTINCT_WINDOW_SCHEMA).to_pylist()
    places = MatchStores.of(RunDirectory(out)).windows.read_all(WINDOW_SCHEMA).to_pylist()
    requests = defaultdict(set)
    for row in places:
        requests[row["hash"]].add((row["family"], row["number"]))
    assert [row["hash"] for row in kept] == sorted(requests)
    assert all(row["requests"] == len(requests[row["hash"]]) for row in kept)
    for budget in report["budgets"]:
        counted = [r for r in kept if r["first_budget"] is not None and r["first_budget"] <= budget["budget"]]
        assert len([r for r in counted if r["kind"] != "low_entropy"]) == budget["distinct_windows"]
        assert len([r for r in counted if r["kind"] == "private"]) == budget["private_windows"]


def test_what_the_control_gives_back_too_is_marked_and_counted_apart(inputs, tmp_path):
    # The deterministic engine gives the same texts whatever the model: a control that shares everything.
    config = small_config(inputs[0], budgets=[3000], control={"model": {"tokenizer": "bytes"}})
    report = json.loads(run_pipeline(config, tmp_path / "run", None, skip_bad_records=False).read_text())
    (own,), control = report["budgets"], report["control"]
    assert control["budgets"][0]["distinct_windows"] == own["distinct_windows"] > 0
    assert control["shared"][0]["private_passages"] == own["private_passages"] > 0
    assert set(control["not_in_control"][0].values()) == {3000, 0}
    assert all(row["in_control"] for row in pq.read_table(tmp_path / "run" / "passages.parquet").to_pylist())
    assert (tmp_path / "run" / "control" / "run.json").exists()


def test_every_request_is_there_once_and_workers_differ(small):
    rows = generations(small[1])
    assert len({row["request_id"] for row in rows}) == len(rows)
    empty = [
        tuple(row["token_ids"]) for row in rows if row["family"] == "empty" and len(row["token_ids"]) > 20
    ]
    assert len(set(empty)) == len(empty)


def test_only_the_owner_can_read_a_run(small):
    for path in [small[1], *small[1].rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_no_text_stands_outside_the_places_for_text(inputs, small):
    _, out, report = small
    letter = inputs[3][1][0][:40]
    page = (out / "report.html").read_text() + (out / "model_card.md").read_text() + json.dumps(report)
    assert letter not in page + (out / "run.json").read_text()
    assert "20001000" not in page


def test_a_larger_budget_extends_a_run_and_smaller_budgets_keep_their_counts(inputs, small, tmp_path):
    config, out, before = small
    first = pa.table({"id": [r["request_id"] for r in generations(out)]})
    larger = config.model_copy(update={"budgets": (5000, 20000, 40000), "workers": 1})
    report = json.loads(run_pipeline(larger, out, None, skip_bad_records=False).read_text())
    names = ("generated_tokens", "requests", "extracted_tokens", "distinct_windows", "private_windows")
    by_budget = {b["budget"]: b for b in report["budgets"]}
    for budget in before["budgets"]:
        if budget["budget"] in by_budget:
            assert [by_budget[budget["budget"]][n] for n in names] == [budget[n] for n in names]
    assert report["budgets"][-1]["reached"]
    assert set(first["id"].to_pylist()) < {r["request_id"] for r in generations(out)}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": 8}, "seed"),
        ({"min_tokens": 60}, "min_tokens"),
        ({"sampling": {"max_tokens": 200}}, "sampling.max_tokens"),
    ],
)
def test_a_directory_made_with_another_config_is_refused_by_name(inputs, small, change, name):
    config = small_config(inputs[0], control={"text": [str(inputs[0] / "held_out.jsonl")]}, **change)
    with pytest.raises(InputError, match=f"another `{name}`"):
        run_pipeline(config, small[1], None, skip_bad_records=False)


def test_a_budget_that_cannot_be_reached_is_refused_before_anything_is_written(inputs, tmp_path):
    config = small_config(inputs[0], max_requests=10)
    with pytest.raises(InputError, match="max_requests: 10 requests cannot reach"):
        run_pipeline(config, tmp_path / "run", None, skip_bad_records=False)
    assert not (tmp_path / "run").exists()


def test_a_budget_that_runs_out_of_requests_says_that_it_was_not_reached(inputs, tmp_path):
    config = small_config(inputs[0], max_requests=70)
    report = json.loads(run_pipeline(config, tmp_path / "run", None, skip_bad_records=False).read_text())
    assert [b["reached"] for b in report["budgets"]] == [True, True, False]
    assert report["status"] == "complete"
    assert sum(1 for _ in generations(tmp_path / "run")) <= 70
