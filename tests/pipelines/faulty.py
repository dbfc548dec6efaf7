"""A driver whose workers fail to order; everything else is real.

`python -m tests.pipelines.faulty CONFIG OUT ADDRESS FAULTS` plans and generates as `extraction run` does and leaves the
later stages out. A fault happens once, whichever worker comes to it first: a file in the folder of the faults says
that it did, and which process it was.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path

from extraction.engines.results import failed
from pipelines import run
from pipelines.config import load_config
from pipelines.ending import status_of
from pipelines.generate import GenerationJob, generate
from pipelines.mend import forget_damaged
from pipelines.parts import MARKER, PartStore
from pipelines.paths import with_absolute_paths
from pipelines.pool import cluster
from pipelines.rundir import RunDirectory

SECRET = "a text that stands in no log"


@dataclass(frozen=True)
class Faults:
    """What happens to the workers of a run.

    Attributes:
        folder: where it is kept what happened already.
        hold: the part whose worker stands still between generating and publishing.
        die_before_marker: the part whose worker is killed when its file is there and its marker is not.
        die_loading: a worker is killed while its engine loads.
        engine_dies: an engine dies under load, and raises from then on.
        poison: the request with which every engine raises.
        lost: the request that comes back as failed.
        gpus: how many each worker holds.
        elsewhere: the folder that workers publish into, where it is another than the driver's.
    """

    folder: str
    hold: str = ""
    die_before_marker: str = ""
    die_loading: bool = False
    engine_dies: bool = False
    poison: str = ""
    lost: str = ""
    gpus: int = 0
    elsewhere: str = ""

    def first(self, fault):
        """Whether this is the first time, over all processes."""
        try:
            with open(f"{self.folder}/{fault}", "x") as handle:
                handle.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True)
class FaultyStore(PartStore):
    faults: Faults = Faults("")

    def __getstate__(self):
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def publish(self, name, table, facts):
        if name == self.faults.hold and self.faults.first("hold"):
            time.sleep(3600)
        super().publish(name, table, facts)

    def _write(self, name, data):
        if name == f"{self.faults.die_before_marker}{MARKER}" and self.faults.first("die_before_marker"):
            os.kill(os.getpid(), signal.SIGKILL)
        super()._write(name, data)


@dataclass
class FaultyEngine:
    """As vLLM does when its processes die: the call in hand fails, and so does every later one."""

    engine: object
    faults: Faults
    dead: bool = False

    def generate(self, requests):
        poisoned = self.faults.poison in [request.request_id for request in requests]
        self.dead = self.dead or poisoned or (self.faults.engine_dies and self.faults.first("engine_dies"))
        if self.dead:
            raise RuntimeError(SECRET)
        made = self.engine.generate(requests)
        return [
            failed(r) if r.request_id == self.faults.lost else g for r, g in zip(requests, made, strict=True)
        ]

    def settings_used(self):
        return self.engine.settings_used()


@dataclass(frozen=True)
class FaultyJob:
    job: GenerationJob
    faults: Faults

    @property
    def plan(self):
        return self.job.plan

    @property
    def generations(self):
        return self.job.generations

    @property
    def engine(self):
        return self.job.engine.model_copy(update={"gpus_per_worker": self.faults.gpus})

    @property
    def again(self):
        return self.job.again

    def start(self):
        from extraction import engines

        if self.faults.die_loading and self.faults.first("die_loading"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.faults.gpus:
            Path(self.faults.folder, f"gpus-{os.getpid()}").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
        load = engines.load_engine
        engines.load_engine = lambda *arguments: FaultyEngine(load(*arguments), self.faults)
        root = self.faults.elsewhere or self.job.generations.root
        return replace(self.job, generations=FaultyStore(root, self.faults)).start()


def main(config, out, address, faults):
    config = with_absolute_paths(load_config(Path(config)))
    generator = run.prepare(config)
    directory = RunDirectory(Path(out))
    forget_damaged(directory)
    stores = directory.store("plan"), directory.store("generations")
    job = GenerationJob(config.engine, config.model, generator.sampling, *stores)
    with cluster(address):
        generate(config, FaultyJob(job, Faults(**json.loads(faults))), generator.prompts, generator.longest)


def as_argument(faults):
    return json.dumps(asdict(faults))


if __name__ == "__main__":
    sys.exit(status_of(partial(main, *sys.argv[1:]), "extraction"))
