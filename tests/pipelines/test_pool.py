"""The pool processes every part once, whatever its workers do."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import psutil
import pytest

from extraction.errors import InputError
from pipelines import pool
from pipelines.pool import Pool, Resources

pytestmark = pytest.mark.usefixtures("ray_cluster")


@dataclass(frozen=True)
class ScriptedJob:
    """Fails as its script says: `folder` keeps count of the attempts across processes."""

    folder: str
    die_on: tuple[str, ...] = ()
    die_times: int = 1
    raise_on_start: str = ""
    wait_for_workers: int = 0
    only_one_starts: bool = False
    start_seconds: float = 0
    with_child: bool = False

    def start(self):
        time.sleep(self.start_seconds)
        if self.only_one_starts:
            self.wait_unless_first()
        if self.raise_on_start == "input":
            raise InputError("model: no such folder; check `model.path`")
        if self.raise_on_start:
            raise RuntimeError("a secret text")
        open(f"{self.folder}/worker-{os.getpid()}", "w").close()
        return self.process

    def wait_unless_first(self):
        try:
            open(f"{self.folder}/first", "x").close()
        except FileExistsError:
            time.sleep(3600)

    def process(self, name):
        while len(glob(f"{self.folder}/worker-*")) < self.wait_for_workers:
            time.sleep(0.01)
        with open(f"{self.folder}/{name}", "a") as handle:
            handle.write("x")
        attempts = os.path.getsize(f"{self.folder}/{name}")
        if self.with_child:
            child = subprocess.Popen(["sleep", "3600"])
            Path(self.folder, f"child-{child.pid}").touch()
        if name in self.die_on and attempts <= self.die_times:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"pid": os.getpid()}


def run_pool(job, names, workers=2):
    done, failed = {}, []
    resources = Resources(workers, cpus=0.5)
    Pool(job, resources, lambda n, f: done.setdefault(n, []).append(f), failed.append).run(names)
    return done, failed


NAMES = [f"part-{i:05d}" for i in range(12)]


def test_every_part_is_done_once_by_several_workers(tmp_path):
    done, failed = run_pool(ScriptedJob(str(tmp_path), wait_for_workers=2), NAMES)
    assert sorted(done) == NAMES
    assert all(len(f) == 1 for f in done.values())
    assert failed == []
    assert len({f[0]["pid"] for f in done.values()}) == 2


def test_a_killed_worker_is_replaced_and_its_part_done_again(tmp_path):
    done, failed = run_pool(ScriptedJob(str(tmp_path), die_on=(NAMES[3],)), NAMES)
    assert sorted(done) == NAMES
    assert failed == []
    assert os.path.getsize(tmp_path / NAMES[3]) == 2


def test_what_a_killed_worker_started_ends_with_it(tmp_path):
    job = ScriptedJob(str(tmp_path), die_on=(NAMES[0],), with_child=True)
    assert run_pool(job, NAMES[:1], workers=1)[1] == []
    children = [int(file.rpartition("-")[2]) for file in glob(f"{tmp_path}/child-*")]
    assert len(children) == 2
    deadline = time.monotonic() + 20
    while any(psutil.pid_exists(child) for child in children):
        assert time.monotonic() < deadline, "it would hold a GPU"
        time.sleep(0.05)


def test_a_part_that_kills_three_workers_is_given_up_and_the_rest_goes_on(tmp_path, capfd):
    done, failed = run_pool(ScriptedJob(str(tmp_path), die_on=(NAMES[3],), die_times=99), NAMES, workers=1)
    assert failed == [NAMES[3]]
    assert sorted([*done, *failed]) == NAMES
    assert os.path.getsize(tmp_path / NAMES[3]) == 3
    assert "part-00003: a worker failed" in capfd.readouterr().err


def test_a_worker_that_cannot_start_ends_the_run_without_its_text(tmp_path, capfd):
    with pytest.raises(InputError, match="none could start"):
        run_pool(ScriptedJob(str(tmp_path), raise_on_start="other"), NAMES)
    said = capfd.readouterr().err
    assert "secret" not in said
    assert "(RuntimeError, pipelines/pool.py:" in said


def test_unusable_input_ends_the_run_at_once(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        run_pool(ScriptedJob(str(tmp_path), raise_on_start="input"), NAMES)


def test_workers_that_still_load_when_nothing_is_left_are_not_waited_for(tmp_path):
    done, failed = run_pool(ScriptedJob(str(tmp_path), only_one_starts=True), NAMES, workers=3)
    assert (sorted(done), failed) == (NAMES, [])
    assert {f[0]["pid"] for f in done.values()} == {int(glob(f"{tmp_path}/worker-*")[0].rpartition("-")[2])}


def test_the_workers_of_one_round_do_the_next(tmp_path):
    done, rounds = {}, [NAMES[:5], NAMES[5:6], NAMES[6:]]
    job = ScriptedJob(str(tmp_path), wait_for_workers=2)
    Pool(job, Resources(2, cpus=0.5), done.setdefault, None).run_rounds(iter(rounds))
    assert sorted(done) == NAMES
    assert len({facts["pid"] for facts in done.values()}) == 2 == len(glob(f"{tmp_path}/worker-*"))


def test_it_is_said_when_nobody_works_yet(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(pool, "PATIENCE_SECONDS", 0.2)
    run_pool(ScriptedJob(str(tmp_path), start_seconds=1), NAMES[:1])
    assert "1 workers load, or wait for a node with 0.5 cores and 0 GPUs free" in capfd.readouterr().err


def test_no_parts_is_no_work(tmp_path):
    assert run_pool(ScriptedJob(str(tmp_path)), []) == ({}, [])
