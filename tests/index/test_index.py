import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from index import BuildOptions, Index, SourceError, add_to_index, build_index, open_index
from index.lock import folder_lock
from index.segment import FILES
from tests.index.conftest import write_jsonl

TEXTS = [
    f"document number {n % 7} says the same thing again and again, {n % 7} times over" for n in range(20)
]

# Everything that a segment keeps a file for: a template with other text before it each time, and a run.
RICH = [
    f"{n:02d} the template that all of these documents share, word for word {'-' * 60} {n}" for n in range(30)
]


def test_info_counts_copies_and_distinct_texts(make_index: Callable[..., Index]) -> None:
    for parts in (1, 3):
        info = make_index([*TEXTS, "", ""], parts=parts).info
        assert (info.documents, info.distinct_documents) == (22, 8)
        assert info.text_bytes == sum(len(text) for text in TEXTS)


def test_fingerprint_depends_on_the_records_alone(make_index: Callable[..., Index], tmp_path: Path) -> None:
    prints = {make_index(TEXTS, parts=parts).info.fingerprint for parts in (1, 2, 7)}
    lines = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(TEXTS)]
    for name, order in (("backwards", lines[::-1]), ("other", [*lines[1:], lines[0].replace("d0", "e0")])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(order), encoding="utf-8")
        build_index([tmp_path / f"{name}.jsonl"], tmp_path / name)
    assert {open_index(tmp_path / "backwards").info.fingerprint} == prints
    assert open_index(tmp_path / "other").info.fingerprint not in prints
    assert make_index([*TEXTS, ""]).info.fingerprint not in prints


@pytest.mark.parametrize("parts", [1, 4])
def test_documents_come_once_with_all_their_ids(parts: int, make_index: Callable[..., Index]) -> None:
    index = make_index([*TEXTS, ""], parts=parts)
    expected = {}
    for number, text in enumerate([*TEXTS, ""]):
        expected.setdefault(text.encode(), set()).add(f"d{number}")
    found = list(index.documents())
    assert len(found) == len(expected)
    assert {text: set(ids) for ids, text in found} == expected
    shards = [pickle.loads(pickle.dumps(shard)) for shard in index.shards(3)]
    assert [text for shard in shards for _, text in shard] == [text for _, text in found]


def test_document_ids_are_limited_and_in_stored_order(make_index: Callable[..., Index]) -> None:
    index = make_index([*TEXTS, "-" * 300, "-" * 200], parts=3)
    absent = b"nothing like it stands anywhere in the corpus at all!!"
    asked = [TEXTS[0].encode(), absent, b"-" * 200, TEXTS[1].encode()]
    found = index.document_ids(asked)
    assert [sorted(ids) for ids in found[:3]] == [
        ["d0", "d14", "d7"],
        [],
        [f"d{len(TEXTS)}", f"d{len(TEXTS) + 1}"],
    ]
    assert [len(ids) for ids in found] == index.count(asked).documents.tolist()
    for limit in range(4):
        assert index.document_ids(asked, limit) == [ids[:limit] for ids in found]


def test_threads_share_the_work_and_change_no_byte(make_index: Callable[..., Index]) -> None:
    texts = [f"{n} {TEXTS[n % 20]} {RICH[n % 30]} {n}" for n in range(500)] + [RICH[0] * 40, "-" * 300, ""]
    built = [make_index(texts, workers=workers).directory for workers in (1, 2, 3)]
    files = [[file.read_bytes() for file in sorted(path.glob("segments/*/*.bin"))] for path in built]
    assert len(files[0]) == len(FILES)
    assert files[0] == files[1] == files[2]


def test_key_is_secret_and_stays(make_index: Callable[..., Index]) -> None:
    index = make_index(TEXTS)
    assert len(index.key) == 16
    assert (index.directory / "key").stat().st_mode & 0o077 == 0
    assert index.directory.stat().st_mode & 0o077 == 0
    assert pickle.loads(pickle.dumps(index)).key == index.key
    assert make_index(TEXTS).key != index.key


