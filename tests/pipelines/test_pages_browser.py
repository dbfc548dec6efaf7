"""The pages in a real browser: they fit a desk and a telephone, fetch nothing, and need no mouse.

With EXTRACTION_PICTURES=FOLDER the pictures are kept there, with EXTRACTION_REPORT=report.json they show that report.
With AXE=axe.min.js (from the npm package axe-core) the pages are checked for accessibility too.
"""

import os
from pathlib import Path

import pytest

from extraction.dp_audit import one_run_bound
from pipelines.canaries.audit import audit_record, write_audit
from pipelines.canaries.page import exposures_page
from pipelines.compare import compare_runs
from pipelines.gate import run_gate
from pipelines.prefix.page import prefix_page
from pipelines.report import read_report, render_report
from pipelines.report.pages import write_page
from tests.pipelines import canary_cases, prefix_record, report_cases

pytestmark = pytest.mark.browser
NAMES = ("report", "nothing", "compare", "gate", "canaries", "audit", "prefix", "prefix-nothing")
POLICY = Path(__file__).parents[2] / "configs" / "policy.yaml"
SIZES = {"desktop": (1280, 1400), "phone": (390, 844)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    long = report_cases.report()
    long["method"]["model"]["name"] = "models/" + "a-very-long-name-" * 12
    runs = [
        report_cases.write_run(folder / name, made, [(name, "private", name * 40, 60)])
        for name, made in (("first", report_cases.report()), ("second", long))
    ]
    return {
        "report": render_report(report_cases.report(), folder / "report")[0],
        "long": render_report(long, folder / "long")[0],
        "nothing": render_report(report_cases.nothing_found(), folder / "nothing")[0],
        "compare": compare_runs(runs, folder / "compare")[1],
        "gate": run_gate(runs[0], POLICY)[1][1],
        "canaries": write_page(folder / "exposures.html", exposures_page(canary_cases.record())),
        "prefix": write_page(folder / "prefix.html", prefix_page(prefix_record.record())),
        "prefix-nothing": write_page(folder / "none.html", prefix_page(prefix_record.nothing_asked())),
        "audit": write_audit(audit_record("one-run", one_run_bound(99, 50, 50, 1e-5, 0.05), 1.0, {}), folder)[
            1
        ],
    }


@pytest.fixture
def opened(browser):
    contexts = []

    def open_page(path, size, **options):
        width, height = SIZES[size]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.on("request", lambda request: page.seen.append(request.url))
        page.goto(path.as_uri())
        page.seen.remove(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [*NAMES, "long"])
def test_a_page_fits_and_fetches_nothing(opened, pages, name, size):
    page = opened(pages[name], size)
    assert page.seen == []  # neither a request nor a refusal by the policy
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    shown = page.evaluate(
        "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0).length"
    )
    assert shown == page.locator("figure").count()


def test_figures_follow_light_and_dark(opened, pages):
    colours = {
        scheme: opened(pages["report"], "desktop", color_scheme=scheme).evaluate(
            "getComputedStyle(document.querySelector('.growth-wide .stroke-private')).stroke"
        )
        for scheme in ("light", "dark")
    }
    assert colours["light"] != colours["dark"]


def test_a_hostile_name_is_only_text(opened, pages):
    page = opened(pages["prefix"], "desktop")
    assert page.seen == []
    assert page.locator("script, img").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every(e => !/evil/.test([...e.attributes].map(a => a.value)))"
    )
    assert prefix_record.HOSTILE in page.locator("header strong").text_content()


def test_sentences_that_a_model_cannot_read_to_their_end_are_told(opened, pages):
    page = opened(pages["prefix"], "desktop")
    told = page.locator("section", has=page.locator("#games")).text_content()
    assert "3 sentences are longer than the control reads" in " ".join(told.split())


def test_the_keyboard_reaches_the_result_and_every_wide_table(opened, pages):
    page = opened(pages["report"], "phone")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the result"
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0


def test_print_shows_the_numbers_behind_the_figures(opened, pages):
    page = opened(pages["report"], "desktop")
    page.emulate_media(media="print")
    assert page.locator("details table").first.evaluate("t => t.getBoundingClientRect().height") > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing(violations, opened, pages, name, scheme):
    page = opened(pages[name], "desktop", color_scheme=scheme, bypass_csp=True)
    assert violations(page) == []


@pytest.mark.parametrize("size", SIZES)
def test_pictures_for_the_readme(opened, tmp_path, size):
    report = os.environ.get("EXTRACTION_REPORT")
    shown = read_report(Path(report).parent) if report else report_cases.report()
    page = render_report(shown, tmp_path)[0]
    path = Path(os.environ.get("EXTRACTION_PICTURES", tmp_path)) / f"report-{size}.png"
    opened(page, size, device_scale_factor=1 if size == "desktop" else 2).screenshot(path=path)
    assert path.stat().st_size < 300_000
