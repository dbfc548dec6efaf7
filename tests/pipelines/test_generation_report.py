"""What a report says of how text was generated: short repetitions, servers, reruns, stop strings."""

import pytest

from pipelines.report import build_limitations, render_report
from pipelines.report.words import setting
from tests.pipelines import report_cases


def limitations(family="repeat", max_tokens=1024, tokenised_again=None):
    made = report_cases.report()
    made["method"]["prompt_families"]["repeat"] |= {"kind": family, "max_tokens": max_tokens}
    if tokenised_again is not None:
        made["method"]["engine"]["tokenised_again"] = tokenised_again
    return build_limitations(made)


@pytest.mark.parametrize(("tokens", "warned"), [(1, True), (499, True), (500, False), (1024, False)])
def test_short_repetitions_are_a_limitation(tokens, warned):
    found = [s for s in limitations(max_tokens=tokens) if "repeat a word were short" in s]
    assert bool(found) == warned
    assert not warned or f"repeat ({tokens} tokens)" in found[0]


def test_short_generations_of_other_prompts_are_none():
    assert not any("were short" in s for s in limitations("public", max_tokens=10))


def test_text_without_token_ids_is_counted_and_said_to_be_tokenised_again():
    (said,) = [s for s in limitations(tokenised_again=1200) if "tokenised again" in s]
    assert said.startswith("1,200 generations came as text without token ids")
    assert not any("tokenised again" in s for n in (None, 0) for s in limitations(tokenised_again=n))


@pytest.mark.parametrize(("sample", "words"), [(40, "97.5\u202f% of 40 gave"), (None, "97.5\u202f% gave")])
def test_the_page_says_how_many_requests_were_run_again(tmp_path, sample, words):
    made = report_cases.report()
    made["method"] |= {"rerun_agreement": 0.975, "rerun_requests": sample}
    render_report(made, tmp_path)
    assert words in (tmp_path / "report.html").read_text()


def test_stop_strings_of_blanks_are_written_so_that_they_can_be_seen():
    assert setting(["User:", "\n\n", " "]) == r"User:, '\n\n', ' '"
