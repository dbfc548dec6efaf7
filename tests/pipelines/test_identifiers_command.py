"""`extraction identifiers`: its output, its counts, and what it says of input that it cannot read."""

import json
from pathlib import Path

import pytest

from extraction.errors import InputError
from index import BuildOptions, build_index
from pipelines.commands.identifiers import identifiers

CLINICAL = Path(__file__).parents[2] / "configs" / "clinical.yaml"


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


def test_workers_side_by_side_count_the_same(tmp_path, capfd, ray_cluster):
    rows = [{"id": f"d{n}", "text": f"account {n % 7:08} of caller {n}"} for n in range(40)]
    build_index([str(write(tmp_path / "corpus.jsonl", *rows))], tmp_path / "index", BuildOptions())
    texts = write(tmp_path / "a.jsonl", {"id": "a", "text": "account 00000003, account 00000009"})
    found = []
    for workers in (1, 2):
        identifiers(texts, tmp_path / "index", workers=workers)
        found.append(printed(capfd))
    assert found[0] == found[1]
    assert [one["documents"] for one in found[0][0]["identifiers"]] == [6, 0]


def test_formats_of_a_config_are_tagged_and_looked_up(tmp_path, capfd):
    corpus = write(
        tmp_path / "corpus.jsonl", {"id": "d1", "text": "hosp no H123 4567, H1234567 and XH1234567"}
    )
    build_index([str(corpus)], tmp_path / "index", BuildOptions())
    texts = write(tmp_path / "a.jsonl", {"id": "a", "text": "hospital number H1234567, account 12345678"})
    identifiers(texts, tmp_path / "index", config=CLINICAL)
    ((one,),) = [line["identifiers"] for line in printed(capfd)]
    assert (one["type"], one["value"], one["context"]) == ("HOSPITAL_NUMBER", "H1234567", "hospital number")
    assert (one["documents"], one["occurrences"]) == (1, 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: x\n", "no section `identifiers`"),
        ("identifiers: {typs: [EMAIL]}\n", "`identifiers.typs`: no such field; did you mean `types`?"),
        (
            "identifiers: {recognisers: [{name: X, pattern: '(a'}]}\n",
            "`identifiers.recognisers.0.pattern`: not a",
        ),
    ],
)
def test_a_config_that_does_not_fit_is_named_to_the_field(tmp_path, text, fault):
    config = tmp_path / "own.yaml"
    config.write_text(text)
    with pytest.raises(InputError) as error:
        identifiers(write(tmp_path / "a.jsonl"), config=config)
    assert str(error.value).startswith(f"{config}: ") and fault in str(error.value)


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
