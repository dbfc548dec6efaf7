import json
import math
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer import Typer
from typer.testing import CliRunner

from extraction.errors import InputError
from extraction.identifiers.records import LOOKUP_SCHEMA
from pipelines.commands.compare import compare as compare_command
from pipelines.compare import compare_runs
from pipelines.compare.differences import crossing, share_difference
from pipelines.compare.overlap import Passage, in_common, make_passage
from pipelines.parts import PartStore
from pipelines.report.records import BudgetCounts, GrowthPoint
from tests.pipelines import report_cases
from tests.pipelines.compare_cases import TEXTS, compared, passages, write_two_runs
from tests.pipelines.page_reading import Page, unexplained


@pytest.fixture
def two_runs(tmp_path):
    return write_two_runs(tmp_path)


def test_common_new_and_gone_passages_are_counted_by_kind(two_runs, tmp_path):
    data, html = compared(two_runs, tmp_path / "out")
    (passage,) = data["passages"]
    assert passage["private"] == {"common": 1, "new": 2, "gone": 1}
    assert passage["shared"] == {"common": 1, "new": 1, "gone": 0}
    assert passage["new_private_passage_ids"] == ["b3", "b4"]
    assert "B gives back private text that A did not." in Page(html).text


def test_counts_of_the_same_budget_stand_side_by_side(two_runs, tmp_path):
    data, html = compared(two_runs, tmp_path / "out")
    assert [budget["budget"] for budget in data["budgets"]] == [50_000, 100_000, 200_000]
    last = data["budgets"][-1]
    assert [run["private_passages"] for run in last["runs"]] == [29, 31]
    assert last["differences"][0]["private_passages"] == 2
    assert unexplained(html, data) == set()


def test_no_text_is_written(two_runs, tmp_path):
    for path in compare_runs(two_runs, tmp_path / "out"):
        written = path.read_text()
        assert path.stat().st_mode & 0o077 == 0
        assert not [word for text in TEXTS for word in (text[:20], text[-20:]) if word in written]


def differing(field):
    report = report_cases.report()
    method = report["method"]
    if field == "corpus":
        method["corpus"]["fingerprint"] = "another"
    elif field == "sampling.top_k":
        method["sampling"]["top_k"]["value"] = 50
    elif field == "sampling.stop_token_ids":
        method["sampling"]["stop_token_ids"] = {"value": [7], "origin": "generation_config.json"}
    elif field == "prompts":
        method["prompts_fingerprint"] = "another"
    elif field == "low_entropy_rule":
        method["low_entropy_rule"] = {"min_token_entropy": 1.0}
    else:
        method[field] = method[field] + 1
    return report


@pytest.mark.parametrize(
    "field",
    [
        "corpus",
        "min_tokens",
        "min_bytes",
        "private_documents",
        "low_entropy_rule",
        "prompts",
        "sampling.top_k",
        "sampling.stop_token_ids",
    ],
)
def test_runs_measured_differently_are_refused_unless_told(field, tmp_path):
    runs = [
        report_cases.write_run(tmp_path / "a", report_cases.report(), []),
        report_cases.write_run(tmp_path / "b", differing(field), []),
    ]
    with pytest.raises(InputError, match=re.escape(f"another `{field}`")) as raised:
        compare_runs(runs, tmp_path / "out")
    assert "\n" not in str(raised.value) and "--allow-differences" in str(raised.value)
    assert not (tmp_path / "out").exists()
    data, html = compared(runs, tmp_path / "out", allow_differences=True)
    assert [item["name"] for item in data["different_settings"]] == [field]
    text = Page(html).text
    assert "Measured differently" in text and f"measured differently ({field})" in text


def test_identifiers_tagged_by_other_rules_are_refused_unless_told(two_runs, tmp_path):
    for run, regions, ids in zip(two_runs, (["GB"], ["GB", "US"]), (10, 100), strict=True):
        record = json.loads((run / "run.json").read_text())
        record["fingerprints"] = {"identifiers": {"regions": regions, "day_first": True, "document_ids": ids}}
        (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"another `identifiers\.regions`"):
        compare_runs(two_runs, tmp_path / "out")
    data, _ = compared(two_runs, tmp_path / "out", allow_differences=True)
    assert [item["name"] for item in data["different_settings"]] == ["identifiers.regions"]


