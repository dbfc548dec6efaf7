import re

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from extraction.records import GENERATION_SCHEMA
from pipelines.parts import PartStore
from pipelines.review import log, pages
from pipelines.review.app import make_app
from pipelines.review.guard import HEADERS, Sites
from tests.pipelines.review import cases
from tests.pipelines.review.cases import PASSWORD, browser

SAID = {"verdict": "private", "action": "remove"}


def last(client):
    return log.entries(client.review.store)[-1]


def shows(text):
    return [secret for secret in cases.SECRETS if secret in text]


def test_nothing_is_shown_to_whoever_is_not_logged_in(run):
    client = cases.Browser(cases.opened(run))
    for path in ("/", "/progress", "/items/a1", "/?q=x"):
        answer = client.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    for path in ("/items/a1/reveal", "/items/a1/verdict", "/items/a1/excerpt", "/export", "/logout"):
        fields = {
            "csrf": "",
            "reason": "because of it",
            "verdict": "private",
            "kind": "verdicts.csv",
            "document": "x",
        }
        assert client.post(path, data=fields).status_code == 401
    assert client.get("/docs").status_code == client.get("/openapi.json").status_code == 404


def test_every_answer_carries_the_headers(run):
    client = browser(run, "rosa")
    paths = (
        "/",
        "/items/a1",
        "/items/none",
        "/login",
        "/static/review.css",
        "/static/htmx.min.js",
        "/nowhere",
    )
    for path in paths:
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    refused = client.get("/", headers={"host": "elsewhere.example"})
    assert refused.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert "script-src 'self'" in HEADERS["Content-Security-Policy"]


def test_the_cookie_is_for_this_site_and_no_script(run):
    client = cases.Browser(cases.opened(run))
    cookie = client.login("rosa").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie


def test_where_it_is_encrypted_the_cookie_goes_no_other_way(run):
    app = make_app(cases.opened(run), Sites(frozenset({"https://review.example"})))
    client = TestClient(app, base_url="https://review.example", headers={"origin": "https://review.example"})
    answer = client.post("/login", data={"name": "rosa", "secret": PASSWORD}, follow_redirects=False)
    assert answer.status_code == 303 and "Secure" in answer.headers["set-cookie"]
    assert client.get("/", headers={"host": "127.0.0.1:8765"}).status_code == 421


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8765", ""]
)
def test_other_hosts_are_refused(run, host):
    client = browser(run, "rosa")
    assert client.get("/", headers={"host": host}).status_code == 421
    assert client.get("/", headers={"host": "localhost:8765"}, follow_redirects=False).status_code in (
        200,
        303,
    )


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1:8766", "https://127.0.0.1:8765"]
)
def test_changes_from_other_sites_are_refused(run, origin):
    client = browser(run, "rosa")
    fields = {"csrf": client.csrf, **SAID}
    answer = client.post("/items/a1/verdict", data=fields, headers={"origin": origin})
    assert answer.status_code == 403
    assert (
        client.post(
            "/login", data={"name": "rosa", "secret": PASSWORD}, headers={"origin": origin}
        ).status_code
        == 403
    )
    assert client.review.store.rows("SELECT count(*) FROM verdicts") == [(0,)]


@pytest.mark.parametrize("secret", [None, "", "wrong"])
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/items/a1/verdict", SAID),
        ("/items/a1/reveal", {"reason": "a customer asked"}),
        ("/items/a1/excerpt", {"reason": "a customer asked", "document": "doc-a1"}),
        ("/export", {"kind": "verdicts.csv"}),
        ("/logout", {}),
    ],
)
def test_changes_without_the_forms_secret_are_refused(run, path, fields, secret):
    client = browser(run, "ada")
    before = last(client).seq
    answer = client.post(path, data=fields if secret is None else {**fields, "csrf": secret})
    assert answer.status_code == 403 and not shows(answer.text)
    assert last(client).seq == before and len(client.review.sessions._open) == 1


def test_large_forms_and_other_methods_are_refused(run):
    client = browser(run, "rosa")
    assert client.submit("/items/a1/verdict", **SAID, note="x" * 70_000).status_code == 413
    assert client.put("/items/a1").status_code == 405


def test_what_each_role_may_do(run):
    allowed = {}
    for name in cases.ROLES:
        client = browser(run, name)
        allowed[name] = (
            client.get("/items/a1").status_code,
            client.submit("/items/a1/reveal", reason="a customer asked").status_code,
            client.submit("/items/a1/verdict", **SAID).status_code,
            client.submit("/export", kind="verdicts.csv").status_code,
            client.submit("/export", kind="verdicts.csv", with_text="true", reason="to send on").status_code,
        )
        client.review.store.close()
    assert allowed["vera"] == (200, 403, 403, 403, 403)
    assert allowed["rosa"] == allowed["rolf"] == (200, 200, 303, 200, 403)
    assert allowed["ada"] == (200, 200, 303, 200, 403)
    with_text = browser(run, "ada", include_text=True)
    assert (
        with_text.submit("/export", kind="verdicts.csv", with_text="true", reason="to send on").status_code
        == 200
    )
    rosa = browser(run, "rosa", include_text=True)
    assert (
        rosa.submit("/export", kind="verdicts.csv", with_text="true", reason="to send on").status_code == 403
    )


