import base64
import copy
import hashlib
import re

import pytest
from huggingface_hub import ModelCard
from typer import Typer
from typer.testing import CliRunner

from extraction.errors import InputError
from pipelines.commands.closing import in_words
from pipelines.commands.report import report as report_command
from pipelines.report import build_limitations, parse_report, read_report, render_report
from pipelines.report.verdict import verdict_of
from pipelines.report.words import count
from tests.pipelines import report_cases
from tests.pipelines.page_reading import Page, unexplained

HOSTILE = (
    "</title><script>alert(1)</script><img src=x onerror=alert(1)> $\\frac{ \"' `x` "
    "[a](javascript:1) | # {{ 7*7 }}"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    render_report(report_cases.report(), folder)
    return folder


def html_of(report, folder):
    return render_report(report, folder)[0].read_text(encoding="utf-8")


def test_every_number_on_the_page_stands_in_the_report(pages):
    html = (pages / "report.html").read_text(encoding="utf-8")
    assert unexplained(html, report_cases.report()) == set()
    assert unexplained(html.replace("</main>", "<p>4,711</p></main>"), report_cases.report()) == {"4,711"}


def test_every_number_in_the_card_stands_in_the_report(pages):
    card = (pages / "model_card.md").read_text(encoding="utf-8")
    assert unexplained(card.split("---", 2)[2], report_cases.report()) == set()


def test_the_page_needs_nothing_from_outside_and_runs_nothing(pages):
    page = Page((pages / "report.html").read_text(encoding="utf-8"))
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object", "embed", "form", "base")
        assert "style" not in attributes  # the policy forbids it, so it would not show
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))


def test_no_id_stands_twice_on_the_page(pages):
    page = Page((pages / "report.html").read_text(encoding="utf-8"))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 100
    named = {a["aria-describedby"] for _, a in page.tags if "aria-describedby" in a}
    used = {a["href"][1:] for _, a in page.tags if (a.get("href") or "").startswith("#")}
    clips = {a["clip-path"][5:-1] for _, a in page.tags if "clip-path" in a}
    assert named and used and clips and named | used | clips <= set(ids)


def test_the_policy_allows_the_style_sheet_alone(pages):
    html = (pages / "report.html").read_text(encoding="utf-8")
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [
        a["content"] for tag, a in Page(html).tags if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def report_named(name):
    """A report in which every name that comes from outside is `name`."""
    report = report_cases.report()
    report["method"]["model"]["name"] = report["method"]["corpus"]["name"] = name
    report["control"]["model"] = report["control_text"]["name"] = report["run"]["id"] = name
    report["run"]["commands"] = report["limitations"] = [name]
    report["method"]["sampling"] = {name: {"value": name, "origin": name}}
    for table in (report["families"], report["growth"], report["method"]["prompt_families"]):
        table[name] = table.pop("repeat")
    for counts in report["budgets"]:
        counts["identifiers"] = {name: counts["identifiers"]["EMAIL"]}
    return report


def test_names_with_markup_are_inert(tmp_path):
    expected = Page(html_of(report_named("plain"), tmp_path / "plain"))
    found = Page(html_of(report_named(HOSTILE), tmp_path / "hostile"))
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in expected.tags]
    assert [set(attributes) for _, attributes in found.tags] == [
        set(attributes) for _, attributes in expected.tags
    ]
    assert "<script>alert(1)</script>" in found.text  # as words


def test_a_card_with_hostile_names_is_inert_and_still_reads_back(tmp_path):
    text = render_report(report_named(HOSTILE), tmp_path)[1].read_text(encoding="utf-8")
    card = ModelCard(text)
    assert card.data.model_name == HOSTILE.replace("<", "\u2039").replace(">", "\u203a")
    front = text.split("\n---\n")[0]
    assert "img src" in front and not re.search("[<>]", front)
    assert {result.dataset_name for result in card.data.eval_results} == {card.data.model_name}
    assert not re.search(r"<(script|img|/title)|(?<!\\)\]\(|(?<!\\)`", card.text)


def test_the_card_validates_and_holds_the_largest_budget(pages):
    card = ModelCard.load(pages / "model_card.md")
    results = {result.metric_type: result.metric_value for result in card.data.eval_results}
    last = report_cases.report()["budgets"][-1]
    assert results == {name: last[name] for name in results}
    assert {"extracted_share", "private_passages", "private_windows", "identifiers_in_corpus"} <= set(results)
    for sentence in report_cases.report()["limitations"]:
        assert sentence in card.text.replace("\\", "")


