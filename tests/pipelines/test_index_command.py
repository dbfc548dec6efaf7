import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from index import SourceError
from pipelines.commands.index import app
from pipelines.lookup import whole_characters
from tests.index.conftest import write_jsonl

CASE_FILE = Path(__file__).parents[1] / "data" / "spans.jsonl"
CASES = [json.loads(line) for line in CASE_FILE.read_text(encoding="utf-8").splitlines()]
LETTER = (
    "Dear customer, your claim number 555-0100 was settled and the sum has been transferred to your account. "
)


def extraction_index(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def _found(index: Path, texts: Sequence[str], *options: object) -> list[list[dict[str, Any]]]:
    file = index.parent / "texts.jsonl"
    write_jsonl(file, texts)
    return [
        json.loads(line)["matches"] for line in extraction_index("find", index, file, *options).splitlines()
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case_file(case: dict[str, Any], tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "corpus.jsonl", case["documents"])
    extraction_index(
        "build", source, "--out", tmp_path / "index", "--min-bytes", case["min_bytes"], "--workers", 1
    )
    found = _found(tmp_path / "index", case["generations"])
    ids = [[match.pop("document_ids") for match in matches] for matches in found]
    assert found == case["expected"]
    for text, matches, named in zip(case["generations"], found, ids, strict=True):
        for match, some in zip(matches, named, strict=True):
            piece = text.encode()[match["start"] : match["end"]]
            holders = {f"d{n}" for n, document in enumerate(case["documents"]) if piece in document.encode()}
            assert len(some) == min(10, len(holders)) and set(some) <= holders


def test_a_larger_minimum_is_served_and_a_smaller_one_refused(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "corpus.jsonl", [LETTER])
    extraction_index("build", source, "--out", tmp_path / "index")
    assert [len(m) for m in _found(tmp_path / "index", [LETTER[:60], LETTER[:80]], "--min-bytes", 70)] == [
        0,
        1,
    ]
    with pytest.raises(SourceError, match="built for matches of 50 bytes or more, not 20"):
        extraction_index("find", tmp_path / "index", tmp_path / "texts.jsonl", "--min-bytes", 20)


def test_every_kind_of_source_gives_the_same_index(tmp_path: Path) -> None:
    texts = [f"{n}: {LETTER}" for n in range(20)]
    plain = write_jsonl(tmp_path / "a.jsonl", texts)
    data = plain.read_bytes()
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.compress(data))
    ids = [f"d{n}" for n in range(20)]
    pq.write_table(pa.table({"id": ids, "text": texts}), tmp_path / "d.parquet", row_group_size=7)
    pq.write_table(pa.table({"id": ids, "text": pa.array(texts).dictionary_encode()}), tmp_path / "e.parquet")
    folder = tmp_path / "f"
    folder.mkdir()
    for name, text in zip(ids, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    prints = set()
    for source in (
        plain,
        *(tmp_path / f"{n}" for n in ("b.jsonl.gz", "c.jsonl.zst", "d.parquet", "e.parquet", "f")),
    ):
        extraction_index("build", source, "--out", tmp_path / f"{source.name}.index")
        prints.add(json.loads(extraction_index("info", tmp_path / f"{source.name}.index"))["fingerprint"])
    assert len(prints) == 1


def test_add_appends(tmp_path: Path) -> None:
    first, second = (write_jsonl(tmp_path / f"{n}.jsonl", [f"{n} {LETTER}", LETTER], n) for n in (10, 20))
    extraction_index("build", first, "--out", tmp_path / "index")
    before = {p: p.read_bytes() for p in (tmp_path / "index" / "segments").rglob("*.bin")}
    printed = extraction_index("add", tmp_path / "index", second)
    assert printed.splitlines()[-1] == str(tmp_path / "index")
    assert {p: p.read_bytes() for p in before} == before
    ((match,),) = _found(tmp_path / "index", [LETTER])
    assert (match["documents"], match["occurrences"], len(match["document_ids"])) == (4, 4, 4)
    described = json.loads(extraction_index("info", tmp_path / "index"))
    assert (described["documents"], described["distinct_documents"], described["segments"]) == (4, 3, 2)
    assert described["sources"] == [str(first), str(second)]


def test_documents_without_an_id_are_named_by_file_and_row(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"text": [LETTER + "a", LETTER + "b", LETTER + "c"]}),
        tmp_path / "t.parquet",
        row_group_size=2,
    )
    extraction_index("build", tmp_path / "t.parquet", "--out", tmp_path / "index")
    ((match,),) = _found(tmp_path / "index", [LETTER])
    assert match["document_ids"] == ["t.parquet:0", "t.parquet:1", "t.parquet:2"]


