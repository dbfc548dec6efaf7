"""Configurations: every file in configs/ loads and plans; every mistake gets one line that says what to do."""

from pathlib import Path

import pytest
import yaml

from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
from extraction.prompts import load_prompts
from pipelines.config import load_config, parse_config
from pipelines.parts import PartStore
from pipelines.plan import (
    Progress,
    check_reachable,
    next_round,
    planned_parts,
    progress_of,
    read_requests,
    write_round,
)
from tests.pipelines.small_run import raw_config, write_inputs

SERVER = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model_name": "m"}
CONFIGS = Path(__file__).parents[2] / "configs"
OTHERS = {
    CONFIGS / f"{name}.yaml" for name in ("policy", "membership", "canaries", "prefix", "gmint_paper")
}  # their commands test them
RUNS = sorted(set(CONFIGS.glob("*.yaml")) - OTHERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_config_loads_and_plans(path, folder, tmp_path):
    config = load_config(path, [f"prompts.public_text=[{folder / 'public.txt'}]"])
    tokenizer = load_tokenizer(ModelSettings(tokenizer="bytes"))
    families = {name: f for name, f in config.prompts.families.items() if f.kind != "repeat" and not f.chat}
    prompts = load_prompts(
        config.prompts.model_copy(update={"families": families}), tokenizer, config.seed, 256
    )
    longest = config.prompts.longest(256)
    check_reachable(config, longest)
    wanted = next_round(config, longest, {})
    assert set(wanted) == set(config.prompts.families)
    assert sum(n * longest[f] for f, n in wanted.items()) >= max(config.budgets)
    plan = PartStore(str(tmp_path / "plan"))
    few = {name: min(wanted[name], 2 * config.part_requests + 1) for name in families}
    parts = write_round(plan, prompts, few, {}, config.part_requests)
    assert planned_parts(plan) == parts
    assert sum(read_requests(plan, part).num_rows for part in parts) == sum(few.values())


def test_the_name_of_each_config_is_its_file():
    for path in RUNS:
        if "name" in (raw := yaml.safe_load(path.read_text())):
            assert raw["name"] == path.stem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budgts": [1]}, "`budgts`: no such field; did you mean `budgets`?"),
        (
            {"sampling": {"temprature": 1}},
            "`sampling.temprature`: no such field; did you mean `temperature`?",
        ),
        ({"engine": {"kind": "transformers", "batchsize": 1}}, "did you mean `batch_size`?"),
        ({"prompts": {"families": {"empty": {"shares": 1}}}}, "did you mean `share`?"),
        ({"budgets": ["many"]}, "`budgets.0`: input should be a valid integer"),
        ({"budgets": []}, "`budgets`: "),
        ({"min_tokens": 15}, "`min_tokens`: input should be greater than or equal to 16"),
        ({"min_bytes": 60}, "min_bytes is larger than min_tokens"),
        ({"corpus": {}}, "`corpus`: name `sources` to build an index from"),
        ({"name": "a/b"}, "`name`: "),
        ({"budgets": [10, 10]}, "one stands there twice"),
        ({"engine": {"kind": "vlm"}}, "`engine`: "),
        ({"engine": {"kind": "vllm", "tensor_parallel_size": 2}}, "gpus_per_worker: set it to 2"),
        (
            {
                "engine": {**SERVER, "protocol": "chat"},
                "prompts": {"families": {"empty": {"share": 1, "chat": True}}},
            },
            "prompts.families.empty.chat: the server writes its own chat template",
        ),
        (
            {"engine": SERVER, "control": {"model": {"tokenizer": "bytes"}}},
            "control.model: the server has the model under test alone",
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(folder, change, message):
    with pytest.raises(InputError) as error:
        parse_config(raw_config(folder, **change), "my.yaml")
    assert message in str(error.value)
    assert str(error.value).startswith("my.yaml: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("public", "source"),
    [
        ("corpus.jsonl", "corpus.jsonl"),
        ("texts/public.txt", "texts"),
        ("texts", "texts/corpus.jsonl"),
        (".", "a"),
    ],
)
def test_prompts_from_the_corpus_under_test_must_be_asked_for(folder, public, source):
    raw = raw_config(folder, corpus={"sources": [str(folder / source)]})
    raw["prompts"] |= {"public_text": [str(folder / public)]}
    with pytest.raises(
        InputError, match=r"prompts.public_text: .* is part of corpus.sources; .*public_text_is_corpus"
    ):
        parse_config(raw, "my.yaml")
    raw["prompts"]["public_text_is_corpus"] = True
    assert parse_config(raw, "my.yaml").prompts.public_text_is_corpus


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("a: [", "not YAML at line"),
        ("- 1", "holds no fields"),
        ("", "holds no fields"),
    ],
)
def test_a_file_that_is_no_config(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_config(path)


def test_fields_are_overridden_from_the_command_line(folder, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(raw_config(folder)))
    config = load_config(
        path, ["sampling.temperature=0.5", "budgets=[1, 2]", "prompts.families.empty.max_tokens=9"]
    )
    assert config.sampling.temperature == 0.5
    assert config.budgets == (1, 2)
    assert config.prompts.families["empty"].max_tokens == 9
    for bad in ("seed", "seed.x=1", "=1", "seed=[", "sed=1"):
        with pytest.raises(InputError):
            load_config(path, [bad])


def test_a_family_whose_requests_all_failed_gets_no_more(folder):
    config = parse_config(raw_config(folder, budgets=[1000]), "small")
    done = {"empty": Progress(requests=4, tokens=0), "public": Progress(requests=4, tokens=28)}
    assert set(next_round(config, {"empty": 300, "public": 300}, done)) == {"public"}


def test_rounds_go_on_until_the_largest_budget_is_reached(folder, tmp_path):
    config = parse_config(raw_config(folder, budgets=[1000], part_requests=3), "small")
    prompts = load_prompts(config.prompts, load_tokenizer(config.model), config.seed, 300)
    plan, facts, done = PartStore(str(tmp_path)), {}, {}
    for _ in range(20):
        wanted = next_round(config, prompts.longest(), done)
        if not wanted:
            break
        for part in write_round(plan, prompts, wanted, done, config.part_requests):
            facts[part.name] = {"tokens": part.requests * 7}  # every output is 7 tokens long
        done = progress_of(planned_parts(plan), facts)
    assert {family: p.tokens >= 500 for family, p in done.items()} == {"empty": True, "public": True}
    assert all(72 <= p.requests <= 90 for p in done.values())
    numbers = [n for part in planned_parts(plan) for n in read_requests(plan, part)["request_id"].to_pylist()]
    assert len(set(numbers)) == len(numbers) == sum(p.requests for p in done.values())