def test_a_flipped_byte_is_found_in_every_file(make_index: Callable[..., Index]) -> None:
    index = make_index(RICH)
    assert index.verify() == []
    files = [path for path in index.directory.rglob("*") if path.is_file() and path.name != ".lock"]
    assert len(files) == len(FILES) + 3
    for path in files:
        data = bytearray(path.read_bytes())
        for at in {0, len(data) // 2, len(data) - 1}:
            flipped = data.copy()
            flipped[at] ^= 1
            path.write_bytes(flipped)
            try:
                assert path in open_index(index.directory).verify()
            except SourceError as error:
                # What is wrong in a description of files may look like a fault of one of them.
                assert str(path.parent if path.suffix == ".json" else path) in str(error)
        path.write_bytes(data)
    assert index.verify() == []


def test_a_truncated_or_foreign_folder_is_refused(make_index: Callable[..., Index], tmp_path: Path) -> None:
    index = make_index(RICH)
    for path in [path for path in index.directory.rglob("*") if path.is_file() and path.name != ".lock"]:
        data = path.read_bytes()
        if path.name != "key":
            path.write_bytes(data[:-1])
            with pytest.raises(SourceError, match=path.name):
                open_index(index.directory)
        path.unlink()
        with pytest.raises(SourceError, match=path.name):
            open_index(index.directory)
        path.write_bytes(data)
    with pytest.raises(SourceError, match="no such index folder"):
        open_index(tmp_path / "nowhere")
    (tmp_path / "foreign").mkdir()
    with pytest.raises(SourceError, match="is no whole index"):
        open_index(tmp_path / "foreign")
    (tmp_path / "foreign" / "index.json").write_text('{"format": "other"}', encoding="utf-8")
    with pytest.raises(SourceError, match="not written by this program"):
        open_index(tmp_path / "foreign")


def test_a_second_build_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    with folder_lock(tmp_path / "index"), pytest.raises(SourceError, match="another build is writing"):
        build_index([source], tmp_path / "index")
    build_index([source], tmp_path / "index")
    with folder_lock(tmp_path / "index"), pytest.raises(SourceError, match="another build is writing"):
        add_to_index([source], tmp_path / "index", BuildOptions())


def test_a_failed_addition_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    build_index([write_jsonl(tmp_path / "a.jsonl", TEXTS)], tmp_path / "index")
    before = {path: path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file()}
    good = write_jsonl(tmp_path / "b.jsonl", TEXTS)
    (tmp_path / "c.jsonl").write_text("not JSON", encoding="utf-8")
    with pytest.raises(SourceError, match="not JSON"):
        add_to_index([good, tmp_path / "c.jsonl"], tmp_path / "index", BuildOptions(segment_bytes=1))
    assert {path: path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file()} == before


class Killed(BaseException):
    pass


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_killed_build_goes_on_where_it_stopped(after: int, tmp_path: Path) -> None:
    sources = [write_jsonl(tmp_path / f"{n}.jsonl", TEXTS[n * 5 : n * 5 + 5], n * 5) for n in range(4)]
    options = BuildOptions(segment_bytes=1)
    done = []

    def kill(result: object, total: int) -> None:
        if len(done) == after:
            raise Killed
        done.append(result)

    with pytest.raises(Killed):
        build_index(sources, tmp_path / "index", options, progress=kill)
    with pytest.raises(SourceError, match="did not finish"):
        open_index(tmp_path / "index")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.bin")}
    (tmp_path / "index" / "segments" / "0000-00003-0000").mkdir(
        exist_ok=True
    )  # what a task leaves when killed
    for name in ("plan.json.tmp", "index.json.tmp"):  # what a kill in the middle of writing one leaves
        (tmp_path / "index" / name).write_text('{"cut sh')
    build_index(sources, tmp_path / "index", options)
    assert len(times) == len(FILES) * (after + 1)
    finished = {
        path: path.stat().st_mtime_ns for path in times if path.parts[-2] != "0000-00003-0000" or after == 3
    }
    assert finished.items() <= times.items()
    whole = open_index(build_index(sources, tmp_path / "whole", options))
    resumed = open_index(tmp_path / "index")
    assert resumed.info == whole.info
    assert resumed.verify() == []
    assert sorted(os.listdir(tmp_path / "index")) == sorted(os.listdir(tmp_path / "whole"))


def test_a_build_of_changed_sources_starts_anew(tmp_path: Path) -> None:
    sources = [write_jsonl(tmp_path / f"{n}.jsonl", TEXTS[:5], n * 5) for n in range(2)]

    def kill(result: object, total: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        build_index(sources, tmp_path / "index", BuildOptions(segment_bytes=1), progress=kill)
    write_jsonl(sources[0], TEXTS[:6], 100)
    info = open_index(build_index(sources, tmp_path / "index", BuildOptions(segment_bytes=1))).info
    assert info.documents == 11