def test_what_each_model_was_trained_on_may_differ_and_is_recorded(two_runs, tmp_path):
    report = json.loads((two_runs[1] / "report.json").read_text())
    report["method"]["corpus"]["trained_on"] = "the same calls, deduplicated"
    (two_runs[1] / "report.json").write_text(json.dumps(report))
    data, html = compared(two_runs, tmp_path / "out")
    assert [run["trained_on"] for run in data["runs"]] == [None, "the same calls, deduplicated"]
    assert "B, trained on the same calls, deduplicated" in Page(html).text


def test_where_a_setting_came_from_may_differ(tmp_path):
    report = report_cases.report()
    report["method"]["sampling"]["top_k"]["origin"] = "generation_config.json"
    runs = [
        report_cases.write_run(tmp_path / "a", report_cases.report(), []),
        report_cases.write_run(tmp_path / "b", report, []),
    ]
    assert compared(runs, tmp_path / "out")[0]["different_settings"] == []


def test_an_incomplete_run_makes_no_result(tmp_path):
    runs = [
        report_cases.write_run(tmp_path / "a", report_cases.report(), passages("a", [(0, "private")])),
        report_cases.write_run(tmp_path / "b", report_cases.incomplete(report_cases.report()), []),
    ]
    assert (
        "A run is incomplete, so the comparison is not a result."
        in Page(compared(runs, tmp_path / "out")[1]).text
    )


