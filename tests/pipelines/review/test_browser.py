"""A review in a real browser, by mouse and by keyboard, at a desk and on a telephone.

With EXTRACTION_PICTURES=FOLDER the pictures are kept there. With AXE=axe.min.js (from the npm package axe-core) the
pages are checked for accessibility too.
"""

import os
from pathlib import Path

import pytest

from tests.pipelines.review import cases
from tests.pipelines.review.test_hostile import HOSTILE
from tests.pipelines.review.test_serve import serving

pytestmark = pytest.mark.browser
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    run = cases.write_run(tmp_path_factory.mktemp("served") / "run", _many())
    cases.write_index(run)
    with serving(run, "--include-text") as (_, address, token):
        yield address, token


def _many():
    letters = [
        cases.passage(
            f"e{number:02d}",
            f"Dear Ms Whitcombe, your account number 20481377 was closed on day {number} of the month. Please call.",
            identifier_types=["ACCOUNT_NUMBER", "PERSON"],
            document_count=1 + number % 2,
            families=["public"] if number % 3 else ["empty"],
            first_budget=10_000 if number % 2 else 20_000,
        )
        for number in range(60)
    ]
    return [*cases.PASSAGES, *letters]


@pytest.fixture
def opened(browser, served):
    contexts = []

    def open_page(size="desktop", at=served, **options):
        address, token = at
        width, height = SIZES[size]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.on("pageerror", lambda error: page.seen.append(str(error)))
        page.on(
            "request", lambda r: None if r.url.startswith((address, "data:")) else page.seen.append(r.url)
        )
        page.goto(address)
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{address}/")
        return page

    yield open_page
    for context in contexts:
        context.close()


def fits(page, size):
    return page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


@pytest.mark.parametrize("size", SIZES)
def test_a_review_by_mouse(opened, size):
    page = opened(size)
    assert fits(page, size)
    if size == "phone":
        page.get_by_text("Filters").click()
    page.get_by_label("shared passage").check()
    page.wait_for_url("**/?kind=shared*")
    page.locator("a.row").click()
    page.wait_for_url("**/items/c1?kind=shared*")
    page.go_back()
    page.wait_for_url("**/?kind=shared*")
    page.get_by_role("link", name="Clear all").click()
    page.locator("h1", has_text="66 items").wait_for()
    page.locator("a.row").first.click()
    page.wait_for_selector("nav.steps")
    assert fits(page, size) and "Whitcombe" not in page.content()
    page.get_by_label("Reason to reveal it").fill("a customer asked for it")
    page.get_by_role("button", name="Reveal").click()
    page.wait_for_selector(".text.revealed")
    assert "Ms Whitcombe" in page.locator("mark").inner_text()
    before = page.url
    page.get_by_label("private finding").check()
    page.get_by_label("Action").select_option("remove")
    page.get_by_role("button", name="Save and go on").click()
    page.wait_for_function("url => location.href !== url", arg=before)
    assert page.locator(".text.revealed").count() == 0
    page.get_by_role("link", name="Progress").click()
    page.wait_for_url("**/progress")
    assert fits(page, size)
    assert page.seen == []  # no error, no refusal by the policy, no request to anywhere else


@pytest.mark.parametrize("size", SIZES)
def test_a_review_by_keyboard(opened, size):
    page = opened(size)
    page.keyboard.press("/")
    page.keyboard.type("wound")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=wound*")
    page.locator("h1", has_text="2 items").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector("nav.steps")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_function("url => location.href !== url", arg=first)
    page.keyboard.press("k")
    page.wait_for_function("url => location.href === url", arg=first)
    page.wait_for_selector("nav.steps")
    page.keyboard.press("r")
    page.keyboard.type("to read the letter")
    page.keyboard.press("Enter")
    page.wait_for_selector(".text.revealed")
    assert "Tomas Hale" in page.locator("mark").inner_text()
    page.keyboard.press("c")
    assert page.locator("#scope").is_checked()
    page.keyboard.press("3")
    assert page.locator("input[value=boilerplate]").is_checked()
    page.keyboard.press("Enter")
    page.wait_for_function("url => location.href !== url", arg=first)
    page.keyboard.press("u")
    page.wait_for_url("**/?q=wound*")
    page.wait_for_selector("a.row")
    assert page.locator(".outcome.is-boilerplate").count() == 2  # the whole cluster
    assert page.seen == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    rows = [cases.passage(f"h{n}", text, document_ids=[text[:80]]) for n, text in enumerate(HOSTILE.values())]
    run = cases.write_run(tmp_path_factory.mktemp("hostile") / "run", rows)
    with serving(run) as (_, address, token):
        yield address, token


@pytest.mark.parametrize("size", SIZES)
def test_hostile_texts_do_nothing_in_a_browser(opened, hostile, size):
    page = opened(size, at=hostile)
    page.on("dialog", lambda dialog: page.seen.append(dialog.message))
    assert fits(page, size)
    for number in range(len(HOSTILE)):
        page.goto(f"{hostile[0]}/items/h{number}")
        assert fits(page, size)
        page.get_by_label("Reason to reveal it").fill("to look at it")
        page.get_by_role("button", name="Reveal").click()
        page.wait_for_selector(".text.revealed")
        assert fits(page, size)
        assert page.locator(".text.revealed :not(mark)").count() == 0  # text alone, no element of its own
    assert page.seen == []


def test_going_back_shows_no_revealed_text_and_the_browser_keeps_none(opened):
    page = opened()
    page.goto(page.url + "items/a1")
    page.get_by_label("Reason to reveal it").fill("a customer asked for it")
    page.get_by_role("button", name="Reveal").click()
    page.wait_for_selector(".text.revealed")
    page.get_by_role("link", name="Progress").click()
    page.wait_for_url("**/progress")
    page.go_back()
    page.wait_for_selector("nav.steps")
    assert "Whitcombe" not in page.content()
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "Whitcombe" not in kept and "mark" not in kept


def test_it_works_without_scripts(opened):
    page = opened(java_script_enabled=False)
    page.get_by_label("shared passage").check()
    page.get_by_role("button", name="Apply").click()
    page.locator("a.row").click()
    page.get_by_label("public text").check()
    page.get_by_role("button", name="Save and go on").click()
    assert page.url.endswith("/?kind=shared")


def test_an_export_is_downloaded(opened):
    page = opened()
    page.get_by_role("link", name="Progress").click()
    page.wait_for_url("**/progress")
    with page.expect_download() as found:
        page.get_by_role("button", name="verdicts.csv").click()
    assert found.value.suggested_filename == "verdicts.csv"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "items/a1", "items/b1", "progress", "login", "items/none"])
def test_axe_finds_nothing(violations, opened, path, scheme):
    page = opened(color_scheme=scheme, bypass_csp=True)
    page.goto(page.url + path)
    assert violations(page) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "path"), [("list", ""), ("item", "items/a1"), ("progress", "progress")])
def test_pictures_for_the_readme(opened, tmp_path, name, path, size):
    page = opened(size, device_scale_factor=1 if size == "desktop" else 2)
    page.goto(page.url + path)
    file = Path(os.environ.get("EXTRACTION_PICTURES", tmp_path)) / f"review-{name}-{size}.png"
    page.screenshot(path=file)
    assert file.stat().st_size < 300_000
