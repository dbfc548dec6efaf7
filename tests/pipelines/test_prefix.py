"""`extraction prefix`: what true openings bring out is what a plain recount says, each target counted once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.engines.transformers_engine import TransformersEngine
from extraction.model import load_tokenizer, token_ids
from extraction.sampling import Sampling, resolve_sampling
from extraction.scoring import Scorer, Text
from extraction.token_bytes import TokenBytes
from pipelines.cli import app
from pipelines.config import parse_config
from pipelines.match import MatchStores
from pipelines.parts import PartStore
from pipelines.prefix.page import prefix_page
from pipelines.prefix.readings import READING_SCHEMA
from pipelines.prefix.targets import CONTINUATION_SCHEMA, TARGET_SCHEMA
from pipelines.run import run_pipeline
from pipelines.rundir import RunDirectory
from tests.extraction.tiny_models import request
from tests.pipelines.page_reading import Page, unexplained
from tests.pipelines.prefix_cases import NAMES, OPENING, Cases, make, raw_run, write_prefix

LENGTHS, TARGET = (8, 16), 16
GAMES = {"sentences": 20, "samples": 12, "sample_tokens": 12, "candidates": 5, "top": [1, 3]}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    return make(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def finished(cases: Cases, ray_cluster: None) -> Path:
    """A sampling run and the whole prefix test beside it."""
    run = cases.folder / "run"
    run_pipeline(parse_config(raw_run(cases), "tiny"), run, None, skip_bad_records=False)
    games = GAMES | {"known": [str(cases.folder / "known.txt")]}
    config = write_prefix(
        cases,
        cases.folder / "prefix.yaml",
        control={"path": str(cases.base)},
        run=str(run),
        screen={"documents": 50, "prefix_tokens": 16},
        games=games,
    )
    result = CliRunner().invoke(app, ["prefix", str(config), "--out", str(cases.folder / "prefix")])
    assert result.exit_code == 0, (result.output, result.exception)
    assert result.stdout.splitlines()[-1] == str(cases.folder / "prefix" / "prefix.json")
    return cases.folder / "prefix"


@pytest.fixture(scope="module")
def record(finished: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((finished / "prefix.json").read_text(encoding="utf-8"))
    return found


def greedy_tokens(model: Path, prompts: list[list[int]]) -> list[list[int]]:
    sampling = resolve_sampling(Sampling(temperature=0, max_tokens=TARGET), None)
    settings = TransformersSettings(kind="transformers", batch_size=32)
    engine = TransformersEngine(settings, ModelSettings(path=str(model)), sampling)
    made = engine.generate([request(prompt, n, TARGET) for n, prompt in enumerate(prompts)])
    return [generation.token_ids for generation in made]


def recount(cases: Cases, model: Path) -> dict[int, dict[str, bool]]:
    """By length and document, whether greedy decoding gives what follows the prompt in any document."""
    tokenizer = load_tokenizer(ModelSettings(path=str(model)))
    decode = TokenBytes.from_tokenizer(tokenizer).decode
    found = {}
    for length in LENGTHS:
        prompts = {text: token_ids(tokenizer, text)[:length] for text in cases.documents}
        written = greedy_tokens(model, [[0, *ids] for ids in prompts.values()])
        texts = [decode(ids) + decode(own) for ids, own in zip(prompts.values(), written, strict=True)]
        found[length] = {
            text: any(whole in document for document in cases.documents)
            for text, whole in zip(prompts, texts, strict=True)
        }
    return found


def test_greedy_counts_are_those_of_a_plain_recount(cases: Cases, record: dict[str, Any]) -> None:
    for name, model in (("model", cases.model), ("control", cases.base)):
        expected = recount(cases, model)
        for row in record["lengths"]:
            own = expected[row["prefix_tokens"]]
            assert row["targets"] == row["by_model"][name]["targets"] == len(own)
            assert row["by_model"][name]["greedy"] == sum(own.values())
    brought_out = {
        often: sum(
            recount(cases, cases.model)[16][text] for text, own in cases.documents.items() if own == often
        )
        for often in (20, 4, 1)
    }
    assert {row["from"]: row["by_model"]["model"]["greedy"] for row in record["by_copies"]} == {
        11: brought_out[20],
        3: brought_out[4],
        1: brought_out[1],
    }
    assert brought_out[20] == 4  # what stands often is remembered,
    assert (
        sum(row["by_model"]["control"]["greedy"] for row in record["lengths"]) == 0
    )  # and by training alone


def rows_of(folder: Path, stage: str, schema: pa.Schema) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = PartStore(str(folder / stage)).read_all(schema).to_pylist()
    return rows


def test_two_documents_that_begin_alike_both_come_out_whichever_of_them_the_model_gives(
    finished: Path,
) -> None:
    targets = rows_of(finished, "targets", TARGET_SCHEMA)
    alike = [
        row
        for row in targets
        if row["prefix_tokens"] == 8 and OPENING.encode().startswith(row["prefix_bytes"])
    ]
    assert len({row["prefix_bytes"] for row in alike}) == 1
    assert len({tuple(row["token_ids"]) for row in alike}) == len(alike) == 2
    readings = {row["target"]: row for row in rows_of(finished, "readings/model", READING_SCHEMA)}
    own = [readings[row["target"]] for row in alike]
    assert [(one["continuations"], one["greedy"]) for one in own] == [(2, True), (2, True)]
    assert own[0]["log_probability"] == pytest.approx(own[1]["log_probability"])


def test_the_probability_is_that_of_every_true_continuation(cases: Cases, finished: Path) -> None:
    """Recomputed by hand, with the sampler's temperature and top-k."""
    sampling = resolve_sampling(Sampling(temperature=0.9, top_k=40), None)
    scorer = Scorer.load(ModelSettings(path=str(cases.model)))
    readings = {row["target"]: row for row in rows_of(finished, "readings/model", READING_SCHEMA)}
    found: dict[int, set[tuple[int, ...]]] = {}
    for row in rows_of(finished, "continuations", CONTINUATION_SCHEMA):
        found.setdefault(row["target"], set()).add(tuple(row["token_ids"]))
    several = 0
    for row in rows_of(finished, "targets", TARGET_SCHEMA):
        texts = {tuple(row["token_ids"])} | found.get(row["target"], set())
        read = scorer.sampled([Text(row["prompt_token_ids"], text) for text in sorted(texts)], sampling)
        expected = sum(float(np.exp(one.log_probs.sum())) for one in read)
        own = readings[row["target"]]
        assert own["continuations"] == len(texts)
        assert np.exp(own["log_probability"]) == pytest.approx(min(expected, 1.0), rel=1e-3, abs=1e-9)
        several += len(texts) > 1
    assert several >= 2
    assert several == sum(row["several_continuations"] for row in _record(finished)["lengths"])


