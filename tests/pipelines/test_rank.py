import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from extraction.engines.settings import TransformersSettings
from extraction.model import ModelSettings
from extraction.ranking.candidates import Picking
from pipelines.cli import app
from pipelines.rank import RankingModels, RankOptions, rank_generations
from pipelines.rank import run as rank_run
from pipelines.rank.candidates import harmless
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folders = []
    for name in ("model", "reference"):
        folder = tmp_path_factory.mktemp(name)
        byte_level_tokenizer(folder, vocabulary=420 if name == "model" else 380)
        llama(folder, vocabulary=420 if name == "model" else 380)
        folders.append(folder)
    return folders[0], folders[1]


@pytest.fixture(scope="module")
def generations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    words = " ".join(SENTENCES).split()
    lines = [
        {"id": f"g{n}", "text": " ".join(rng.choice(words, 4 + n % 30)), "family": ("public", "empty")[n % 2]}
        for n in range(60)
    ]
    lines += [
        {"id": "nothing", "text": "", "family": "empty"},
        {"id": "=1+1", "text": "=cmd()", "family": "empty"},
    ]
    path = tmp_path_factory.mktemp("made") / "generations.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


HERE = TransformersSettings(kind="transformers")


def through(model: Path, reference: Path | None) -> RankingModels:
    return RankingModels(
        ModelSettings(path=str(model)), ModelSettings(path=str(reference)) if reference else None, HERE
    )


def options(folders: tuple[Path, Path], **changes: object) -> RankOptions:
    known = {"models": through(*folders), "picking": Picking(count=5, among=None)}
    return RankOptions(**{**known, **changes})  # type: ignore[arg-type]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def rank(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result.stdout


