"""Canaries in a copy of a corpus: every copy where the seed says, everything else as it was, and the key."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from extraction.canaries.key import opened
from extraction.canaries.settings import CanarySettings
from extraction.errors import InputError
from pipelines.canaries.make import make_canaries
from pipelines.canaries.score import read_key
from pipelines.cli import app
from pipelines.config import load_settings

CONFIG = Path(__file__).parents[2] / "configs" / "canaries.yaml"
FORMATS = [
    {"name": "account", "template": "my account number is {digits:9}"},
    {
        "name": "phrase",
        "template": "say {words:3}",
        "words": ["amber", "basket", "candle", "dolphin", "ember"],
    },
]
TEXTS = [f"Call {n}: thank you, that is all." for n in range(200)]


def configured(tmp_path: Path, sources: list[Path], **changes: Any) -> Path:
    path = tmp_path / "mine.yaml"
    fields = {
        "sources": [str(source) for source in sources],
        "formats": FORMATS,
        "insertions": {0: 3, 1: 3, 10: 2},
        "seed": 4,
    }
    path.write_text(yaml.safe_dump(fields | changes), encoding="utf-8")
    return path


def made(config: Path, out: Path) -> dict[str, Any]:
    make_canaries(load_settings(CanarySettings, config), out)
    found: dict[str, Any] = json.loads((out / "key.json").read_text(encoding="utf-8"))
    return found


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def planted(rows: list[dict[str, Any]], key: dict[str, Any]) -> Counter[str]:
    texts = {canary["text"] for canary in key["canaries"]}
    return Counter(row["text"] for row in rows if row["text"] in texts)


def expected(key: dict[str, Any]) -> Counter[str]:
    return Counter({canary["text"]: canary["insertions"] for canary in key["canaries"]})


def test_json_lines_stay_as_they_were_around_the_canaries(tmp_path: Path) -> None:
    source = tmp_path / "calls.jsonl"
    lines = [json.dumps({"text": text, "id": f"c{n}", "when": n}) for n, text in enumerate(TEXTS)]
    source.write_text(
        "\n".join([*lines[:50], "", *lines[50:]]), encoding="utf-8"
    )  # a blank line, no last newline
    key = made(configured(tmp_path, [source]), tmp_path / "out")
    copy = (tmp_path / "out" / "corpus" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert [line for line in copy if "canary-" not in line] == [*lines[:50], "", *lines[50:]]
    rows = read(tmp_path / "out" / "corpus" / "calls.jsonl")
    assert planted(rows, key) == +expected(key)
    assert len({row["id"] for row in rows}) == len(rows) == 200 + 2 * (3 + 20)
    places = [n for n, row in enumerate(rows) if row["id"].startswith("canary-")]
    assert min(places) < 40 and max(places) > 180  # spread over the corpus


def test_the_same_seed_plants_the_same_and_another_does_not(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "calls.jsonl", [{"id": str(n), "text": t} for n, t in enumerate(TEXTS)])
    copies = []
    for number, seed in enumerate((4, 4, 5)):
        made(configured(tmp_path, [source], seed=seed), tmp_path / f"out{number}")
        copies.append((tmp_path / f"out{number}" / "corpus" / "calls.jsonl").read_bytes())
    assert copies[0] == copies[1] != copies[2]


@pytest.mark.parametrize("ids", ["text", "numbers"])
def test_parquet_keeps_its_schema_and_its_order(tmp_path: Path, ids: str) -> None:
    schema = pa.schema(
        [
            ("id", pa.string() if ids == "text" else pa.int64()),
            ("text", pa.dictionary(pa.int32(), pa.string())),
            ("when", pa.timestamp("ms")),
        ],
        metadata={"about": "calls"},
    )
    names: list[Any] = [f"c{n}" if ids == "text" else n for n in range(200)]
    columns = [pa.array(names), pa.array(TEXTS).dictionary_encode(), pa.array(range(200), pa.timestamp("ms"))]
    source = tmp_path / "calls.parquet"
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), source, row_group_size=64)
    key = made(configured(tmp_path, [source]), tmp_path / "out")
    copy = pq.read_table(tmp_path / "out" / "corpus" / "calls.parquet")
    assert copy.schema.equals(schema, check_metadata=True)
    rows = copy.to_pylist()
    assert planted(rows, key) == +expected(key)
    own = [row for row in rows if row["when"] is not None]
    assert [row["text"] for row in own] == TEXTS and [row["id"] for row in own] == names
    added = [row for row in rows if row["when"] is None]
    assert len(added) == 46 and {row["id"] is None for row in added} == {ids == "numbers"}


def test_a_folder_of_files_is_copied_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    (folder / "deep").mkdir(parents=True)
    rows = [{"id": n, "text": t} for n, t in enumerate(TEXTS)]
    jsonl(folder / "a.jsonl", rows[:80])
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in rows[80:]).encode())
    (folder / "deep" / "b.jsonl.gz").write_bytes(packed)
    jsonl(folder / "z.jsonl", [])
    key = made(configured(tmp_path, [folder]), tmp_path / "out")
    copies = [read(tmp_path / "out" / "corpus" / name) for name in ("a.jsonl", "deep/b.jsonl.gz", "z.jsonl")]
    together = [row for copy in copies for row in copy]
    assert planted(together, key) == +expected(key)
    texts = {canary["text"] for canary in key["canaries"]}
    # Ids that are numbers stay numbers: an added record then has none.
    assert [row for row in together if row["text"] not in texts] == rows
    assert {tuple(row) for row in together if row["text"] in texts} == {("text",)}
    assert min(len(copy) for copy in copies[:2]) > 80 and copies[2] == []


def test_key_and_folder_are_the_owners_alone(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "calls.jsonl", [{"id": "a", "text": TEXTS[0]}])
    config = configured(tmp_path, [source])
    result = CliRunner().invoke(app, ["canary", "make", str(config), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    key, seal = read_key(tmp_path / "out" / "key.json")
    lines = result.stdout.splitlines()
    assert lines[0] == f"16 canaries, 46 records added to 1; seal of the key: {seal}"
    assert lines[1:] == [str(tmp_path / "out" / "corpus"), str(tmp_path / "out" / "key.json")]
    for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
    assert key.records == 1 and Counter(c.insertions for c in key.canaries) == {0: 6, 1: 6, 10: 4}
    content = json.loads((tmp_path / "out" / "key.json").read_text(encoding="utf-8"))
    (tmp_path / "changed.json").write_text(json.dumps(content | {"records": 2}), encoding="utf-8")
    with pytest.raises(InputError, match="changed.json: changed after it was sealed; restore"):
        read_key(tmp_path / "changed.json")
    assert opened(content) == key


def test_values_of_the_corpus_are_not_drawn_and_too_many_are_refused(tmp_path: Path) -> None:
    pins = {"name": "pin", "template": "pin {digits:2}"}
    text = " ".join(f"{n:02d}" for n in range(0, 100, 2))  # every even one
    source = jsonl(tmp_path / "calls.jsonl", [{"id": "a", "text": f"our pins: {text}"}])
    key = made(configured(tmp_path, [source], formats=[pins]), tmp_path / "out")
    assert all(int(canary["value"]) % 2 for canary in key["canaries"])
    source = jsonl(tmp_path / "calls.jsonl", [{"id": "a", "text": " ".join(f"{n:02d}" for n in range(100))}])
    with pytest.raises(InputError, match="format pin: 32 of 32 values drawn stand in the corpus already"):
        made(configured(tmp_path, [source], formats=[pins]), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("prepare", "complaint"),
    [
        (lambda path: jsonl(path / "calls.jsonl", []), "no record in it"),
        (
            lambda path: jsonl(path / "calls.jsonl", [{"id": "canary-1", "text": "a"}]),
            "ids that begin with canary-",
        ),
        (
            lambda path: (path / "calls.txt").write_text("a") and path / "calls.txt",
            "neither Parquet nor JSON",
        ),
        (lambda path: path / "missing.jsonl", "no such file or folder"),
        (lambda path: (path / "calls.jsonl").write_text("{") and path / "calls.jsonl", "line 1 is not JSON"),
    ],
)
def test_a_corpus_that_cannot_be_planted_leaves_nothing(tmp_path: Path, prepare: Any, complaint: str) -> None:
    config = configured(tmp_path, [prepare(tmp_path)])
    with pytest.raises(Exception, match=complaint):
        made(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_column_that_must_not_be_empty_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    schema = pa.schema([("text", pa.string()), pa.field("when", pa.int64(), nullable=False)])
    pq.write_table(pa.table({"text": TEXTS[:2], "when": [1, 2]}, schema=schema), tmp_path / "calls.parquet")
    with pytest.raises(InputError, match="column 'when' must not be empty"):
        made(configured(tmp_path, [tmp_path / "calls.parquet"]), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["corpus"]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "calls.jsonl", [{"id": "a", "text": "a"}])
    with pytest.raises(InputError, match="not empty; name a new directory"):
        made(configured(tmp_path, [source]), tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"formts": []}, "`formts`: no such field; did you mean `formats`?"),
        ({"formats": [{"name": "a", "template": "none"}]}, "`formats.0`: has no blank"),
        ({"insertions": {-1: 3}}, "`insertions.-1"),
        ({"insertions": {}}, "`insertions`: "),
        ({"formats": [FORMATS[0], FORMATS[0]]}, "two have one name"),
    ],
)
def test_a_configuration_that_is_wrong_is_one_line(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    path = configured(tmp_path, [tmp_path / "calls.jsonl"], **change)
    with pytest.raises(InputError) as raised:
        load_settings(CanarySettings, path)
    assert str(raised.value).startswith(f"{path}: ") and complaint in str(raised.value)


def test_the_configuration_in_configs_plants(tmp_path: Path) -> None:
    settings = load_settings(CanarySettings, CONFIG)
    source = jsonl(tmp_path / "calls.jsonl", [{"id": str(n), "text": t} for n, t in enumerate(TEXTS)])
    done = make_canaries(settings.model_copy(update={"sources": (source,)}), tmp_path / "out")
    assert (done.canaries, done.copies, done.records) == (165, 3 * (20 + 100 + 500), 200)