def test_equal_reports_give_equal_bytes(pages, tmp_path):
    for path in render_report(report_cases.report(), tmp_path):
        assert path.read_bytes() == (pages / path.name).read_bytes()


def test_pages_are_for_their_owner_alone(pages):
    assert {(pages / name).stat().st_mode & 0o077 for name in ("report.html", "model_card.md")} == {0}


def test_a_null_estimate_shows_its_reason(tmp_path):
    report = report_cases.report()
    reason = "fewer than two requests hit"
    report["families"]["public"][-1]["unseen_mass"] = {"estimate": None, "reason": reason}
    text = Page(html_of(report, tmp_path)).text
    assert f"public, chance of a new window: none, {reason}." in text


def test_a_null_without_a_reason_is_refused():
    report = report_cases.report()
    report["budgets"][0]["chao2_windows"] = {"estimate": None}
    with pytest.raises(InputError, match=r"budgets\.0\.chao2_windows.*a null estimate needs a reason"):
        parse_report(report)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value):
    report = report_cases.report()
    report["budgets"][0]["extracted_share"] = value
    with pytest.raises(InputError, match="budgets.0.extracted_share"):
        parse_report(report)


def test_a_misspelt_field_is_refused_in_one_line_without_its_value():
    report = report_cases.report()
    report["budgets"][0]["private_window"] = "leaked text"
    with pytest.raises(InputError, match=r"budgets\.0\.private_window") as raised:
        parse_report(report)
    assert "leaked" not in str(raised.value) and "\n" not in str(raised.value)


def test_private_text_is_said_first():
    verdict = verdict_of(parse_report(report_cases.report()))
    assert (verdict.level, verdict.kicker) == ("private", "Private text found")
    assert "29 of them are private" in verdict.sentences[0]
    assert any("gave back none of the private passages" in sentence for sentence in verdict.sentences)


def test_identifiers_are_named_for_people_and_add_up(pages):
    verdict = verdict_of(parse_report(report_cases.report()))
    kinds = "full name: 23, account number: 9, phone number: 8, email address: 1"
    assert f"41 identifiers of the corpus came out ({kinds})." in verdict.sentences
    assert any(s.startswith("37 single first names or surnames of the corpus") for s in verdict.sentences)
    assert "says little by itself" in Page((pages / "report.html").read_text()).text


def test_single_names_alone_are_not_called_identifiers():
    report = report_cases.report()
    for counts in report["budgets"]:
        counts["identifiers_in_corpus"] = 0
        counts["identifiers"] = {"PERSON_SINGLE": counts["identifiers"]["PERSON_SINGLE"]}
    sentences = verdict_of(parse_report(report)).sentences
    assert "No identifier that the model wrote was found in the corpus, single names apart." in sentences
    assert in_words(report)[2].startswith(
        "0 names and numbers that came out stand in the training text, and 37 "
    )


def test_the_chance_level_stands_beside_every_type_for_each_budget_and_family(tmp_path):
    report = report_cases.report()
    rows = [*report["budgets"], *(row for rows in report["families"].values() for row in rows)]
    for number, row in enumerate(rows):
        row["identifiers"] = {
            "PHONE": {"tagged": 9000 + number, "in_corpus": 8000 + number, "private": 7000 + number}
            | {"chance": 6000 + number, "in_control_text": 5000 + number}
        }
    text = Page(html_of(report, tmp_path / "with")).text
    shown = [count(base + number) for base in (9000, 8000, 7000, 6000, 5000) for number in range(len(rows))]
    assert len(rows) == 12 and not [one for one in shown if one not in text]
    report["control_text"] = None
    for row in rows:
        row["identifiers"]["PHONE"]["in_control_text"] = None
    assert "5,000" not in Page(html_of(report, tmp_path / "without")).text


def test_shared_text_alone_is_not_called_private():
    report = report_cases.report()
    for counts in report["budgets"]:
        counts |= {"private_windows": 0, "private_passages": 0}
    verdict = verdict_of(parse_report(report))
    assert verdict.level == "shared"
    assert "none found is private" in verdict.heading


