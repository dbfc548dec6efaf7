"""Parts count only when they are marked, whole and in order."""

import os
import pickle
import stat

import pyarrow as pa
import pytest

from extraction.errors import InputError
from pipelines.parts import PartStore, write_file, write_json

SCHEMA = pa.schema([("n", pa.int64())])


def table(*values):
    return pa.table({"n": list(values)}, schema=SCHEMA)


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    if request.param == "local":
        return PartStore(str(tmp_path / "stage"))
    return PartStore(f"memory://{tmp_path.name}/stage")


def test_an_absent_folder_has_no_parts(store):
    assert store.complete() == []
    assert store.read_all(SCHEMA).num_rows == 0


def test_published_parts_are_listed_in_order_with_their_facts(store):
    store.publish("part-00001", table(3), {"tokens": 7})
    store.publish("part-00000", table(1, 2), {"tokens": 5})
    assert store.complete() == ["part-00000", "part-00001"]
    assert store.markers()["part-00001"] == {"tokens": 7}
    assert store.read_all(SCHEMA)["n"].to_pylist() == [1, 2, 3]


def test_groups_are_read_alone(store):
    store.publish_groups("round-00000", [table(1, 2), table(3)], SCHEMA, {})
    assert store.read("round-00000", group=1)["n"].to_pylist() == [3]


def test_a_part_without_its_marker_is_not_complete(tmp_path):
    store = PartStore(str(tmp_path))
    store.publish("part-00000", table(1), {})
    os.unlink(tmp_path / "part-00000.done")
    assert store.complete() == []


def test_a_part_cut_short_is_not_complete(tmp_path):
    store = PartStore(str(tmp_path))
    store.publish("part-00000", table(1), {})
    data = (tmp_path / "part-00000.parquet").read_bytes()
    (tmp_path / "part-00000.parquet").write_bytes(data[:-1])
    assert store.complete() == []


def test_what_was_cut_short_is_told_from_what_was_never_made(tmp_path):
    store = PartStore(str(tmp_path))
    for name in ("part-00000", "part-00001", "part-00002", "part-00003"):
        store.publish(name, table(1), {"tokens": 1})
    (tmp_path / "part-00000.parquet").unlink()
    (tmp_path / "part-00001.done").write_bytes(b"")
    (tmp_path / "part-00002.done").unlink()
    assert store.damaged() == ["part-00000", "part-00001"]
    assert store.complete() == ["part-00003"]
    names = ("part-00000", "part-00001", "part-00002", "part-00003", "part-00009")
    assert [store.facts(name) for name in names] == [None, None, None, {"tokens": 1}, None]


def test_a_part_is_read_as_it_was_written_or_not_at_all_whichever_byte_of_its_pages_changes(tmp_path):
    store = PartStore(str(tmp_path))
    store.publish("part-00000", table(*range(60)), {})
    file = tmp_path / "part-00000.parquet"
    written, data = store.read("part-00000"), file.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for place in range(len(b"PAR1"), footer):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        try:
            assert store.read("part-00000") == written
        except InputError as error:
            assert "part-00000.parquet: damaged; restore it" in str(error)
    for end in range(0, len(data), 7):
        file.write_bytes(data[:end])
        with pytest.raises(InputError, match=r"part-00000\.parquet: damaged"):
            store.read("part-00000")


def test_only_the_owner_can_read(tmp_path):
    store = PartStore(str(tmp_path / "stage"))
    store.publish("part-00000", table(1), {})
    assert stat.S_IMODE((tmp_path / "stage").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "stage" / "part-00000.parquet").stat().st_mode) == 0o600


def test_a_failed_write_leaves_nothing_and_names_the_file(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match="Is a directory") as failure:
        write_file(str(target), b"data")
    assert failure.value.filename == str(target)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_nan_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(str(tmp_path / "x.json"), {"share": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_a_store_travels_to_a_worker(tmp_path):
    store = PartStore(str(tmp_path))
    store.publish("part-00000", table(1), {})
    assert pickle.loads(pickle.dumps(store)).complete() == ["part-00000"]
