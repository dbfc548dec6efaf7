"""The whole run on the real vLLM engine, inside a Ray actor that is killed in the middle; one more takes over."""

import json
import os
import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from extraction.records import GENERATION_SCHEMA, REQUEST_SCHEMA
from pipelines.parts import PartStore
from pipelines.run import run_pipeline
from tests.extraction.tiny_models import byte_level_tokenizer, llama
from tests.pipelines.small_run import small_config, write_inputs

pytestmark = pytest.mark.vllm


def published(out):
    return {
        file.name: (file.stat().st_mtime_ns, file.stat().st_ino)
        for marker in out.glob("generations/*.done")
        for file in (marker, marker.with_suffix(".parquet"))
    }


@contextmanager
def worker_killed(out):
    """Kill the worker as soon as two parts are published; its processes, and what was published then."""
    found = {}

    def kill():
        while len(before := published(out)) < 4:
            time.sleep(0.01)
        family = psutil.Process().children(recursive=True)
        worker = next(p for p in family if p.name().startswith("ray::_Worker"))
        found.update(before=before, processes=[worker, *worker.children(recursive=True)])
        worker.kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield found
    killer.join(timeout=1)


def test_a_run_on_vllm_whose_worker_is_killed_accounts_for_every_request_and_reports(
    tmp_path, ray_cluster, capfd
):
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    folder = tmp_path / "inputs"
    write_inputs(folder)
    model = llama(tmp_path / "model")
    byte_level_tokenizer(model)
    config = small_config(
        folder,
        model={"path": str(model), "dtype": "float32"},
        engine={"kind": "vllm", "enforce_eager": True, "gpus_per_worker": 0},
        sampling={"max_tokens": 40, "temperature": 1.2},
        budgets=[400, 1200],
        part_requests=4,
        rerun_requests=4,
        workers=1,
    )
    out = tmp_path / "run"
    with worker_killed(out) as killed:
        report = json.loads(run_pipeline(config, out, None, skip_bad_records=False).read_text())
    assert "a worker failed (ActorDiedError: its process died), attempt 1 of 3" in capfd.readouterr().err
    assert killed["before"].items() <= published(out).items()
    # A process of vLLM that outlives its worker holds the GPU, and no other can start there.
    assert psutil.wait_procs(killed["processes"], timeout=30)[1] == []
    rows = PartStore(str(out / "generations")).read_all(GENERATION_SCHEMA).to_pylist()
    planned = PartStore(str(out / "plan")).read_all(REQUEST_SCHEMA)["request_id"].to_pylist()
    assert [row["request_id"] for row in rows] == planned
    assert len(set(planned)) == len(planned)
    assert {row["finish_reason"] for row in rows} <= {"stop", "length"}
    assert all(len(row["logprobs"]) == len(row["token_ids"]) for row in rows)
    assert len({tuple(row["token_ids"]) for row in rows}) > 0.9 * len(rows)
    assert report["status"] == "complete"
    assert [budget["reached"] for budget in report["budgets"]] == [True, True]
    total = sum(len(row["token_ids"]) for row in rows)
    assert report["budgets"][-1]["generated_tokens"] <= total
    engine = report["method"]["engine"]
    assert (engine["kind"], engine["dtype"], engine["max_length"]) == ("vllm", "float32", 128)
    assert report["method"]["rerun_requests"] == 4