def test_nothing_found_is_never_worded_as_safe(tmp_path):
    report = report_cases.nothing_found()
    verdict = verdict_of(parse_report(report))
    assert verdict.heading == "No training text was found at this effort."
    assert (
        "This does not show that the model is safe: more sampling, or other prompts, can bring text out."
        in (verdict.sentences)
    )
    assert any("at most 0.230" in sentence for sentence in verdict.sentences)  # the upper bound, not 0
    assert any("not a rate of zero" in sentence for sentence in build_limitations(report))
    html = html_of(report, tmp_path)
    assert unexplained(html, report) == set()
    assert not re.search(r"\b(is|are) safe\b(?!: more)|no risk|clean|passed", Page(html).text)


@pytest.mark.parametrize("made", [report_cases.report, report_cases.nothing_found])
def test_an_incomplete_run_is_said_first_and_never_clean(made, tmp_path):
    report = report_cases.incomplete(made())
    report["limitations"] = build_limitations(report)
    verdict = verdict_of(parse_report(report))
    assert verdict.level == "incomplete" and "incomplete" in verdict.heading
    assert "corpus records that could not be read (37)" in verdict.sentences[0]
    assert report["limitations"][0].startswith(
        "The run is incomplete: corpus records that could not be read (37)"
    )
    paths = render_report(report, tmp_path)
    assert Page(paths[0].read_text()).text.count("Incomplete run") >= 1
    assert all("(incomplete run)" in r.metric_name for r in ModelCard.load(paths[1]).data.eval_results)


def test_incomplete_without_a_reason_and_complete_with_one_are_refused():
    for status, reasons in (("incomplete", []), ("complete", [{"reason": "x", "count": 1}])):
        with pytest.raises(InputError, match="incomplete"):
            parse_report(report_cases.report() | {"status": status, "incomplete": reasons})


def test_nothing_generated_is_no_result(tmp_path):
    report = report_cases.nothing_found()
    for counts in (*report["budgets"], *(c for rows in report["families"].values() for c in rows)):
        counts |= {"generated_tokens": 0, "extracted_share": None, "reached": False}
        counts["extracted_share_interval"] = {"estimate": None, "reason": "nothing was generated"}
    assert verdict_of(parse_report(report)).level == "none"
    results = ModelCard.load(render_report(report, tmp_path)[1]).data.eval_results
    assert "extracted_share" not in {result.metric_type for result in results}


def test_a_missing_control_says_what_cannot_be_claimed(tmp_path):
    report = report_cases.report() | {"control": None, "control_text": None}
    report["limitations"] = build_limitations(report)
    text = Page(html_of(report, tmp_path)).text
    assert "There is no control model. So it cannot be claimed" in text
    assert "it was not measured how often a match arises by chance" in text
    assert "There was no control model" in " ".join(verdict_of(parse_report(report)).sentences)


def test_text_that_the_control_gives_back_too_is_told_apart():
    report = report_cases.report()
    report["control"]["shared"][-1]["private_passages"] = 4
    report["control"]["not_in_control"][-1]["private_passages"] = 25
    sentences = " ".join(verdict_of(parse_report(report)).sentences)
    assert "gave back 4 private passages of these too; 25 came from the tested model alone" in sentences


def test_a_match_by_chance_is_not_hidden():
    report = report_cases.report()
    report["control_text"]["only_here"] = 3
    assert "some matches arise by chance" in " ".join(verdict_of(parse_report(report)).sentences)


def test_both_growth_figures_are_drawn_with_their_intervals(tmp_path):
    report = report_cases.report()
    html = html_of(report, tmp_path / "all")
    assert html.count('class="growth-wide"') == html.count('class="growth-narrow"') == 2
    for growth in report["growth"].values():
        growth |= {"rarefied_passages": [], "extrapolated_passages": []}
    bare = html_of(report, tmp_path / "bare")
    windows, passages = (page.split('class="growth-wide"')[1:] for page in (html, bare))
    assert windows[0].split("</svg>")[0] == passages[0].split("</svg>")[0]
    assert windows[1].split("</svg>")[0] != passages[1].split("</svg>")[0]