def test_text_is_masked_until_it_is_revealed_for_a_reason(run):
    client = browser(run, "rosa")
    for path in ("/", "/items/a1", "/items/b1", "/?q=wound"):
        assert not shows(client.get(path).text)
    page = client.get("/items/a1").text
    assert "full name" in page and "account number" in page and "Please go on" in page
    for reason in ("", "    ", "a"):
        answer = client.submit("/items/a1/reveal", reason=reason)
        assert answer.status_code == 400 and not shows(answer.text)
    answer = client.submit("/items/a1/reveal", reason="a customer asked")
    assert shows(answer.text) == ["Ms Whitcombe", "20481377"]
    marked = re.search(r"<mark>(.*?)</mark>", answer.text, re.S).group(1)
    assert marked == cases.LETTER
    entry = last(client)
    assert (entry.who, entry.action, entry.subject, entry.reason) == (
        "rosa",
        "reveal",
        "a1",
        "a customer asked",
    )
    assert not shows(client.get("/items/a1").text)  # it is masked again


def test_a_reveal_is_on_record_before_the_text_is_read(run, monkeypatch):
    client = browser(run, "rosa")
    seen = []

    def at_reading(review, item):
        seen.append(last(client).action)
        raise RuntimeError(cases.LETTER)

    monkeypatch.setattr(pages, "revealed", at_reading)
    answer = client.submit("/items/a1/reveal", reason="a customer asked")
    assert seen == ["reveal"]
    assert answer.status_code == 500 and not shows(answer.text)


def test_without_a_log_nothing_is_revealed(run, monkeypatch, capfd):
    client = browser(run, "rosa")

    def full(*_arguments, **_details):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "record", full)
    answer = client.submit("/items/a1/reveal", reason="a customer asked")
    assert answer.status_code == 500 and not shows(answer.text)
    assert "OSError" in capfd.readouterr().err


def test_a_document_is_shown_around_the_span(run):
    cases.write_index(run)
    client = browser(run, "rosa")
    answer = client.submit("/items/a1/excerpt", document="doc-a1", reason="whose letter is it")
    assert "Before it. <mark>" in answer.text and "</mark> Behind it." in answer.text
    assert '"document": "doc-a1"' in last(client).details
    assert client.submit("/items/a1/excerpt", document="doc-b1", reason="of another item").status_code == 404


def test_a_missing_index_is_said(run):
    answer = browser(run, "rosa").submit("/items/a1/excerpt", document="doc-a1", reason="whose letter is it")
    assert answer.status_code == 404 and "index is not here" in answer.text


def test_an_identifier_is_judged_like_a_passage(run):
    client = browser(run, "rosa")
    name = next(item.id for item in client.review.listing.items if item.kind == "identifier")
    assert not shows(client.get(f"/items/{name}").text)
    assert "20481377" in client.submit(f"/items/{name}/reveal", reason="a customer asked").text
    assert "20481377" not in name
    assert client.submit(f"/items/{name}/verdict", **SAID).status_code == 303


def test_a_verdict_goes_on_to_the_next_item(run):
    client = browser(run, "rosa")
    answer = client.submit("/items/a1/verdict?verdict=none", verdict="private", action="remove", note="hers")
    assert answer.headers["location"] == "/items/b2?verdict=none"
    page = client.get("/items/a1").text
    assert "hers" in page and "private finding" in page
    assert "is-private" in client.get("/").text
    assert client.submit("/items/a1/verdict", verdict="nonsense").status_code == 400
    assert client.submit("/items/none/verdict", **SAID).status_code == 404


def test_a_cluster_is_judged_at_once(run):
    client = browser(run, "rosa")
    client.submit("/items/b1/verdict", verdict="boilerplate", scope="cluster")
    standing = client.review.standing
    standing.refresh()
    assert standing.outcome("b1", "rosa") == standing.outcome("b2", "rosa") == "boilerplate"
    assert standing.outcome("a1", "rosa") == "none"


def test_the_second_reviewer_does_not_see_the_first_verdict(run):
    review = cases.opened(run, two_people=True)
    rosa = cases.Browser(review)
    rosa.login("rosa")
    rosa.submit("/items/a1/verdict", verdict="private", note="the first says so")
    review.sessions._open.clear()
    rolf = cases.Browser(review)
    rolf.login("rolf")
    for path in ("/", "/items/a1", "/?verdict=private", "/progress"):
        page = rolf.get(path).text
        assert "the first says so" not in page and "is-private outcome" not in page
    assert rolf.get("/?verdict=private").text.count('class="row"') == 0
    assert rolf.submit("/export", kind="verdicts.csv").status_code == 403
    rolf.submit("/items/a1/verdict", verdict="public")
    assert rolf.get("/?verdict=disagree").text.count('class="row"') == 1
    assert "agree on 0" in rolf.get("/progress").text
    review.store.close()
    assert cases.opened(run).standing.two_people  # a later start does not undo it


