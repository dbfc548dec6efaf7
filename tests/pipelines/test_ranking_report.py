"""The report's section on the ranking: every number of it stands in the report, and what beats chance is said."""

import copy

import numpy as np
import pytest

from extraction.errors import InputError
from extraction.ranking.scores import SCORES
from pipelines.rank.calibration import calibration
from pipelines.rank.scored import ScoreColumns
from pipelines.report import parse_report, render_report
from pipelines.report.ranking import better_than_random
from tests.pipelines import report_cases
from tests.pipelines.page_reading import Page, unexplained

COUNTS = {"candidates": 100, "checked": 81, "unsure": 6, "confirmed": 37}
RATE = {"estimate": 37 / 81, "low": 0.353, "high": 0.565, "method": "Wilson"}


def ranking():
    """Of 1,400 generations 140 repeat the corpus; one score puts them first, one last, the others anywhere."""
    rng = np.random.default_rng(2)
    hits = np.arange(1400) < 140
    scores = {name: rng.random(1400) for name in SCORES}
    scores |= {"reference": hits + scores["reference"], "zlib": scores["zlib"] - hits}
    scores["window_zlib"][:] = np.nan
    columns = ScoreColumns(
        families=["empty"],
        family=np.zeros(1400, np.int32),
        scores=scores,
        missing=dict.fromkeys(SCORES, 0) | {"window_zlib": 1397},
        not_a_number=dict.fromkeys(SCORES, 0) | {"window_zlib": 3},
    )
    picked = {name: np.argsort(-values)[:100].tolist() for name, values in scores.items()}
    picked["window_zlib"] = []
    return {
        "reference": "base",
        "generations": 1400,
        "skipped_records": 0,
        "candidates": 611,
        "picked_by_score": {name: len(rows) for name, rows in picked.items()},
        "without_score": columns.missing,
        "not_a_number": columns.not_a_number,
        "picking": {"count": 100, "among": 1000, "seed": 0},
        "direction": "higher is more suspicious in every score",
        "calibration": calibration(columns, picked, hits),
        "confirmed": None,
        "limitations": ["A candidate is only suspicious."],
    }


@pytest.fixture
def report():
    return report_cases.report() | {"ranking": ranking()}


def confirmed():
    counts = COUNTS | {"share": RATE}
    return {"note": "of those checked", "all": counts, "by_score": dict.fromkeys(SCORES, counts)}


def page(report, folder):
    return render_report(report, folder)[0].read_text(encoding="utf-8")


def test_every_number_of_the_section_stands_in_the_report(report, tmp_path):
    assert unexplained(page(report, tmp_path), report) == set()
    report["ranking"]["confirmed"] = confirmed()
    html = page(report, tmp_path)
    assert unexplained(html, report) == set()
    assert "37 of 81 candidates checked were confirmed; of 6 nobody could tell" in Page(html).text


def test_the_scores_that_beat_a_random_choice_are_named_with_by_how_much(report):
    sentences = better_than_random(parse_report(report).ranking)
    assert [sentence.split(",")[0] for sentence in sentences] == [
        f"Among the first {depth}" for depth in ("10", "100", "1")
    ]
    assert "beside the reference model (10 times)" in sentences[1]
    assert "compression" not in sentences[1]


def test_precision_stands_beside_that_of_a_random_choice(report):
    judged = report["ranking"]["calibration"]["by_score"]
    assert judged["window_zlib"] is None
    hundred = judged["reference"]["at"][1]
    assert (hundred["depth"], hundred["precision"]["estimate"], hundred["recall"]) == (100, 1.0, 100 / 140)
    assert hundred["random"]["estimate"] == 0.1
    assert 0.03 < hundred["random"]["low"] < 0.1 < hundred["random"]["high"] < 0.17
    assert judged["zlib"]["at"][1]["precision"]["estimate"] == 0.0
    assert judged["reference"]["among_candidates"]["repeating"] == 100
    assert judged["reference"]["among_candidates"]["share"]["low"] > 0.9


def test_without_a_ranking_there_is_no_section(tmp_path):
    assert 'id="ranking"' not in page(report_cases.report(), tmp_path)


def test_a_hostile_name_of_a_reference_is_inert(report, tmp_path):
    plain = Page(page(report, tmp_path / "plain"))
    hostile = copy.deepcopy(report)
    hostile["ranking"]["reference"] = "<script>alert(1)</script>"
    found = Page(page(hostile, tmp_path / "hostile"))
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in plain.tags]


def test_a_misspelt_field_of_it_is_refused(report):
    report["ranking"]["calibration"]["by_scores"] = {}
    with pytest.raises(InputError, match=r"ranking\.calibration\.by_scores"):
        parse_report(report)