def test_rank_and_confirm(models: tuple[Path, Path], generations: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranked"
    rank(
        "rank",
        generations,
        "--model",
        models[0],
        "--reference",
        models[1],
        "--top",
        5,
        "--among",
        0,
        "--out",
        out,
    )
    rows = pq.read_table(out / "candidates" / "part-00000.parquet").to_pylist()
    summary = json.loads((out / "ranking.json").read_text())
    assert summary["generations"] == 62
    assert summary["without_score"]["perplexity"] == 1  # the empty one
    assert summary["picked_by_score"]["reference"] == 10  # five of each family
    for family in ("public", "empty"):
        inside = [row for row in rows if row["family"] == family]
        best = next(
            row for row in inside if dict(zip(row["picked_by"], row["ranks"], strict=True)).get("zlib") == 1
        )
        assert best["zlib"] == max(row["zlib"] for row in inside)
    assert "nothing" not in {row["generation_id"] for row in rows}
    lines = read_csv(out / "candidates.csv")
    assert "text" not in lines[0]
    assert {line["verdict"] for line in lines} == {""}
    for number, line in enumerate(lines):
        line["verdict"] = ("yes", "no", "unsure", "")[number % 4]
    with (tmp_path / "verdicts.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    said = rank("confirm", out, tmp_path / "verdicts.csv")
    found = json.loads((out / "confirmed.json").read_text())["all"]
    assert found["candidates"] == len(rows)
    assert found["confirmed"] == sum(line["verdict"] == "yes" for line in lines)
    assert found["checked"] == found["confirmed"] + sum(line["verdict"] == "no" for line in lines)
    assert found["share"]["low"] < 0.5 < found["share"]["high"]
    assert f"{found['confirmed']} of {found['checked']} checked" in said


def test_scores_do_not_depend_on_the_order_of_generations(
    models: tuple[Path, Path], generations: Path, tmp_path: Path
) -> None:
    backwards = tmp_path / "backwards.jsonl"
    lines = generations.read_text(encoding="utf-8").splitlines()
    backwards.write_text("\n".join(lines[::-1]), encoding="utf-8")
    found = []
    for source in (generations, backwards):
        out = tmp_path / f"ranked-{source.stem}"
        rank_generations(source, options(models, picking=Picking(count=100, among=None)), out)
        rows = pq.read_table(out / "candidates" / "part-00000.parquet").to_pylist()
        found.append({row["generation_id"]: row["reference"] for row in rows})
    assert found[0].keys() == found[1].keys()
    assert [found[0][name] for name in found[0]] == pytest.approx(
        [found[1][name] for name in found[0]], rel=1e-3
    )


def test_a_killed_ranking_goes_on(
    models: tuple[Path, Path], generations: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_run, "PART_ROWS", 16)
    whole = tmp_path / "whole"
    rank_generations(generations, options(models), whole)
    publish, made = rank_run.PartStore.publish, []

    def killed(store: object, name: str, *rest: object) -> None:
        if name == "part-00002":
            raise KeyboardInterrupt
        made.append(name)
        publish(store, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(rank_run.PartStore, "publish", killed)
    with pytest.raises(KeyboardInterrupt):
        rank_generations(generations, options(models), tmp_path / "killed")
    monkeypatch.setattr(rank_run.PartStore, "publish", publish)
    assert made == ["part-00000", "part-00001"]
    written = (tmp_path / "killed" / "scores" / "part-00000.parquet").stat().st_mtime_ns
    rank_generations(generations, options(models), tmp_path / "killed")
    assert (tmp_path / "killed" / "scores" / "part-00000.parquet").stat().st_mtime_ns == written
    assert (tmp_path / "killed" / "candidates.csv").read_bytes() == (whole / "candidates.csv").read_bytes()


def test_text_is_written_only_when_asked_for_and_runs_in_no_spreadsheet(
    models: tuple[Path, Path], generations: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ranked"
    chosen = options(models, picking=Picking(count=100, among=None), include_text=True)
    rank_generations(generations, chosen, out)
    lines = read_csv(out / "candidates.csv")
    hostile = next(line for line in lines if "1+1" in line["generation_id"])
    assert hostile["generation_id"] == "'=1+1"
    assert hostile["text"] == "'=cmd()"
    assert (out / "candidates.csv").stat().st_mode & 0o077 == 0
    shown = [harmless(value) for value in ("-1", "\t=x", "\uff1dx", "plain", -1.5)]
    assert shown == ["'-1", "'\t=x", "'\uff1dx", "plain", -1.5]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("candidate_id\nc000000001\n", "no column 'verdict'"),
        ("candidate_id,verdict\nc999999999,yes\n", "line 2: `candidate_id` names no candidate"),
        ("candidate_id,verdict\n{0},perhaps\n", "line 2: `verdict` is none of"),
        ("candidate_id,verdict\n{0},yes\n{0},no\n", "line 3: a second verdict"),
    ],
)
def test_bad_verdicts_are_refused(
    content: str, complaint: str, models: tuple[Path, Path], generations: Path, tmp_path: Path
) -> None:
    rank_generations(generations, options(models, models=through(models[0], None)), tmp_path / "ranked")
    known = pq.read_table(tmp_path / "ranked" / "candidates" / "part-00000.parquet")["candidate_id"][
        0
    ].as_py()
    (tmp_path / "verdicts.csv").write_text(content.format(known), encoding="utf-8")
    result = CliRunner().invoke(app, ["confirm", str(tmp_path / "ranked"), str(tmp_path / "verdicts.csv")])
    assert complaint in str(result.exception)
    assert not (tmp_path / "ranked" / "confirmed.json").exists()


@pytest.mark.parametrize(("mark", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-8"), (",", "utf-8-sig")])
def test_verdicts_are_read_as_spreadsheets_save_them(
    mark: str, encoding: str, models: tuple[Path, Path], generations: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ranked"
    rank_generations(generations, options(models, models=through(models[0], None)), out)
    lines = read_csv(out / "candidates.csv")
    with (tmp_path / "verdicts.csv").open("w", encoding=encoding, newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], delimiter=mark)
        writer.writeheader()
        writer.writerows(line | {"verdict": " Yes "} for line in lines)
        handle.write(mark * (len(lines[0]) - 1) + "\r\n")  # a row of nothing
    rank("confirm", out, tmp_path / "verdicts.csv")
    found = json.loads((out / "confirmed.json").read_text())["all"]
    assert (found["confirmed"], found["share"]["high"]) == (len(lines), 1.0)
