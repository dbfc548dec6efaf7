import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.rank import confirm
from pipelines.review import log
from pipelines.review.exports import DOCUMENT_SCHEMA, VERDICT_SCHEMA
from pipelines.review.verdicts import Judgement, give
from tests.pipelines.review import cases


def rows(answer):
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.text)))


def judged(run, **options):
    client = cases.browser(run, "ada", **options)
    give(client.review.store, "rosa", ["a1"], Judgement("private", "remove", "=cmd() her letter"))
    give(client.review.store, "rosa", ["b1", "b2"], Judgement("private", "rescrub"), "b1")
    give(client.review.store, "rosa", ["c1"], Judgement("public", "accept"))
    return client


def test_verdicts_carry_ids_and_counts_but_no_words(run):
    client = judged(run)
    found = rows(client.submit("/export", kind="verdicts.csv"))
    assert list(found[0]) == VERDICT_SCHEMA.names
    assert {row["item_id"]: row["outcome"] for row in found} == {
        "a1": "private",
        "b1": "private",
        "b2": "private",
        "c1": "public",
    }
    table = pq.read_table(pa.BufferReader(client.submit("/export", kind="verdicts.parquet").content))
    assert table.schema.equals(VERDICT_SCHEMA)
    assert table["item_id"].to_pylist() == [row["item_id"] for row in found]
    assert not any(secret in str(found) + str(table.to_pydict()) for secret in (*cases.SECRETS, "her letter"))


def test_text_comes_only_when_asked_for_and_is_on_record_first(run):
    client = judged(run, include_text=True)
    found = rows(client.submit("/export", kind="verdicts.csv", with_text="true", reason="for the counsel"))
    first = next(row for row in found if row["item_id"] == "a1")
    assert first["text"] == cases.LETTER
    assert first["note"] == "'=cmd() her letter"  # a spreadsheet does not run it
    entry = log.entries(client.review.store)[-1]
    assert (entry.action, entry.subject, entry.reason, entry.details) == (
        "export",
        "verdicts.csv",
        "for the counsel",
        '{"text": true}',
    )
    assert client.submit("/export", kind="verdicts.csv", with_text="true").status_code == 400


def test_documents_to_act_on_are_listed(run):
    found = rows(judged(run).submit("/export", kind="documents.csv"))
    assert list(found[0]) == DOCUMENT_SCHEMA.names
    assert [(row["document_id"], row["action"]) for row in found] == [
        ("doc-a1", "remove"),
        ("doc-b1", "rescrub"),
        ("doc-b2", "rescrub"),
    ]
    assert {row["all_ids"] for row in found} == {"True"}


def test_a_list_that_is_cut_short_says_so(tmp_path):
    row = cases.passage("a1", cases.LETTER, document_count=12, document_ids=["doc-a1"])
    client = cases.browser(cases.write_run(tmp_path / "run", [row]), "ada")
    give(client.review.store, "rosa", ["a1"], Judgement("private", "remove"))
    (found,) = rows(client.submit("/export", kind="documents.csv"))
    assert found["all_ids"] == "False"


def test_verdicts_on_candidates_are_what_confirm_reads(tmp_path):
    texts = ["A letter that somebody wrote in the winter.", "Another text without anybody in it."]
    folder = cases.write_candidates(tmp_path / "ranked", texts)
    client = cases.browser(folder, "ada")
    give(client.review.store, "rosa", ["c000000000"], Judgement("private", evidence="in the archive"))
    give(client.review.store, "rosa", ["c000000001"], Judgement("not_memorised"))
    path = tmp_path / "verdicts.csv"
    path.write_bytes(client.submit("/export", kind="candidates.csv").content)
    content = confirm(folder, path).read_text()
    assert '"checked": 2' in content and '"confirmed": 1' in content


def test_an_unknown_export_is_refused(run):
    assert cases.browser(run, "ada").submit("/export", kind="../../etc/passwd").status_code == 404