def test_the_same_run_twice_and_a_folder_that_is_no_run_are_refused(two_runs, tmp_path):
    first, second = two_runs
    with pytest.raises(InputError, match="the same run"):
        compare_runs([first, first], tmp_path / "out")
    with pytest.raises(InputError, match="two to nine"):
        compare_runs([first], tmp_path / "out")
    with pytest.raises(InputError, match="no run.json"):
        compare_runs([first, tmp_path / "missing"], tmp_path / "out")
    (second / "passages.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="passages.parquet: cannot be read"):
        compare_runs([first, second], tmp_path / "out")


def test_runs_without_a_common_budget_are_refused(tmp_path):
    other = report_cases.report()
    other["budgets"] = other["budgets"][:1]
    other["budgets"][0]["budget"] = 7
    runs = [
        report_cases.write_run(tmp_path / "a", report_cases.report(), []),
        report_cases.write_run(tmp_path / "b", other, []),
    ]
    with pytest.raises(InputError, match="no budget in common"):
        compare_runs(runs, tmp_path / "out")


def test_three_runs_are_each_compared_with_the_first(two_runs, tmp_path):
    third = report_cases.write_run(tmp_path / "third", report_cases.report(), passages("c", [(0, "private")]))
    data, html = compared([*two_runs, third], tmp_path / "out")
    assert [(p["letter"], p["private"]["common"]) for p in data["passages"]] == [("B", 1), ("C", 1)]
    assert len(data["budgets"][0]["differences"]) == 2
    assert unexplained(html, data) == set()


def look_up(run, values, folder="corpus-00002"):
    rows = [
        {"type": group.partition("_")[0], "value": value, "group": group, "documents": 1, "occurrences": 1}
        for group, value in values
    ]
    table = pa.Table.from_pylist([row | {"example_ids": []} for row in rows], schema=LOOKUP_SCHEMA)
    PartStore(str(run / "identifiers" / folder)).publish("share-00", table, {})


def test_identifiers_in_common_and_new_are_counted_by_value_and_not_shown(two_runs, tmp_path):
    look_up(two_runs[0], [("PERSON", "ada example"), ("PHONE", "+15550100"), ("PERSON", "bo example")])
    look_up(two_runs[1], [("PERSON", "ada example"), ("PHONE", "+15550101"), ("PERSON", "cy example")])
    data, html = compared(two_runs, tmp_path / "out")
    found = {item["type"]: item["against_first"] for item in data["identifiers"]}
    assert found["PERSON"] == {"B": {"common": 1, "new": 1, "gone": 1}}
    assert found["PHONE"] == {"B": {"common": 0, "new": 1, "gone": 1}}
    assert "example" not in json.dumps(data) + html and "5550101" not in json.dumps(data) + html
    assert unexplained(html, data) == set()


def test_the_chance_level_of_each_run_stands_beside_its_identifiers(two_runs, tmp_path):
    data, html = compared(two_runs, tmp_path / "out")
    by_type = {item["type"]: item for item in data["identifiers"]}
    last = report_cases.report()["budgets"][-1]["identifiers"]["PERSON_SINGLE"]
    assert by_type["PERSON_SINGLE"]["chance"] == {"A": last["chance"], "B": last["chance"]}
    assert last["chance"] > 0
    assert "A, random ones" in Page(html).text
    seen = last["in_control_text"]
    assert by_type["PERSON_SINGLE"]["in_control_text"] == {"A": seen, "B": seen} and seen > 0
    assert "A, in text never seen" in Page(html).text


def test_identifiers_of_a_run_without_unseen_text_are_not_called_absent_from_it(two_runs, tmp_path):
    report = json.loads((two_runs[1] / "report.json").read_text())
    report["control_text"] = None
    rows = [*report["budgets"], *(row for own in report["families"].values() for row in own)]
    for counts in (found for row in rows for found in row["identifiers"].values()):
        counts["in_control_text"] = None
    (two_runs[1] / "report.json").write_text(json.dumps(report))
    data, html = compared(two_runs, tmp_path / "out")
    assert {item["in_control_text"]["B"] for item in data["identifiers"]} == {None}
    assert {item["in_control_text"]["A"] for item in data["identifiers"]} != {None}
    assert unexplained(html, data) == set()


def test_new_identifiers_are_said_even_where_no_passage_is_new(tmp_path):
    runs = [
        report_cases.write_run(tmp_path / name, report_cases.report(), passages(name, [(0, "private")]))
        for name in ("a", "b")
    ]
    look_up(runs[0], [("PHONE", "+15550100"), ("PERSON_SINGLE", "ada")])
    look_up(runs[1], [("PHONE", "+15550100"), ("PERSON_SINGLE", "bo")])
    assert "Nothing was found that A did not give back" in Page(compared(runs, tmp_path / "same")[1]).text
    look_up(
        runs[1], [("PHONE", "+15550100"), ("PHONE", "+15550101"), ("PERSON_SINGLE", "bo")], "corpus-00003"
    )
    data, html = compared(runs, tmp_path / "out")
    assert (
        "B gives back names or numbers of the corpus that A did not; no new private text" in Page(html).text
    )
    assert "that A did not (phone number: 1; single names apart)" in Page(html).text
    assert unexplained(html, data) == set()


def test_identifiers_without_kept_values_are_not_called_new(two_runs, tmp_path):
    data, html = compared(two_runs, tmp_path / "out")
    assert [item["against_first"] for item in data["identifiers"]] == [{}] * len(data["identifiers"])
    assert "was not compared: a run keeps none" in Page(html).text


def test_hostile_names_are_inert(two_runs, tmp_path):
    report = report_cases.report()
    report["method"]["model"]["name"] = "<script>alert(1)</script>"
    third = report_cases.write_run(tmp_path / "third", report, [], run_id="<img src=x onerror=alert(1)>")
    page = Page(compared([two_runs[0], third], tmp_path / "out")[1])
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert "<script>alert(1)</script>" in page.text


def test_a_passage_cut_elsewhere_is_the_same_and_a_common_phrase_is_not():
    text = TEXTS[0] * 3
    later = make_passage("b", text[40:700], 90, 50)
    assert in_common([make_passage("a", text[:600], 90, 50)], [later]) == [True]
    phrase = "Thank you for calling, how may I help you today?"
    ours, theirs = phrase + TEXTS[1] * 2, phrase + TEXTS[2] * 2
    assert in_common([make_passage("a", ours, 130, 50)], [make_passage("b", theirs, 130, 50)]) == [False]


def brute_force(ours: Passage, theirs: Passage) -> bool:
    need = max(ours.window, theirs.window)
    return any(ours.text[at : at + need] in theirs.text for at in range(len(ours.text) - need + 1))


made = st.builds(
    lambda text, tokens: make_passage("p", text, tokens, 4),
    st.text("ab", min_size=4, max_size=40),
    st.integers(4, 12),
)


@given(ours=st.lists(made, max_size=4), theirs=st.lists(made, max_size=4))
@settings(max_examples=300, deadline=None)
def test_overlap_agrees_with_brute_force(ours, theirs):
    assert in_common(ours, theirs) == [any(brute_force(p, other) for other in theirs) for p in ours]


def counts(share, low, high):
    made = dict(report_cases.report()["budgets"][0])
    made |= {
        "extracted_share": share,
        "extracted_share_interval": {"estimate": share, "low": low, "high": high},
    }
    return BudgetCounts.model_validate(made)


def test_the_interval_of_a_difference_follows_from_both_intervals():
    found = share_difference(counts(0.10, 0.07, 0.14), counts(0.25, 0.20, 0.31))
    assert found.estimate == pytest.approx(0.15)
    assert found.low == pytest.approx(0.15 - math.hypot(0.05, 0.04))
    assert found.high == pytest.approx(0.15 + math.hypot(0.06, 0.03))


def test_a_difference_without_intervals_says_so():
    bare = counts(0.1, 0.0, 0.2).model_copy(update={"extracted_share_interval": None})
    found = share_difference(bare, counts(0.2, 0.1, 0.3))
    assert (found.low, found.high) == (None, None) and "no interval" in found.flag
    nothing = bare.model_copy(update={"extracted_share": None})
    assert share_difference(nothing, bare).reason == "a run generated nothing"


def test_counts_differ_with_the_interval_that_follows_from_theirs(two_runs, tmp_path):
    for run, low, high in zip(two_runs, (2900, 2950), (3200, 3150), strict=True):
        report = json.loads((run / "report.json").read_text())
        interval = {"estimate": 3024.0, "low": low, "high": high}
        report["budgets"][0]["count_intervals"] = {}
        report["budgets"][-1]["count_intervals"] = {"distinct_windows": interval}
        (run / "report.json").write_text(json.dumps(report))
    data, html = compared(two_runs, tmp_path / "out")
    found = data["budgets"][-1]["differences"][0]["intervals"]["distinct_windows"]
    assert found["estimate"] == 0
    assert found["low"] == pytest.approx(-math.hypot(74, 176))
    assert found["high"] == pytest.approx(math.hypot(126, 124))
    assert "\u2212191 to +177" in Page(html).text
    assert data["budgets"][0]["differences"][0]["intervals"] == {}


def curve(*points):
    zero = {"requests": 1, "private_windows": 0, "distinct_passages": 0, "private_passages": 0}
    return [GrowthPoint(generated_tokens=x, distinct_windows=y, **zero) for x, y in points]


def test_curves_cross_where_the_lower_one_becomes_the_higher():
    first = curve((100, 10), (200, 20), (300, 30))
    assert crossing("B", first, curve((100, 20), (200, 24), (300, 26))).generated_tokens == [250]
    assert crossing("B", first, curve((150, 16), (300, 31))).generated_tokens == []
    assert crossing("B", first, first).generated_tokens == []
    assert crossing("B", first, []).reason == "a run has no growth curve"


def test_the_command_says_what_is_new_and_names_what_it_wrote(two_runs, tmp_path):
    app = Typer()
    app.command()(compare_command)
    result = CliRunner().invoke(app, [*map(str, two_runs), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    *said, first, second = result.stdout.splitlines()
    assert [first, second] == [str(tmp_path / "out" / name) for name in ("compare.json", "compare.html")]
    assert said[0] == "B gives back private text that A did not."
    assert said[1].startswith("B gave back 2 private passages that A did not, and 1 that A gave back too;")
