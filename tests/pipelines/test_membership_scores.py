import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from extraction.errors import InputError
from extraction.model import ModelSettings
from pipelines.cli import app
from pipelines.membership.scoring import Reader
from pipelines.parts import PartStore
from pipelines.work import one_at_a_time
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama
from tests.pipelines.killing import kill_at


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    byte_level_tokenizer(folder)
    llama(folder)
    return folder


def cohort(path: Path, seed: int, count: int = 40) -> Path:
    rng = np.random.default_rng(seed)
    words = " ".join(SENTENCES).split()
    lines = [{"id": f"{path.stem}{n}", "text": " ".join(rng.choice(words, 3 + 3 * n))} for n in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def command(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["membership", *map(str, arguments)])
    assert result.exit_code == status, result.output
    return result.stdout


def test_score_and_evaluate(model: Path, tmp_path: Path) -> None:
    inside, outside = cohort(tmp_path / "in.jsonl", 1), cohort(tmp_path / "out.jsonl", 2, count=30)
    out = tmp_path / "scores.parquet"
    said = command(
        "score", model, "--members", inside, "--nonmembers", outside, "--reference", model, "--out", out
    )
    rows = pq.read_table(out).to_pylist()
    names = {"loss", "zlib", "reference", "lowercase", "min_k", "min_k_plus_plus"}
    assert len(rows) == 70 * len(names)
    assert {row["name"] for row in rows} == names  # no others without what they need
    # A model is no better than itself.
    assert [row["score"] for row in rows if row["name"] == "reference"] == pytest.approx([0.0] * 70)
    cut = {row["id"] for row in rows if row["cut"]}
    assert cut
    assert f"40 members and 30 others scored, {len(cut)} of them cut short" in said
    found = json.loads(command("evaluate", out, "--name", "loss"))
    assert (found["members"], found["others"]) == (40, 30)
    held = json.loads(command("evaluate", out, "--name", "reference", status=3))
    assert held["hold"] == "hold:constant-scores"


def test_scores_are_the_same_alone_and_among_others(model: Path, tmp_path: Path) -> None:
    many, outside = cohort(tmp_path / "in.jsonl", 1), cohort(tmp_path / "out.jsonl", 2, count=1)
    one = tmp_path / "one.jsonl"
    one.write_text(many.read_text(encoding="utf-8").splitlines()[7], encoding="utf-8")
    found = []
    for source in (many, one):
        out = tmp_path / f"{source.stem}.parquet"
        command("score", model, "--members", source, "--nonmembers", outside, "--out", out)
        found.append(
            {row["name"]: row["score"] for row in pq.read_table(out).to_pylist() if row["id"] == "in7"}
        )
    assert set(found[0]) == {"loss", "zlib", "lowercase", "min_k", "min_k_plus_plus"}
    assert found[0] == pytest.approx(found[1], abs=1e-4)


def test_nothing_is_written_where_a_cohort_is_empty_or_unreadable(model: Path, tmp_path: Path) -> None:
    inside, out = cohort(tmp_path / "in.jsonl", 1, count=2), tmp_path / "scores.parquet"
    for content, complaint in (("", "no record in it"), ("no JSON", "line 1 is not JSON")):
        (tmp_path / "out.jsonl").write_text(content, encoding="utf-8")
        arguments = ["--members", inside, "--nonmembers", tmp_path / "out.jsonl", "--out", out]
        result = CliRunner().invoke(app, ["membership", "score", str(model), *map(str, arguments)])
        assert complaint in str(result.exception)
        assert [path.name for path in tmp_path.iterdir() if "scores" in path.name] == []


def test_killed_in_its_middle_it_keeps_what_was_scored(model: Path, tmp_path: Path) -> None:
    def many(name: str, seed: int) -> Path:
        lines = [{"id": f"{name}{n}", "text": f"{SENTENCES[n % 3]} {n + seed}"} for n in range(1100)]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    inside, outside = many("in.jsonl", 1), many("out.jsonl", 2)
    arguments = ("score", model, "--members", inside, "--nonmembers", outside, "--neighbours", 1, "--out")
    command(*arguments, tmp_path / "at_once.parquet")
    folder = tmp_path / ".scores.parquet.unfinished"
    again = ("membership", *arguments, tmp_path / "scores.parquet")
    kill_at(folder, "members-000001.done", *again)
    with one_at_a_time(folder):
        refused = CliRunner().invoke(
            app, ["membership", *map(str, arguments), str(tmp_path / "scores.parquet")]
        )
    assert isinstance(refused.exception, InputError)
    assert "another process works here" in str(refused.exception)
    assert not (tmp_path / "scores.parquet").exists() and folder.stat().st_mode & 0o77 == 0
    parts, first = PartStore(str(folder)), "members-000000"
    scores = parts.read(first)
    marked = scores.set_column(
        3, "score", pa.array([7.0] * scores.num_rows)
    )  # which a part made anew would not have
    parts.publish(first, marked, parts.facts(first) or {})
    command(*arguments, tmp_path / "scores.parquet")
    expected, found = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("at_once", "scores"))
    assert found.slice(0, scores.num_rows)["score"].unique().to_pylist() == [7.0]
    assert found.slice(scores.num_rows).equals(expected.slice(scores.num_rows))
    assert found.drop_columns("score").equals(expected.drop_columns("score"))
    assert not folder.exists()


def test_a_file_of_several_scores_asks_for_one(model: Path, tmp_path: Path) -> None:
    inside, out = cohort(tmp_path / "in.jsonl", 1, count=3), tmp_path / "scores.parquet"
    command(
        "score",
        model,
        "--members",
        inside,
        "--nonmembers",
        cohort(tmp_path / "out.jsonl", 2, 3),
        "--out",
        out,
    )
    result = CliRunner().invoke(app, ["membership", "evaluate", str(out)])
    assert "choose a score with --name; it has: loss, lowercase" in str(result.exception)


def test_an_id_that_comes_twice_is_refused_before_anything_is_scored(model: Path, tmp_path: Path) -> None:
    inside, outside = cohort(tmp_path / "in.jsonl", 1, count=3), cohort(tmp_path / "out.jsonl", 2, count=3)
    line = inside.read_text(encoding="utf-8").splitlines()[0]
    for source in (inside, outside):
        before = source.read_text(encoding="utf-8")
        source.write_text(f"{before}{line}\n", encoding="utf-8")
        arguments = ["--members", inside, "--nonmembers", outside, "--out", tmp_path / "scores.parquet"]
        result = CliRunner().invoke(app, ["membership", "score", "no such model", *map(str, arguments)])
        assert f"{source}: an id comes twice" in str(result.exception)
        source.write_text(before, encoding="utf-8")


def test_one_start_token_stands_before_a_text_and_is_not_scored(model: Path, tmp_path: Path) -> None:
    reader = Reader.load(ModelSettings(path=str(model)))
    plain = reader.text("The branch opens at nine.")
    assert list(plain.context) == [0]
    assert 0 not in plain.tokens
    assert reader.text("<s><s>The branch opens at nine.") == plain  # some texts bring their own
    assert reader.text("The branch opens at nine.</s>").tokens == [
        *plain.tokens,
        1,
    ]  # a real end token counts
    assert reader.text("", before=(5, 6)).context == [0, 5, 6]
    byte_level_tokenizer(tmp_path, bos=False)
    llama(tmp_path)
    bare = Reader.load(ModelSettings(path=str(tmp_path))).text("The branch opens at nine.")
    assert [*bare.context, *bare.tokens] == plain.tokens  # without a start token the first is given