def _record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "prefix.json").read_text(encoding="utf-8"))
    return found


def test_every_document_is_accounted_for_once(cases: Cases, record: dict[str, Any], finished: Path) -> None:
    for row in record["lengths"]:
        counted = row["targets"] + row["low_entropy"] + sum(row["not_counted"].values())
        assert (
            counted + sum(row["left_out"].values()) == record["sample"]["documents"] == len(cases.documents)
        )
    numbers = [row["target"] for row in rows_of(finished, "targets", TARGET_SCHEMA)]
    assert len(numbers) == len(set(numbers))
    for rows in (record["by_copies"], record["by_documents"]):
        assert sum(row["targets"] for row in rows) == record["lengths"][1]["targets"]
    assert record["status"] == "complete" and record["incomplete"] == []
    for own in record["agreement"].values():
        assert own["agree"] == own["targets"]


def test_recovery_is_what_the_run_wrote_of_what_comes_out(
    cases: Cases, record: dict[str, Any], finished: Path
) -> None:
    stretches = MatchStores.of(RunDirectory(cases.folder / "run")).stretches
    written = b"\0".join(
        data for name in stretches.complete() for data in stretches.read(name)["data"].to_pylist()
    )
    expected = recount(cases, cases.model)[16]
    tokenizer = load_tokenizer(ModelSettings(path=str(cases.model)))
    decode = TokenBytes.from_tokenizer(tokenizer).decode
    both = sum(
        out and decode(token_ids(tokenizer, text)[16:32]).encode() in written
        for text, out in expected.items()
    )
    last = record["recovery"]["budgets"][-1]["by"][0]
    assert (last["draws"], last["brought_out"], last["both"]) == (None, sum(expected.values()), both)
    assert both > 0
    for at in record["recovery"]["budgets"]:
        for row in at["by"]:
            assert row["both"] + row["opening_alone"] + row["run_alone"] + row["neither"] == len(
                cases.documents
            )
    shares = [at["by"][0]["both"] for at in record["recovery"]["budgets"]]
    assert shares == sorted(shares)


