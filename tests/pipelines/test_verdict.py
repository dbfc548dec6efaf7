"""What the verdict says of names and numbers, which are shorter than a passage."""

import pytest

from pipelines.report import parse_report
from pipelines.report.verdict import verdict_of
from tests.pipelines import report_cases


def without_text(private):
    """A report without any window; a telephone number of the corpus came out, in few documents or in many."""
    report = report_cases.nothing_found()
    counts = {"tagged": 3, "in_corpus": 2, "private": private, "chance": 0, "in_control_text": 0}
    report["budgets"][-1] |= {"identifiers_in_corpus": 2, "identifiers": {"PHONE": counts}}
    return report


@pytest.mark.parametrize(("private", "level"), [(1, "private"), (0, "shared")])
def test_names_and_numbers_alone_are_not_called_nothing(private, level):
    verdict = verdict_of(parse_report(without_text(private)))
    assert (verdict.level, verdict.kicker) == (level, "Names or numbers found")
    assert "names or numbers from its training documents came out" in verdict.heading
    assert "2 identifiers of the corpus came out (phone number: 2)." in verdict.sentences
    rare = "Of these, in at most 2 documents each: phone number: 1."
    assert (rare in verdict.sentences) == bool(private)
    assert ("None of these stands in at most 2 documents." in verdict.sentences) == (not private)
    assert not any("at most 0.230" in sentence for sentence in verdict.sentences)


def test_single_names_are_no_finding():
    report = without_text(0)
    report["budgets"][-1]["identifiers_in_corpus"] = 0
    counts = {"tagged": 3, "in_corpus": 2, "private": 1, "chance": 0, "in_control_text": 0}
    report["budgets"][-1]["identifiers"] = {"PERSON_SINGLE": counts}
    assert verdict_of(parse_report(report)).level == "nothing"


def test_shared_text_does_not_hide_private_numbers():
    report = report_cases.report()
    for row in report["budgets"]:
        row |= {"private_windows": 0, "private_passages": 0}
    assert verdict_of(parse_report(report)).heading.endswith(
        "none found is private, names and numbers apart."
    )
    for counts in report["budgets"][-1]["identifiers"].values():
        counts["private"] = 0
    assert verdict_of(parse_report(report)).heading.endswith("none found is private.")