def test_count(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "corpus.jsonl", [LETTER * 2, LETTER])
    extraction_index("build", source, "--out", tmp_path / "index")
    lines = extraction_index(
        "count", tmp_path / "index", "--string", "555-0100", "--string", "CLAIM"
    ).splitlines()
    assert [json.loads(line) for line in lines] == [
        {"string": "555-0100", "documents": 2, "occurrences": 3},
        {"string": "CLAIM", "documents": 0, "occurrences": 0},
    ]
    (line,) = extraction_index("count", tmp_path / "index", "--string", "CLAIM", "--ignore-case").splitlines()
    assert json.loads(line)["occurrences"] == 3
    with pytest.raises(SourceError, match="--string"):
        extraction_index("count", tmp_path / "index")


def test_strings_are_the_lines_of_a_file(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "corpus.jsonl", ["Zoë\u2028Roe", "Zoë"])
    extraction_index("build", source, "--out", tmp_path / "index")
    file = tmp_path / "strings.txt"
    for encoding, end in (("utf-8", "\n"), ("utf-8-sig", "\r\n")):
        file.write_bytes(f"Zoë{end}{end}Zoë\u2028Roe{end}".encode(encoding))
        lines = extraction_index("count", tmp_path / "index", "--strings", file).splitlines()
        found = [(row["string"], row["documents"]) for row in map(json.loads, lines)]
        assert found == [("Zoë", 2), ("Zoë\u2028Roe", 1)]
    file.write_bytes(b"a\n\xff\n")
    with pytest.raises(SourceError, match="line 2 is not UTF-8"):
        extraction_index("count", tmp_path / "index", "--strings", file)
    with pytest.raises(SourceError, match="No such file"):
        extraction_index("count", tmp_path / "index", "--strings", tmp_path / "nowhere")


def test_ranges_are_cut_to_whole_characters_and_checked_again() -> None:
    from index import Range

    text = "é".encode() * 30
    assert whole_characters(text, [Range(1, 59)], 50) == [Range(2, 58)]
    assert whole_characters(text, [Range(1, 51)], 50) == []
    assert whole_characters(text, [Range(0, 54), Range(1, 55)], 50) == [Range(0, 54)]
    assert whole_characters(text, [Range(1, 54), Range(2, 56)], 50) == [Range(2, 56)]


