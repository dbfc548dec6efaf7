"""The whole run on the real vLLM engine, inside a Ray actor; one load serves the test."""

import json
import os
from importlib.util import find_spec

import pytest

from extraction.records import GENERATION_SCHEMA
from pipelines.parts import PartStore
from pipelines.run import run_pipeline
from tests.extraction.tiny_models import byte_level_tokenizer, llama
from tests.pipelines.small_run import small_config, write_inputs

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        find_spec("vllm") is None,
        reason="vLLM is not installed in this environment; `make test-vllm` has one that has it",
    ),
]


def test_a_run_on_vllm_accounts_for_every_request_and_reports(tmp_path, ray_cluster):
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    folder = tmp_path / "inputs"
    write_inputs(folder)
    model = llama(tmp_path / "model")
    if not (model / "tokenizer.json").exists():
        byte_level_tokenizer(model)
    config = small_config(
        folder,
        model={"path": str(model), "dtype": "float32"},
        engine={"kind": "vllm", "enforce_eager": True, "gpus_per_worker": 0},
        sampling={"max_tokens": 40, "temperature": 1.2},
        budgets=[400, 1200],
        workers=1,
    )
    report = json.loads(run_pipeline(config, tmp_path / "run", None, skip_bad_records=False).read_text())
    rows = PartStore(str(tmp_path / "run" / "generations")).read_all(GENERATION_SCHEMA).to_pylist()
    assert len({row["request_id"] for row in rows}) == len(rows)
    assert {row["finish_reason"] for row in rows} <= {"stop", "length"}
    assert all(len(row["logprobs"]) == len(row["token_ids"]) for row in rows)
    assert len({tuple(row["token_ids"]) for row in rows}) > 0.9 * len(rows)
    assert report["status"] == "complete"
    assert [budget["reached"] for budget in report["budgets"]] == [True, True]
    total = sum(len(row["token_ids"]) for row in rows)
    assert report["budgets"][-1]["generated_tokens"] <= total
    assert report["method"]["engine"]["kind"] == "vllm"