def test_the_screen_reads_every_stretch_of_the_sample_once(cases: Cases, record: dict[str, Any]) -> None:
    tokenizer = load_tokenizer(ModelSettings(path=str(cases.model)))
    expected = sum(len(token_ids(tokenizer, text)) // 32 for text in cases.documents)
    screen = record["screen"]
    assert screen["documents"] == screen["corpus_documents"] == len(cases.documents)
    assert screen["corpus_bytes"] == sum(len(text.encode()) for text in cases.documents)
    for own in screen["by_model"].values():
        assert own["stretches"] == expected == sum(row["stretches"] for row in own["distribution"])
        for one in own["extractable"]:  # the sample is the corpus, so the expected number is the number
            assert one["in_corpus"]["estimate"] == pytest.approx(one["stretches"])
    counts = {
        (o["draws"], o["certainty"]): o["stretches"] for o in screen["by_model"]["model"]["extractable"]
    }
    assert counts[100, 0.5] >= counts[1, 0.5] > 0
    assert all(one["stretches"] == 0 for one in screen["by_model"]["control"]["extractable"])


def test_the_games_have_the_base_model_as_their_control(record: dict[str, Any]) -> None:
    games = record["games"]
    assert games["sentences"] >= len(NAMES)  # a name in each document, and account numbers
    assert games["model"]["too_long"] == games["control"]["too_long"] == 0
    for game in ("reconstruction", "inference"):
        trained, base = (games[name][game]["all"] for name in ("model", "control"))
        assert trained["sentences"] == base["sentences"] == games["sentences"]
        assert trained["at"][0]["correct"] > base["at"][0]["correct"]
        assert trained["at"][0]["correct"] <= trained["at"][1]["correct"]
        never = games["model"][game]["never_seen"]
        assert never["sentences"] == games["sentences"] - 1  # one name is known to everybody
    inference = games["model"]["inference"]["all"]
    assert inference["answered"] == games["sentences"]
    assert inference["at"][0]["chance"] == pytest.approx(0.2, abs=0.05)
    low, high = (games["control"]["inference"]["all"]["at"][0]["recall"][end] for end in ("low", "high"))
    assert low <= 0.2 <= high  # an untrained model guesses


def test_the_extraction_game_looks_up_what_the_run_generated(cases: Cases, record: dict[str, Any]) -> None:
    game = record["games"]["extraction"]
    listed = pq.read_table(cases.folder / "run" / "identifiers" / "in_corpus.parquet").to_pylist()
    own = {(row["type"], row["value"]) for row in listed if row["group"] != "PERSON_SINGLE"}
    last = game["model"]["budgets"][-1]
    assert 0 < last["in_corpus"] <= len(own) <= last["generated"] + len(own)
    assert last["in_corpus"] <= last["generated"]
    assert game["control"]["budgets"][-1]["in_corpus"] == 0
    rows = game["model"]["by_documents"]
    assert sum(row["identifiers"] for row in rows) == game["corpus_identifiers"]
    often = next(row for row in rows if row["documents_from"] == 11)
    assert often["identifiers"] >= 4
    assert often["recall"]["estimate"] == pytest.approx(often["found"] / often["identifiers"])


def test_the_page_holds_the_numbers_of_the_record_and_no_text(
    cases: Cases, record: dict[str, Any], finished: Path
) -> None:
    html = (finished / "prefix.html").read_text(encoding="utf-8")
    assert html == prefix_page(record)
    assert unexplained(html, record) == set()
    assert "script" not in {tag for tag, _ in Page(html).tags}
    for name in NAMES:
        assert name not in html and name not in json.dumps(record)
    for word in ("Duplicates against extraction", "Recovered", "Reconstruction", "Inference", "Extraction"):
        assert word in Page(html).text


def test_nothing_is_made_again_and_the_result_stays_the_same(
    cases: Cases, record: dict[str, Any], finished: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*.parquet")}
    result = CliRunner().invoke(
        app,
        [
            "prefix",
            str(cases.folder / "prefix.yaml"),
            "--out",
            str(finished),
            "--set",
            "draws=[1, 100, 1000]",
        ],
    )
    assert result.exit_code == 0, (result.output, result.exception)
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*.parquet")} == before
    again = _record(finished)
    assert [row["by_model"]["model"]["greedy"] for row in again["lengths"]] == [
        row["by_model"]["model"]["greedy"] for row in record["lengths"]
    ]
    assert again["lengths"][0]["by_model"]["model"]["discoverable"][-1]["draws"] == 1000
    assert PartStore(str(finished / "targets")).complete() == ["part-00000", "part-00001", "part-00002"]