def test_candidates_come_with_prompt_and_evidence(tmp_path):
    folder = cases.write_candidates(
        tmp_path / "ranked", ["Her name is Mrs Julia Hartwell, she said so on Monday."]
    )
    client = browser(folder, "rosa")
    page = client.get("/items/c000000000").text
    assert "Julia Hartwell" not in page and "Evidence" in page and cases.PROMPT.strip() in page
    client.submit("/items/c000000000/verdict", verdict="private", evidence="in the archive of 2019")
    assert "in the archive of 2019" in client.get("/items/c000000000").text


def test_failed_logins_are_on_record_and_slowed(run):
    client = cases.Browser(cases.opened(run))
    answers = [client.login("rosa", "wrong").status_code for _ in range(5)]
    assert answers == [403, 403, 403, 429, 429]
    assert client.login("rosa").status_code == 429  # the right one waits too
    assert [entry.action for entry in log.entries(client.review.store)] == ["login failed"] * 3
    assert "wrong" not in str(log.entries(client.review.store))


def test_logging_out_ends_the_session(run):
    client = browser(run, "rosa")
    cookies = dict(client.cookies)
    client.submit("/logout")
    client.cookies.update(cookies)
    assert client.get("/", follow_redirects=False).status_code == 303


def test_the_day_of_the_purge_is_shown(tmp_path):
    from datetime import date

    late = browser(cases.write_run(tmp_path / "late", retention=date(2020, 1, 1)), "vera").get("/").text
    assert "were to be purged on 2020-01-01" in late
    early = browser(cases.write_run(tmp_path / "early", retention=date(2999, 1, 1)), "vera").get("/").text
    assert "are to be purged on 2999-01-01" in early


def test_whole_texts_can_be_masked(run):
    client = browser(run, "rosa", whole=True)
    for path in ("/", "/items/b1"):
        assert "wound" not in client.get(path).text
    assert client.get("/?q=wound").text.count('class="row"') == 0


def test_an_identifier_across_the_ends_of_the_span_is_hidden(run):
    """The passage begins and ends within identifiers that the whole generation shows."""
    span = "Whitcombe, your letter has come and is being read by all of us here at the desk of Tomas"
    rows = [cases.passage("s1", span)]
    folder = cases.write_run(run.parent / "cut", rows)
    generations = PartStore(str(folder / "generations"))
    (row,) = generations.read("part-00000").to_pylist()
    row["token_ids"] = cases.byte_ids(f"Dear Ms {span} Hale, who signs.")
    generations.publish("part-00000", pa.Table.from_pylist([row], schema=GENERATION_SCHEMA), {})
    client = browser(folder, "rosa")
    page = client.get("/items/s1").text
    assert "your letter has come" in page
    assert not any(part in page for part in ("Whitcombe", "Tomas", "Hale"))


def test_a_prompt_that_is_training_text_is_hidden_until_it_is_revealed(run):
    rows = [cases.passage("p1", cases.LETTER, families=["prefix"], request_ids=["prefix-p1"])]
    client = browser(cases.write_run(run.parent / "prefix", rows), "rosa")
    page = client.get("/items/p1").text
    assert cases.PROMPT.strip() not in page and f"{len(cases.PROMPT)} characters" in page
    assert cases.PROMPT.strip() in client.submit("/items/p1/reveal", reason="a customer asked").text


def test_a_row_says_its_cluster_and_whether_the_control_gives_it(run):
    rows = re.findall(r'<a class="row".*?</a>', browser(run, "vera").get("/").text, re.S)
    by_id = {re.search(r"/items/(\w+)", row).group(1): row for row in rows}
    assert "cluster of 2" in by_id["b1"] and "cluster of" not in by_id["a1"]
    assert "control: no" in by_id["a1"] and "control: gives it too" in by_id["c1"]
    assert "control:" not in by_id["d1"]  # nobody knows


def test_places_are_said_where_documents_hold_a_text_more_than_once(tmp_path):
    rows = [cases.passage("a1", cases.LETTER, document_count=1, occurrences=3)]
    page = browser(cases.write_run(tmp_path / "often", rows), "vera").get("/items/a1").text
    assert "1 document holds it in 3 places" in page


def test_a_page_that_hides_whole_texts_says_so(run):
    assert "Masked whole." in browser(run, "rosa", whole=True).get("/items/b1").text


def test_a_second_server_that_asks_for_two_people_blinds_the_first(run):
    first = cases.opened(run)
    rosa = cases.Browser(first)
    rosa.login("rosa")
    cases.opened(run, two_people=True).store.close()
    rosa.submit("/items/a1/verdict", verdict="private", note="the first says so")
    first.sessions._open.clear()
    rolf = cases.Browser(first)
    rolf.login("rolf")
    assert "the first says so" not in rolf.get("/items/a1").text
    assert rolf.get("/?verdict=private").text.count('class="row"') == 0
    assert rolf.submit("/export", kind="verdicts.csv").status_code == 403
