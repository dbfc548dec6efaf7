"""A run whose corpus cannot be searched: configs/rank_only.yaml, small, from sampling to people's verdicts."""

import csv
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
from extraction.token_bytes import TokenBytes
from pipelines.config import load_config
from pipelines.parts import PartStore
from pipelines.report import build_limitations, read_report, render_report
from pipelines.run import run_pipeline
from tests.extraction.tiny_models import byte_level_tokenizer, llama
from tests.pipelines.leftovers import leftovers
from tests.pipelines.page_reading import Page, unexplained
from tests.pipelines.small_run import write_inputs

pytestmark = pytest.mark.usefixtures("ray_cluster")

CONFIGS = Path(__file__).parents[2] / "configs"


def small(folder, *changes):
    """The configuration itself, on two tiny models."""
    return load_config(
        CONFIGS / "rank_only.yaml",
        [
            f"model={{path: {folder / 'model'}}}",
            "engine={kind: transformers}",
            "sampling={max_tokens: 80}",
            f"prompts.public_text=[{folder / 'public.txt'}]",
            f"ranking.reference={{path: {folder / 'reference'}}}",
            "ranking.engine={kind: transformers}",
            "ranking.workers=1",
            "ranking.top=5",
            "ranking.among=10",
            "budgets=[500, 1500]",
            "part_requests=16",
            "workers=1",
            *changes,
        ],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    for name, vocabulary in (("model", 420), ("reference", 380)):
        (folder / name).mkdir()
        byte_level_tokenizer(folder / name, vocabulary=vocabulary)
        llama(folder / name, vocabulary=vocabulary)
    return folder


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "ranked"
    run_pipeline(small(folder), out, None, False)
    return out


def verdicts(run, path, answers):
    """candidates.csv with verdicts in turn."""
    with (run / "candidates.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for number, row in enumerate(rows):
        row["verdict"] = answers[number % len(answers)]
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return [row["verdict"] for row in rows]


def test_what_is_not_known_is_null_and_never_nothing(finished):
    report = read_report(finished)
    assert report["status"] == "complete"
    assert report["method"]["corpus"] is None
    for counts in (*report["budgets"], *(row for rows in report["families"].values() for row in rows)):
        assert counts["reached"] and counts["generated_tokens"] > 0 and counts["requests"] > 0
        assert counts["extracted_tokens"] is counts["private_windows"] is counts["distinct_passages"] is None
        assert counts["chao2_windows"] == {"estimate": None, "reason": "the corpus was not searched"}
    text = Page((finished / "report.html").read_text(encoding="utf-8")).text
    assert "The corpus was not searched" in text and "is not known" in text
    assert "None of them was checked yet" in text
    assert not (finished / "model_card.md").exists()
    assert "no counts" not in text


def test_the_effort_at_each_budget_is_that_of_the_shortest_prefixes(finished):
    rows = [
        row
        for name in PartStore(str(finished / "generations")).complete()
        for row in PartStore(str(finished / "generations")).read(name).to_pylist()
    ]
    report = read_report(finished)
    for place, budget in enumerate((500, 1500)):
        total = 0
        for family in ("empty", "public"):
            own = sorted((row["number"], len(row["token_ids"])) for row in rows if row["family"] == family)
            tokens = requests = 0
            while tokens < budget / 2:
                tokens, requests = tokens + own[requests][1], requests + 1
            counts = report["families"][family][place]
            assert (counts["generated_tokens"], counts["requests"]) == (tokens, requests)
            total += tokens
        assert report["budgets"][place]["generated_tokens"] == total


def test_candidates_stand_in_the_run_and_every_generation_was_ranked(finished):
    ranking = read_report(finished)["ranking"]
    rows = pq.read_table(finished / "candidates" / "part-00000.parquet").to_pylist()
    assert ranking["candidates"] == len(rows) > 0
    assert ranking["reference"] == "reference"
    assert ranking["picked_by_score"]["zlib"] == 10  # five of each family
    generated = sum(
        PartStore(str(finished / "generations")).read(name).num_rows
        for name in PartStore(str(finished / "generations")).complete()
    )
    assert ranking["generations"] == generated
    assert ranking["calibration"]["by_score"] is None and "no corpus" in ranking["calibration"]["reason"]
    with (finished / "candidates.csv").open(encoding="utf-8") as handle:
        assert "text" not in next(csv.reader(handle))


def test_every_number_on_the_page_stands_in_the_report_before_and_after_verdicts(finished, tmp_path, command):
    html = (finished / "report.html").read_text(encoding="utf-8")
    assert unexplained(html, read_report(finished)) == set()
    said = verdicts(finished, tmp_path / "verdicts.csv", ["yes", "no", "no", "unsure", ""])
    status, out, _ = command("confirm", finished, tmp_path / "verdicts.csv")
    assert status == 0
    report = read_report(finished)
    confirmed = report["ranking"]["confirmed"]["all"]
    assert confirmed["confirmed"] == said.count("yes")
    assert confirmed["checked"] == said.count("yes") + said.count("no")
    assert f"all scores: {said.count('yes')} of {confirmed['checked']} checked" in out
    html = (finished / "report.html").read_text(encoding="utf-8")
    assert unexplained(html, report) == set()
    assert "Confirmed by people" in html and "this is no share of all text" in html


def test_verdicts_outlive_a_run_that_goes_on_until_other_candidates_are_picked(folder, tmp_path, command):
    out = tmp_path / "ranked"
    run_pipeline(small(folder, "budgets=[500]"), out, None, False)
    verdicts(out, tmp_path / "verdicts.csv", ["yes"])
    command("confirm", out, tmp_path / "verdicts.csv")
    score = next((out / "scores").iterdir()) / "part-00000.parquet"
    written = score.stat().st_mtime_ns
    run_pipeline(small(folder, "budgets=[500]"), out, None, False)
    assert read_report(out)["ranking"]["confirmed"]["all"]["confirmed"] > 0
    run_pipeline(small(folder, "budgets=[3000]"), out, None, False)
    report = read_report(out)
    assert score.stat().st_mtime_ns == written  # scored once
    assert report["ranking"]["confirmed"] is None
    assert report["budgets"][0]["generated_tokens"] >= 3000


def test_no_gate_passes_on_it_and_nothing_compares_with_it(finished, folder, tmp_path, command):
    (tmp_path / "policy.yaml").write_text(
        "rules: [{kind: at_most, count: private_windows, limit: 1000, budget: 1500}, {kind: complete}]"
    )
    status, out, _ = command("gate", finished, "--policy", tmp_path / "policy.yaml")
    assert status == 3 and "hold" in out
    status, _, err = command("compare", finished, finished, "--out", tmp_path / "compared")
    assert status == 2 and "was not searched" in err and len(err.strip().splitlines()) == 1


def test_the_command_ends_with_what_to_do_next(folder, tmp_path, command):
    (tmp_path / "small.yaml").write_text(
        json.dumps(small(folder, "budgets=[200]").model_dump(mode="json", by_alias=True))
    )
    status, out, _ = command("run", tmp_path / "small.yaml", "--out", tmp_path / "run")
    assert status == 0
    assert "The corpus was not searched" in out and "extraction confirm" in out
    paths = [line for line in out.splitlines() if line.startswith(str(tmp_path))]
    assert [Path(line).name for line in paths] == ["report.html", "report.json", "candidates.csv"]
    assert all(Path(line).exists() for line in paths)
    status, out, _ = command("report", tmp_path / "run")
    assert status == 0 and out.splitlines() == [str(tmp_path / "run" / "report.html")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["corpus.sources=[a.jsonl]"], "`corpus`: kind: unsearchable, and yet `sources`"),
        (["corpus.kind=training"], "or, where no text can be searched, set kind: unsearchable"),
        (["ranking=null"], "unsearchable leaves nothing to measure; add a section `ranking`"),
        (["control={text: [a.jsonl]}"], "name the base model as ranking.reference instead"),
        (["ranking.engine.devise=cpu"], "`ranking.engine.devise`: no such field; did you mean `device`?"),
        (["model={tokenizer: bytes}", "engine={kind: deterministic}"], "name it as model.path"),
        (["model.adapter=adapters/mine"], "only vllm scores with model.adapter"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(folder, changes, message):
    with pytest.raises(InputError) as error:
        small(folder, *changes)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_missing_reference_is_refused_before_anything_is_generated(folder, tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        run_pipeline(small(folder, "ranking.reference.path=nowhere"), tmp_path / "run", None, False)
    assert not (tmp_path / "run").exists()


def test_an_incomplete_run_is_worded_as_one(finished, tmp_path):
    report = read_report(finished) | {
        "status": "incomplete",
        "incomplete": [{"reason": "requests that failed", "count": 7, "requests": ["empty-000000003"]}],
    }
    report["limitations"] = build_limitations(report)
    text = Page(render_report(report, tmp_path)[0].read_text(encoding="utf-8")).text
    assert "Incomplete run" in text and "requests that failed (7)" in text
    assert "incomplete" in report["limitations"][0]


def test_nothing_is_left_of_its_texts_after_a_purge(finished, folder, tmp_path, command):
    """Scores lie one folder deeper than other parts, a folder for each reference."""
    run = shutil.copytree(finished, tmp_path / "ranked")
    (run / "candidates.csv").unlink()
    run_pipeline(small(folder), run, None, False)
    scores = next((run / "scores").iterdir()) / "part-00000.parquet"
    table = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(path=str(folder / "model"))))
    before = pq.read_table(scores)
    texts = [table.decode(ids) for ids in before["token_ids"].to_pylist()]
    texts = [text[:40] for text in texts if len(text) >= 40]
    assert {"part-00000.parquet"} <= set(leftovers(run, texts, table))
    report = read_report(run)
    status, out, err = command("purge", run)
    assert status == 0, err
    assert str(scores.relative_to(run)) in out and "not known" not in out
    assert leftovers(run, texts, table) == []
    after = pq.read_table(scores)
    assert set(map(tuple, after["token_ids"].to_pylist())) == {()}
    assert after.drop(["token_ids", "prompt_token_ids"]) == before.drop(["token_ids", "prompt_token_ids"])
    assert command("report", run)[0] == 0 and read_report(run) == report
    status, _, err = command("rank", run, "--model", folder / "model", "--out", tmp_path / "again")
    assert status == 2 and "purged" in err
