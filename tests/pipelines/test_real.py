"""What `make real` gathers, trains on and writes down, on small stand-ins for machine, model and runs."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from extraction.errors import InputError
from pipelines.config import load_config
from pipelines.real import finetune, table
from pipelines.real.audit import write_config
from pipelines.real.gather import SET_ASIDE, gather


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    root = tmp_path / "machine"
    (root / "doc").mkdir(parents=True)
    (root / "doc" / "licence.txt").write_text("You may copy this.\n" * 100, encoding="utf-8")
    (root / "doc" / "naïve.txt").write_text("déjà vu " * 200, encoding="utf-8")
    (root / "doc" / "latin.txt").write_bytes("déjà vu".encode("latin-1"))
    (root / "library.so").write_bytes(b"\x7fELF\0\0code")
    (root / "late_zero.bin").write_bytes(b"text " * 2000 + b"\0")
    (root / "empty.txt").touch()
    (root / "link.txt").symlink_to(root / "doc" / "licence.txt")
    os.link(root / "doc" / "licence.txt", root / "same.txt")
    return root


def test_text_files_are_gathered_once_under_relative_ids(machine, tmp_path):
    roots = {"a": machine, "b": machine / "doc"}
    found = gather(roots, tmp_path / "corpus.parquet", tmp_path / "public.parquet", 10**9)
    rows = [
        row
        for name in ("corpus", "public")
        for row in pq.read_table(tmp_path / f"{name}.parquet").to_pylist()
    ]
    assert sorted(row["id"] for row in rows) == ["a/doc/naïve.txt", "a/same.txt"]
    assert {row["text"] for row in rows} == {"You may copy this.\n" * 100, "déjà vu " * 200}
    assert found.documents + found.public_documents == 2
    # A link, a second name of one file, and the three that the second root repeats.
    assert found.skipped == {"not UTF-8 text": 3, "empty or larger than 16 MB": 1, "link or seen before": 5}


def test_gathering_ends_at_the_limit_and_sets_prompt_text_aside(tmp_path):
    root = tmp_path / "many"
    root.mkdir()
    for number in range(SET_ASIDE * 10):
        (root / f"{number:05d}.txt").write_text(f"document {number:05d}")
    found = gather({"m": root}, tmp_path / "c.parquet", tmp_path / "p.parquet", 14 * SET_ASIDE * 9)
    corpus, public = (
        pq.read_table(tmp_path / name).column("text").to_pylist() for name in ("c.parquet", "p.parquet")
    )
    assert found.text_bytes == sum(map(len, corpus)) == 14 * SET_ASIDE * 9
    assert 1 <= len(public) == found.public_documents < 40
    assert set(corpus).isdisjoint(public)


def test_an_interrupted_gathering_leaves_no_file(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.real.gather._is_text", lambda data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        gather({"a": machine}, tmp_path / "corpus.parquet", tmp_path / "public.parquet", 10**9)
    assert not list(tmp_path.glob("*.parquet")) and not list(tmp_path.glob(".*"))


def test_documents_to_train_on_are_distinct_pages_drawn_by_seed(tmp_path):
    texts = [f"{number:05d} " * 300 for number in range(150)] + ["short", "x" * 5000, "00000 " * 300]
    rows = pa.table({"id": [f"d{number}" for number in range(len(texts))], "text": texts})
    pq.write_table(rows, tmp_path / "corpus.parquet")
    drawn = finetune.choose_documents(tmp_path / "corpus.parquet", 0)
    assert len(drawn) == len(set(drawn.values())) == finetune.DOCUMENTS
    assert drawn == finetune.choose_documents(tmp_path / "corpus.parquet", 0)
    assert drawn != finetune.choose_documents(tmp_path / "corpus.parquet", 1)
    assert all(texts[int(name[1:])] == text and 1000 <= len(text) <= 3200 for name, text in drawn.items())


def test_too_few_pages_are_an_error_that_names_the_file(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "text": ["x" * 2000]}), tmp_path / "corpus.parquet")
    with pytest.raises(InputError, match=r"corpus\.parquet: only 1 documents"):
        finetune.choose_documents(tmp_path / "corpus.parquet", 0)


def test_a_file_that_is_no_gguf_is_named(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"model\.gguf: cannot be read as GGUF"):
        finetune.convert(tmp_path / "model.gguf", tmp_path / "base")
    assert not (tmp_path / "base").exists()


@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_the_audits_configurations_load(tmp_path, engine):
    config = load_config(write_config(tmp_path, engine))
    assert config.engine.kind == engine
    assert config.budgets == (50_000, 100_000, 200_000)
    assert config.control.model is not None


def test_passages_are_binned_by_documents():
    counts = [1, 1, 2, 3, 10, 11, 100, 101, 5000]
    assert table.document_bins(counts) == {"1": 2, "2": 1, "3 to 10": 2, "11 to 100": 2, "over 100": 2}


def _run(directory: Path, budgets: list[dict]) -> None:
    (directory / "control").mkdir(parents=True)
    stages = {"generate": {"seconds": 61.2, "peak_memory_bytes": 2**30}}
    for path in (directory, directory / "control"):
        run = {"stages": stages, "versions": {"python": "3.11.7", directory.name: "1.0"}}
        (path / "run.json").write_text(json.dumps(run))
    report = {
        "status": "complete",
        "budgets": budgets,
        "control": {"budgets": [budgets[0] | {"private_passages": 0}]},
    }
    (directory / "report.json").write_text(json.dumps(report))
    columns = {"kind": ["private", "shared", "shared"], "document_count": [1, 40, 700]}
    pq.write_table(pa.table(columns), directory / "passages.parquet")


def test_the_table_holds_counts_of_target_and_control_costs_and_versions(tmp_path):
    budgets = [{"budget": size} | dict.fromkeys(table.COUNTS, size // 1000) for size in (50_000, 100_000)]
    _run(tmp_path / "transformers", budgets)
    _run(tmp_path / "vllm", budgets)
    tuned = {"document_ids": ["a"], "tokens": 600, "steps": 8, "first_loss": 2.5, "last_loss": 0.51}
    gathered = {"documents": 12_345, "text_bytes": 600_000_000}
    real = {
        "stages": {"gathered": {"seconds": 9.0, "peak_memory_bytes": 2**20}},
        "tuned": tuned,
        "gathered": gathered,
    }
    written = table.results(real, {name: tmp_path / name for name in ("transformers", "vllm")})
    assert "12,345 documents, 600 MB" in written
    assert "| 50,000 | 50 (50) |" in written and "| 100,000 | 100 (-) |" in written
    assert "| private | 1 | 0 | 0 | 0 | 0 |" in written and "| shared | 0 | 0 | 0 | 1 | 1 |" in written
    assert (
        "| target, generate | 61 | 1,024 |" in written and "| base model, generate | 61 | 1,024 |" in written
    )
    assert "python 3.11.7, transformers 1.0, vllm 1.0" in written
