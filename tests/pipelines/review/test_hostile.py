"""Hostile text and names are shown as what they are, and do nothing."""

import html
import json
import re

import pytest

from pipelines.review import log
from tests.pipelines.review import cases
from tests.pipelines.review.cases import browser

HOSTILE = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>" + "a" * 60,
    "attribute": "\"' onmouseover=alert(1) x='" + "b" * 60,
    "template": "{{ 1234 * 5678 }} {% raw %} ${1234*5678}" + "c" * 60,
    "override": "left \u202e right \u2066 \u200f" + "d" * 60,
    "escape": "\x1b[2J\x1b]0;x\x07 \x9b31m" + "e" * 60,
    "nul": "a\0b" + "f" * 60,
    "long": "g" * 1_000_000,
    "htmx": "<div hx-get='/logout' hx-trigger='load'>" + "h" * 60,
}
INVISIBLE = "\u202e\u2066\u200f\x1b\x07\x9b\0"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_inert(tmp_path, name):
    rows = [cases.passage("h1", HOSTILE[name], identifier_types=["<b>x</b>"], families=["<i>f</i>"])]
    client = browser(cases.write_run(tmp_path / "hostile", rows), "rosa")
    answers = [
        client.get("/"),
        client.get("/items/h1"),
        client.submit("/items/h1/reveal", reason="to look at it"),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert not set(INVISIBLE) & set(answer.text)
        assert len(answer.text) < 100_000
        for markup in ("<script>alert", "<img", "<div hx", "<b>x", "<i>f", "' onmouseover", "7006652"):
            assert markup not in answer.text.replace(client.csrf, "")


def test_hostile_notes_are_inert_too(run):
    client = browser(run, "rosa")
    client.submit("/items/a1/verdict", verdict="private", note="</textarea><script>x</script>\u202e")
    page = client.get("/items/a1").text
    assert "<script>x" not in page and "\u202e" not in page


def test_hostile_document_ids_are_inert_and_can_be_asked_for(tmp_path):
    name = '\u202edoc\x1b"><b>\0'
    rows = [cases.passage("a1", cases.LETTER, document_ids=[name])]
    client = browser(cases.write_run(tmp_path / "ids", rows), "rosa")
    page = client.get("/items/a1").text
    assert (
        not set(INVISIBLE) & set(page)
        and "<b>" not in page.split("<main", 1)[1].split("Training documents")[1]
    )
    chosen = page.split('<select name="document">')[1]
    shown = html.unescape(re.search(r'<option value="([^"]*)"', chosen).group(1))
    answer = client.submit("/items/a1/excerpt", document=shown, reason="whose letter is it")
    assert "index is not here" in answer.text  # it was known; there is no index to read it from
    assert json.loads(log.entries(client.review.store)[-1].details)["document"] == name
