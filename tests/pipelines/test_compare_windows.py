"""Windows in common and new, and what compares between models with different tokenizers."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.count import DISTINCT_WINDOW_SCHEMA
from pipelines.rundir import RunDirectory
from tests.pipelines import report_cases
from tests.pipelines.compare_cases import compared, passages, write_two_runs
from tests.pipelines.page_reading import Page, unexplained


@pytest.fixture
def two_runs(tmp_path):
    return write_two_runs(tmp_path)


def keep_windows(run, windows):
    """Publish windows/: (byte that stands for the hash, kind, first budget)."""
    columns = [
        [bytes([value]) * 16 for value, _, _ in windows],
        [kind for _, kind, _ in windows],
        [1] * len(windows),
        [1] * len(windows),
        [budget for _, _, budget in windows],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, DISTINCT_WINDOW_SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=DISTINCT_WINDOW_SCHEMA)
    RunDirectory(run).store("windows").publish("part-00000", table, {})


def with_method(path, change):
    """A run whose report's method was changed."""
    report = report_cases.report()
    change(report["method"])
    return report_cases.write_run(path, report, [])


def test_windows_in_common_are_counted_up_to_the_budget_that_both_have(two_runs, tmp_path):
    keep_windows(two_runs[0], [(1, "private", 50_000), (2, "shared", 50_000), (3, "low_entropy", 50_000)])
    second = [
        (1, "private", 200_000),
        (4, "private", 100_000),
        (5, "private", None),
        (3, "low_entropy", 50_000),
    ]
    keep_windows(two_runs[1], second)
    data, html = compared(two_runs, tmp_path / "out")
    assert data["windows"] == [
        {
            "letter": "B",
            "all": {"common": 1, "new": 1, "gone": 1},
            "private": {"common": 1, "new": 1, "gone": 0},
            "reason": None,
        }
    ]
    assert data["compared_at"] == 200_000 and unexplained(html, data) == set()


def test_windows_of_indexes_built_apart_are_not_compared_but_passages_are(tmp_path):
    def other_key(method):
        method["corpus"]["window_key"] = "another"

    first = report_cases.write_run(tmp_path / "a", report_cases.report(), passages("a", [(0, "private")]))
    second = with_method(tmp_path / "b", other_key)
    for run in (first, second):
        keep_windows(run, [(1, "private", 50_000)])
    data, html = compared([first, second], tmp_path / "out")
    assert (data["windows"][0]["all"], data["windows"][0]["private"]) == (None, None)
    assert "indexes were built apart" in data["windows"][0]["reason"] and "built apart" in Page(html).text
    assert data["passages"][0]["private"]["gone"] == 1


def test_a_run_that_keeps_no_windows_is_not_called_empty(two_runs, tmp_path):
    keep_windows(two_runs[0], [(1, "private", 50_000)])
    data, html = compared(two_runs, tmp_path / "out")
    assert data["windows"][0]["reason"] == "a run keeps no windows"
    assert "not compared" in Page(html).text


def test_models_with_other_tokenizers_are_compared_in_bytes(two_runs, tmp_path):
    def other_tokenizer(method):
        method["model"]["tokenizer_fingerprint"] = "another"
        method["sampling"]["stop_token_ids"] = {"value": [7], "origin": "generation_config.json"}

    data, html = compared(two_runs, tmp_path / "same")
    assert not data["different_tokenizers"] and "Windows in bytes" not in Page(html).text
    third = with_method(tmp_path / "third", other_tokenizer)
    data, html = compared([two_runs[0], third], tmp_path / "out")
    last = report_cases.report()["budgets"][-1]
    row = data["budgets"][-1]["runs"][1]
    for name in ("generated_bytes", "extracted_bytes", "distinct_byte_windows"):
        assert row[name] == last[name] and data["budgets"][-1]["differences"][0][name] == 0
    text = Page(html).text
    assert "Windows in bytes" in text and "the counts in bytes do" in text
    assert "tokenizers cut the same text into different windows" in data["windows"][0]["reason"]
    assert unexplained(html, data) == set()


def test_passages_that_only_a_larger_budget_gave_are_not_new(tmp_path):
    smaller, larger = report_cases.report(), report_cases.report()
    smaller["budgets"] = smaller["budgets"][:2]
    first = report_cases.write_run(tmp_path / "a", smaller, passages("a", [(0, "private")]))
    second = report_cases.write_run(tmp_path / "b", larger, passages("b", [(0, "private"), (1, "private")]))
    table = pq.read_table(second / "passages.parquet")
    place, budgets = table.schema.get_field_index("first_budget"), pa.array([50_000, 200_000], pa.int64())
    pq.write_table(table.set_column(place, "first_budget", budgets), second / "passages.parquet")
    data, _ = compared([first, second], tmp_path / "out")
    assert data["compared_at"] == 100_000
    assert data["passages"][0]["private"] == {"common": 1, "new": 0, "gone": 0}


def test_more_of_a_private_passage_in_common_is_not_called_nothing_new(tmp_path):
    runs = [
        report_cases.write_run(tmp_path / name, report_cases.report(), passages(name, [(0, "private")]))
        for name in ("a", "b")
    ]
    keep_windows(runs[0], [(1, "private", 50_000)])
    keep_windows(runs[1], [(1, "private", 50_000), (2, "private", 50_000)])
    text = Page(compared(runs, tmp_path / "out")[1]).text
    assert "B gives back more of the private text that A gave back too." in text
    assert "Nothing was found" in Page(compared(runs[::-1], tmp_path / "back")[1]).text
