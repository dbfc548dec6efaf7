"""The pool processes every part once, whatever its workers do."""

import os
import signal
import time
from dataclasses import dataclass
from glob import glob

import pytest

from extraction.errors import InputError
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

    def start(self):
        if self.raise_on_start == "input":
            raise InputError("model: no such folder; check `model.path`")
        if self.raise_on_start:
            raise RuntimeError("a secret text")
        open(f"{self.folder}/worker-{os.getpid()}", "w").close()
        return self.process

    def process(self, name):
        while len(glob(f"{self.folder}/worker-*")) < self.wait_for_workers:
            time.sleep(0.01)
        with open(f"{self.folder}/{name}", "a") as handle:
            handle.write("x")
        attempts = os.path.getsize(f"{self.folder}/{name}")
        if name in self.die_on and attempts <= self.die_times:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"pid": os.getpid()}


def run_pool(job, names, workers=2):
    done, failed = {}, []
    pool = Pool(
        job, Resources(workers, cpus=0.5), lambda n, f: done.setdefault(n, []).append(f), failed.append
    )
    pool.run(names)
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


def test_a_part_that_kills_three_workers_is_given_up_and_the_rest_goes_on(tmp_path, capfd):
    done, failed = run_pool(ScriptedJob(str(tmp_path), die_on=(NAMES[3],), die_times=99), NAMES, workers=1)
    assert failed == [NAMES[3]]
    assert sorted([*done, *failed]) == NAMES
    assert os.path.getsize(tmp_path / NAMES[3]) == 3
    assert "part-00003: a worker failed" in capfd.readouterr().err


def test_a_worker_that_cannot_start_ends_the_run_without_its_text(tmp_path, capfd):
    with pytest.raises(InputError, match="none could start"):
        run_pool(ScriptedJob(str(tmp_path), raise_on_start="other"), NAMES)
    assert "secret" not in capfd.readouterr().err


def test_unusable_input_ends_the_run_at_once(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        run_pool(ScriptedJob(str(tmp_path), raise_on_start="input"), NAMES)


def test_no_parts_is_no_work(tmp_path):
    assert run_pool(ScriptedJob(str(tmp_path)), []) == ({}, [])