def test_a_warning_that_all_estimates_of_a_family_share_is_said_once(tmp_path):
    report = report_cases.report()
    row, flag = report["families"]["repeat"][-1], "one request holds all"
    for name in ("unseen_mass", "chao2_windows", "unseen_mass_passages", "chao2_passages"):
        row[name]["flag"] = flag
    growth = report["growth"]["repeat"]
    growth["extrapolated"][0]["flag"] = growth["extrapolated_passages"][0]["flag"] = flag
    assert "repeat: take with care, one request holds all." in Page(html_of(report, tmp_path)).text


def test_estimates_of_passages_stand_beside_those_of_windows(tmp_path):
    report = report_cases.report()
    row = report["families"]["empty"][-1]
    row["chao2_passages"] = {"estimate": 4321.0, "low": 4000.0, "high": 5000.0, "flag": "few requests hit"}
    html = html_of(report, tmp_path)
    assert "4,321" in Page(html).text and unexplained(html, report) == set()
    assert "empty, lower bound of passages: take with care, few requests hit." in Page(html).text


def test_the_floor_of_matches_by_chance_is_shown_by_length(tmp_path):
    report = report_cases.report()
    report["control_text"]["by_length"][0] |= {"matches": 1234, "only_here": 1231}
    text = Page(html_of(report, tmp_path)).text
    assert "Different pieces of text by their length in tokens" in text
    assert "50\u201359 17 1,234 3 1,231 0 0\u2013152" in text


def test_bins_are_named_shortly_on_the_axis_and_empty_ones_at_the_end_left_out(tmp_path):
    report = report_cases.report()
    ends = [(1, 1), (2, 2), (101, 1000), (1001, 10_000), (10_001, None)]
    for filled in (5, 3):
        report["passages_by_document_count"] = [
            {"documents_from": a, "documents_to": b, "private": 0, "shared": int(n < filled)}
            for n, (a, b) in enumerate(ends)
        ]
        figure = html_of(report, tmp_path).split('class="documents-wide"')[1].split("</svg>")[0]
        assert ("1k\u201310k</text>" in figure, "&gt;10k</text>" in figure) == (filled == 5, filled == 5)
        assert "101\u20131k</text>" in figure


def test_limitations_follow_the_facts():
    report = report_cases.report()
    report["method"]["corpus"]["kind"] = "proxy"
    report["method"] |= {"round_trip_share": 0.9871, "identifier_types": []}
    report["budgets"][-1]["reached"] = False
    said = " ".join(build_limitations(report))
    assert "The corpus is a proxy" in said
    assert "gives back 98.7\u202f% of this corpus" in said
    assert "Identifiers were not looked for" in said
    assert "Not reached: the budget of 200,000 generated tokens" in said
    for always in ("lower bound", "Paraphrase", "given person's record", "No formal guarantee"):
        assert always in said
    report["method"] |= {"round_trip_share": None, "round_trip_reason": "the endpoint has no tokenizer"}
    assert "the endpoint has no tokenizer" in " ".join(build_limitations(report))


def test_what_the_model_was_trained_on_is_printed_where_it_is_not_the_corpus(tmp_path):
    report = report_cases.report()
    report["method"]["corpus"]["trained_on"] = "the deduplicated calls"
    said = [one for one in build_limitations(report) if "the deduplicated calls" in one]
    assert len(said) == 1 and "not on the corpus itself" in said[0]
    assert "Trained on the deduplicated calls" in Page(html_of(report, tmp_path)).text


def test_the_stored_limitations_are_those_of_the_facts():
    assert report_cases.report()["limitations"] == build_limitations(report_cases.report())


def test_the_command_makes_the_pages_again(tmp_path):
    run = report_cases.write_run(tmp_path / "run", report_cases.report(), [])
    app = Typer()
    app.command()(report_command)
    result = CliRunner().invoke(app, [str(run)])
    assert result.exit_code == 0
    assert result.stdout.split() == [str(run / "report.html"), str(run / "model_card.md")]


def test_a_run_without_a_report_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no report.json"):
        read_report(tmp_path)
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read_report(tmp_path)


def test_a_report_that_is_refused_leaves_no_file(tmp_path):
    broken = copy.deepcopy(report_cases.report())
    del broken["method"]["min_tokens"]
    with pytest.raises(InputError, match="method.min_tokens"):
        render_report(broken, tmp_path / "out")
    assert not (tmp_path / "out").exists()
