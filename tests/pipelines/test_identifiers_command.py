"""`extraction identifiers`: its output, its counts, and what it says of input that it cannot read."""

import json

import pytest

from extraction.errors import InputError
from index import BuildOptions, build_index
from pipelines.commands.identifiers import identifiers


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def printed(capfd):
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_output(tmp_path, capfd):
    identifiers(
        write(
            tmp_path / "a.jsonl", {"id": "a", "text": "\U0001f600 acct no. 1234 5678"}, {"id": 7, "text": ""}
        )
    )
    assert printed(capfd) == [
        {
            "id": "a",
            "identifiers": [
                {
                    "type": "ACCOUNT_NUMBER",
                    "value": "12345678",
                    "text": "1234 5678",
                    "start": 11,
                    "end": 20,
                    "validated": False,
                    "context": "acct",
                    "recogniser": "account-number",
                }
            ],
        },
        {"id": 7, "identifiers": []},
    ]


def test_counts_from_an_index(tmp_path, capfd):
    corpus = write(
        tmp_path / "corpus.jsonl",
        {"id": "d1", "text": "the account 12345678 of MARGARET  THORNBURY, again 12345678"},
        {"id": "d2", "text": "the account 1234-5678 of Margaret Thornburys"},
    )
    build_index([str(corpus)], tmp_path / "index", BuildOptions())
    texts = write(
        tmp_path / "a.jsonl",
        {"id": "a", "text": "acct no. 1234 5678 belongs to Margaret Thornbury."},
        {"id": "b", "text": "account 87654321"},
    )
    identifiers(texts, tmp_path / "index")
    rows = [
        (line["id"], one["value"], one["documents"], one["occurrences"])
        for line in printed(capfd)
        for one in line["identifiers"]
    ]
    assert rows == [("a", "12345678", 2, 3), ("a", "margaret thornbury", 1, 1), ("b", "87654321", 0, 0)]


BAD = [
    (b"{not json}", "not JSON"),
    (b'{"id": "x", "text": "\xff"}', "not JSON"),
    (b"[1]", "not a JSON object"),
    (b'{"text": "secret words"}', "`id`"),
    (b'{"id": true, "text": ""}', "`id`"),
    (b'{"id": "x"}', "`text`"),
    (b'{"id": "x", "text": 3}', "`text`"),
    (b"[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("line", "fault"), BAD)
def test_a_bad_line_is_named_and_nothing_is_printed(tmp_path, capfd, line, fault):
    path = write(tmp_path / "a.jsonl", {"id": "a", "text": "account 12345678"})
    path.write_bytes(path.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(InputError) as error:
        identifiers(path)
    assert str(error.value).startswith(f"{path}:3: ") and fault in str(error.value)
    assert "secret" not in str(error.value) and "\n" not in str(error.value)
    assert capfd.readouterr().out == ""


def test_bad_lines_are_counted_when_asked(tmp_path, capfd):
    path = write(tmp_path / "a.jsonl", {"id": "a", "text": ""}, {"id": "b"}, {"id": "c", "text": ""})
    identifiers(path, None, True)
    out, err = capfd.readouterr()
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["a", "c"]
    assert ": 1 line" in err


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere.jsonl: cannot be read"):
        identifiers(tmp_path / "nowhere.jsonl")


def test_a_lone_surrogate_comes_back_as_it_came(tmp_path, capfd):
    (tmp_path / "a.jsonl").write_text('{"id": "\\ud800", "text": "x\\ud800 mail a@example.com\\u0000"}\n')
    identifiers(tmp_path / "a.jsonl")
    (line,) = printed(capfd)
    assert line["id"] == "\ud800" and line["identifiers"][0]["start"] == 8
