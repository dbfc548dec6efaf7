"""What clusters do, on a real one of three nodes: after each fault every planned request is there exactly once."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml

from extraction.records import GENERATION_SCHEMA, REQUEST_SCHEMA
from pipelines.parts import PartStore
from tests.extraction.tiny_models import byte_level_tokenizer, llama
from tests.pipelines.faulty import SECRET, Faults, as_argument
from tests.pipelines.small_run import WORDS, raw_config, write_inputs

ROOT = Path(__file__).parents[2]
PARTS = 12
# By default a dead node is noticed after half a minute, and metrics move every ten seconds.
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_failure_threshold": 3,
    "metrics_report_interval_ms": 500,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Inputs that are named by relative paths: they are found only from in there."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    write_config(folder, "small.yaml")
    return folder


def write_config(folder, file, **changes):
    """One round of 48 requests in 12 parts."""
    raw = raw_config(Path("."), budgets=[14400], max_requests=48, part_requests=4) | changes
    (folder / file).write_text(yaml.safe_dump(raw))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A head without cores of its own and two nodes of one core, all with a working directory that holds nothing."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1)
            yield cluster
        finally:
            cluster.shutdown()


class Run:
    """One run directory, its driver and its faults."""

    def __init__(self, folder, nodes, out, config="small.yaml"):
        self.folder, self.nodes, self.out, self.config = folder, nodes, out, config
        self.faults = out.parent / f"{out.name}-faults"

    @contextmanager
    def driver(self, **faults):
        shutil.rmtree(self.faults, ignore_errors=True)
        self.faults.mkdir()
        arguments = [
            self.config,
            self.out,
            self.nodes.address,
            as_argument(Faults(str(self.faults), **faults)),
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipelines.faulty", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def ends(self, **faults):
        """Run to the end; the status and the log."""
        with self.driver(**faults) as process:
            return self.rest(process)

    @staticmethod
    def rest(process):
        log, _ = process.communicate(timeout=120)
        assert SECRET not in log and "Traceback" not in log
        return process.returncode, log

    def held(self, process):
        """Wait until a worker stands still in the middle of its part; its process id."""
        until(lambda: (self.faults / "hold").exists() and (self.faults / "hold").read_text(), process)
        return int((self.faults / "hold").read_text())

    def published(self):
        """When and where the files of each published part were written."""
        return {
            file.name: (file.stat().st_mtime_ns, file.stat().st_ino)
            for marker in self.out.glob("generations/*.done")
            for file in (marker, marker.with_suffix(".parquet"))
        }

    def rows(self):
        plan = PartStore(str(self.out / "plan")).read_all(REQUEST_SCHEMA)
        generations = PartStore(str(self.out / "generations")).read_all(GENERATION_SCHEMA)
        planned = plan["request_id"].to_pylist()
        assert generations["request_id"].to_pylist() == planned
        assert len(set(planned)) == len(planned) == 4 * PARTS
        return generations


def until(condition, process=None, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "it never came to this"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(folder, nodes, tmp_path_factory):
    run = Run(folder, nodes, tmp_path_factory.mktemp("undisturbed") / "run")
    status, log = run.ends()
    assert status == 0, log
    return run


@pytest.fixture
def run(folder, nodes, undisturbed, tmp_path):
    return Run(folder, nodes, tmp_path / "run")


def test_workers_that_are_killed_in_mid_part_and_before_the_marker(run, undisturbed):
    with run.driver(hold="part-00003", die_before_marker="part-00005") as process:
        worker = run.held(process)
        before = run.published()
        os.kill(worker, signal.SIGKILL)
        status, log = run.rest(process)
    assert status == 0, log
    for name in ("part-00003", "part-00005"):
        assert f"{name}: a worker failed (ActorDiedError: its process died), attempt 1 of 3" in log
    assert before.items() <= run.published().items()
    assert run.rows() == undisturbed.rows()


def test_a_node_that_is_removed(run, nodes, undisturbed):
    with run.driver(hold="part-00003") as process:
        raylet = psutil.Process(run.held(process)).ppid()
        node = next(n for n in nodes.worker_nodes if n.all_processes["raylet"][0].process.pid == raylet)
        before = run.published()
        nodes.remove_node(node, allow_graceful=False)
        try:
            status, log = run.rest(process)
        finally:
            nodes.add_node(num_cpus=1)
    assert status == 0, log
    assert "part-00003: a worker failed (ActorDiedError: its node died), attempt 1 of 3" in log
    assert before.items() <= run.published().items()
    assert run.rows() == undisturbed.rows()


def test_workers_wait_for_a_node_with_gpus_and_each_has_its_own(run, nodes, undisturbed):
    with run.driver(gpus=2) as process:
        until(lambda: (run.out / "plan" / "round-00000.done").exists(), process)
        assert not run.published()
        node = nodes.add_node(num_cpus=2, num_gpus=4)  # says so; Ray takes its word
        try:
            status, log = run.rest(process)
        finally:
            nodes.remove_node(node)
    assert status == 0, log
    held = [set(file.read_text().split(",")) for file in run.faults.glob("gpus-*")]
    assert held and all(len(own) == 2 for own in held) and sum(map(len, held)) == len(set().union(*held))
    assert run.rows() == undisturbed.rows()


def test_a_driver_that_is_killed_and_started_again(run, undisturbed):
    with run.driver(hold="part-00003") as process:
        worker = run.held(process)
        process.kill()
        before = run.published()
    until(lambda: not psutil.pid_exists(worker))
    status, log = run.ends()
    assert status == 0, log
    assert before and before.items() <= run.published().items()
    assert run.rows() == undisturbed.rows()


def test_an_engine_that_dies_while_loading_and_one_that_dies_under_load(run, undisturbed):
    status, log = run.ends(die_loading=True, engine_dies=True)
    assert status == 0, log
    assert "a worker failed to start (ActorDiedError: its process died), attempt 1 of 3" in log
    said = re.findall(r"a worker failed \(RuntimeError, pipelines/generate\.py:\d+\), attempt 1 of 3", log)
    assert len(said) == 1
    assert run.rows() == undisturbed.rows()


def test_a_disk_that_is_full(run, undisturbed):
    run.out.mkdir()
    # A real file system without room, not a limit of the process: what fails is every write, the small ones too.
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", run.out], capture_output=True
    ).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        status, log = run.ends()
        assert status == 2, log
        assert log.splitlines()[-1].startswith(f"extraction: {run.out}/generations/part-000")
        assert log.splitlines()[-1].endswith(
            "No space left on device; mend it and run the same command again"
        )
        before = run.published()
        subprocess.run(["mount", "-o", "remount,size=4m", run.out], check=True)
        status, log = run.ends()
        assert status == 0, log
        assert before and before.items() <= run.published().items()
        assert run.rows() == undisturbed.rows()
    finally:
        subprocess.run(["umount", run.out], check=True)


def test_a_part_that_is_cut_short(run, undisturbed):
    shutil.copytree(undisturbed.out, run.out)
    cut = run.out / "generations" / "part-00004.parquet"
    os.truncate(cut, cut.stat().st_size // 2)
    before = run.published()
    status, log = run.ends()
    assert status == 0, log
    assert f"{cut}: cut short since it was written; its requests are generated again" in log
    changed = {name for name, facts in run.published().items() if before[name] != facts}
    assert changed == {"part-00004.parquet", "part-00004.done"}
    assert run.rows() == undisturbed.rows()


def test_workers_that_publish_where_the_driver_does_not_see_it(run, tmp_path):
    status, log = run.ends(elsewhere=str(tmp_path / "of-the-node"))
    assert status == 2
    assert "12 parts that workers published are not here, first part-00000; let --out be a folder" in log


@pytest.mark.slow
def test_a_prompt_that_is_too_long_fails_alone(folder, run, tmp_path):
    model = llama(tmp_path / "model", positions=128)
    byte_level_tokenizer(model)
    families = {
        "empty": {"share": 0.5},
        "public": {"share": 0.5, "min_prompt_tokens": 5, "max_prompt_tokens": 200},
    }
    write_config(
        folder,
        "long.yaml",
        model={"path": str(model)},
        engine={"kind": "transformers", "batch_size": 4},
        sampling={"max_tokens": 8},
        budgets=[48 * 8],
        prompts={"families": families, "public_text": ["public.txt"]},
    )
    run.config = "long.yaml"
    status, log = run.ends()
    assert status == 0, log
    rows = run.rows().to_pylist()
    failed = [row["request_id"] for row in rows if row["finish_reason"] == "failed"]
    assert failed == [row["request_id"] for row in rows if len(row["prompt_token_ids"]) >= 128]
    assert 0 < len(failed) < len(rows) / 2
    assert all(row["token_ids"] for row in rows if row["request_id"] not in failed)
    assert f"{len(failed)} requests failed" in log.splitlines()[-1]


def scrape(nodes):
    """What Prometheus would read of the run `metered`, from every node."""
    ports = {node["MetricsExportPort"] for node in nodes.global_state.node_table() if node["Alive"]}
    urls = [f"http://127.0.0.1:{port}/metrics" for port in ports]
    pages = [urllib.request.urlopen(url, timeout=5).read().decode() for url in urls]
    lines = [line for page in pages for line in page.splitlines() if line.startswith("ray_extraction")]
    return [line for line in lines if 'run="metered"' in line]


def without_tags(line):
    name, value = line.partition("{")[0], line.rpartition("}")[2]
    return name.removeprefix("ray_extraction_") + value


def test_prometheus_reads_numbers_and_no_text(folder, run, nodes):
    write_config(folder, "metered.yaml", name="metered")
    run.config = "metered.yaml"
    with run.driver(hold="part-00003", lost="public-000000001") as process:
        worker = run.held(process)
        until(lambda: len(run.published()) == 2 * (PARTS - 1), process)
        markers = PartStore(str(run.out / "generations")).markers().values()
        done = f"tokens_done {sum(facts['tokens'] for facts in markers)}.0"
        until(lambda: done in [without_tags(line) for line in scrape(nodes)], process)
        lines = scrape(nodes)
        os.kill(worker, signal.SIGKILL)
        assert run.rest(process)[0] == 0
    read = dict(without_tags(line).split() for line in lines)
    assert set(read) == {
        "failed_requests_total",
        "generated_tokens_total",
        "tokens_done",
        "tokens_planned",
        "tokens_per_second",
        "seconds_left",
    }
    assert (read["tokens_planned"], read["failed_requests_total"]) == ("14400.0", "1.0")
    assert read["generated_tokens_total"] == read["tokens_done"]
    assert not any(word in line for line in lines for word in WORDS)


@pytest.mark.slow
def test_an_index_and_a_whole_run_on_nodes_that_do_not_know_the_relative_paths(folder, nodes):
    def extraction(*arguments):
        command = [sys.executable, "-m", "pipelines", *arguments, "--ray-address", nodes.address]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        assert ended.returncode == 0, ended.stderr

    extraction("index", "build", "corpus.jsonl", "--out", "ix")
    write_config(folder, "whole.yaml", corpus={"index": "ix"}, analysis_workers=2)
    extraction("run", "whole.yaml", "--out", "whole")
    report = json.loads((folder / "whole" / "report.json").read_text())
    assert report["status"] == "complete"
    assert report["budgets"][0]["distinct_windows"] > 0
