"""A whole run against a real HTTP server: the key reaches the workers, and stands in no file."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from extraction.records import GENERATION_SCHEMA
from pipelines.parts import PartStore
from tests.extraction.test_endpoint_engine import KEY, CompletionsServer
from tests.pipelines.small_run import raw_config, write_inputs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(tmp_path):
    with CompletionsServer(tmp_path) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_server_is_asked_by_workers_and_its_key_stands_in_no_file(server, tmp_path):
    server.with_token_ids = False
    server.to_fail = [429, "drop", 503]
    write_inputs(tmp_path / "inputs")
    section = {
        "kind": "endpoint",
        "base_url": server.url,
        "model_name": "tiny",
        "api_key_env": "A_KEY_OF_MINE",
    }
    changes = {
        "engine": section,
        "model": {"tokenizer": str(tmp_path)},
        "sampling": {"max_tokens": 24},
        "prompts": {"families": {"empty": {"share": 1}}},
        "budgets": [200],
        "part_requests": 8,
        "rerun_requests": 4,
        "identifiers": {"types": ["ACCOUNT_NUMBER"]},
        "workers": 1,
        "analysis_workers": 1,
    }
    config, out = tmp_path / "served.yaml", tmp_path / "run"
    config.write_text(yaml.safe_dump(raw_config(tmp_path / "inputs", **changes)))
    ended = subprocess.run(
        [sys.executable, "-m", "pipelines", "run", str(config), "--out", str(out)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "A_KEY_OF_MINE": KEY},
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    rows = PartStore(str(out / "generations")).read_all(GENERATION_SCHEMA).to_pylist()
    assert len({row["request_id"] for row in rows}) == len(rows) >= 200 / 24
    assert all(row["tokenised_again"] and row["token_ids"] for row in rows)
    report = json.loads((out / "report.json").read_text())
    engine = report["method"]["engine"]
    assert (engine["model_name"], engine["tokenised_again"]) == ("tiny", len(rows))
    assert report["method"]["rerun_requests"] == 4
    written = [file.read_bytes() for file in out.rglob("*") if file.is_file()]
    assert len(written) > 10 and not any(KEY.encode() in data for data in written)
    assert KEY not in ended.stdout + ended.stderr