class TestBadInput:
    @pytest.fixture
    def refused(self, tmp_path: Path) -> Callable[..., str]:
        def run(*sources: Path, options: Sequence[object] = ()) -> str:
            with pytest.raises(SourceError) as caught:
                extraction_index("build", *sources, "--out", tmp_path / "index", *options)
            assert "\n" not in str(caught.value)
            assert not (tmp_path / "index").exists()
            return str(caught.value)

        return run

    def test_a_missing_source(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        assert refused(tmp_path / "nowhere.jsonl") == f"{tmp_path}/nowhere.jsonl: no such file or folder"

    def test_a_damaged_parquet_file(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        (tmp_path / "bad.parquet").write_bytes(b"PAR1 but no more")
        assert "bad.parquet: not a readable Parquet file" in refused(tmp_path / "bad.parquet")

    def test_a_parquet_file_damaged_inside(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        path = tmp_path / "bad.parquet"
        pq.write_table(
            pa.table({"text": [LETTER * 1000 + str(n) for n in range(50)]}), path, compression="zstd"
        )
        data = bytearray(path.read_bytes())
        data[100:400] = bytes(300)
        path.write_bytes(data)
        assert "bad.parquet: unreadable from row 0 on" in refused(path)

    def test_a_line_that_is_not_json(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        (tmp_path / "bad.jsonl").write_text(f'{{"text": "{LETTER}"}}\nsecret, not JSON\n', encoding="utf-8")
        message = refused(tmp_path / "bad.jsonl")
        assert "bad.jsonl: line 2 is not JSON" in message
        assert "secret" not in message

    def test_lines_without_text(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        for line, complaint in [
            ('{"body": 1, "id": 2}', "line 1 has no key 'text'; it has: body, id"),
            ('["text"]', "line 1 is not a JSON object"),
            ('{"text": 7}', "line 1 has no text in 'text'"),
            ('{"text": "\\ud800"}', "line 1 has half a surrogate pair in 'text'"),
        ]:
            (tmp_path / "bad.jsonl").write_text(line + "\n", encoding="utf-8")
            assert complaint in refused(tmp_path / "bad.jsonl")

    def test_bad_records_can_be_counted(self, tmp_path: Path) -> None:
        good = json.dumps({"text": LETTER})
        (tmp_path / "bad.jsonl").write_text(f'{good}\nnot JSON\n{{"text": null}}\n{good}\n', encoding="utf-8")
        pq.write_table(pa.table({"text": [None, LETTER]}), tmp_path / "nulls.parquet")
        bad = pa.table({"text": pa.array([b"\xff\xfe" * 40, LETTER.encode()])})
        pq.write_table(bad, tmp_path / "bytes.parquet")
        sources = [tmp_path / name for name in ("bad.jsonl", "nulls.parquet", "bytes.parquet")]
        printed = extraction_index("build", *sources, "--out", tmp_path / "index", "--skip-bad-records")
        assert "incomplete: 4 bad records" in printed
        described = json.loads(extraction_index("info", tmp_path / "index"))
        assert (described["documents"], described["skipped_records"], described["complete"]) == (4, 4, False)
        ((match,),) = _found(tmp_path / "index", [LETTER])
        assert match["document_ids"] == ["bad.jsonl:0", "bad.jsonl:3", "nulls.parquet:1", "bytes.parquet:1"]

    def test_rows_without_text(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        pq.write_table(pa.table({"text": [LETTER, None]}), tmp_path / "nulls.parquet")
        assert "nulls.parquet: row 1 has no UTF-8 text in column 'text'" in refused(
            tmp_path / "nulls.parquet"
        )

    def test_a_text_column_that_is_not_there(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        pq.write_table(pa.table({"body": [LETTER], "number": [1]}), tmp_path / "t.parquet")
        assert "no column 'text'; it has: body, number" in refused(tmp_path / "t.parquet")
        assert "holds int64, not text" in refused(tmp_path / "t.parquet", options=["--text-column", "number"])

    def test_an_empty_corpus(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        (tmp_path / "empty.jsonl").touch()
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "picture").write_bytes(b"\x89PNG\0\0")
        assert "no document with text" in refused(tmp_path / "empty.jsonl")
        assert "no document with text" in refused(tmp_path / "folder")

    def test_damaged_compressed_files(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        line = json.dumps({"text": LETTER}).encode() + b"\n"
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line)[:-12])
        (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
        (tmp_path / "c.jsonl.zst").write_bytes(b"no zstandard")
        for name in ("a.jsonl.gz", "b.jsonl.gz", "c.jsonl.zst"):
            assert f"{name}: cannot be read to its end" in refused(tmp_path / name)

    def test_text_that_is_no_text(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
        assert "latin.txt: not UTF-8 text" in refused(tmp_path / "latin.txt")

    def test_a_folder_that_is_taken(self, tmp_path: Path) -> None:
        source = write_jsonl(tmp_path / "corpus.jsonl", [LETTER])
        extraction_index("build", source, "--out", tmp_path / "index")
        with pytest.raises(SourceError, match="already holds an index"):
            extraction_index("build", source, "--out", tmp_path / "index")
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "letter.txt").write_text("mine", encoding="utf-8")
        with pytest.raises(SourceError, match="exists and is no index"):
            extraction_index("build", source, "--out", tmp_path / "other")
        assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]

    def test_sizes(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        source = write_jsonl(tmp_path / "corpus.jsonl", [LETTER])
        assert "--memory: not a size" in refused(source, options=["--memory", "much"])
        for little in ("-4GiB", "0", "1KiB"):
            assert "is too little" in refused(source, options=[f"--memory={little}"])

    def test_texts_to_find(self, tmp_path: Path) -> None:
        source = write_jsonl(tmp_path / "corpus.jsonl", [LETTER])
        extraction_index("build", source, "--out", tmp_path / "index")
        (tmp_path / "bad.jsonl").write_text('{"text": "a"}\nno\n', encoding="utf-8")
        with pytest.raises(SourceError, match="line 2 is not JSON"):
            extraction_index("find", tmp_path / "index", tmp_path / "bad.jsonl")
        with pytest.raises(SourceError, match="nowhere: cannot be read"):
            extraction_index("find", tmp_path / "index", tmp_path / "nowhere")


def test_every_command_has_help_with_an_example() -> None:
    for command in ("build", "add", "verify", "info", "find", "count"):
        assert f"extraction index {command}" in " ".join(extraction_index(command, "--help").split())
