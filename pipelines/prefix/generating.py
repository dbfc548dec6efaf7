"""Generates what was planned, as the sampling stage does: each request once, whatever was killed."""

from functools import partial

from pipelines.generate import GenerationJob, publish_failed
from pipelines.plan import planned_parts
from pipelines.pool import ATTEMPTS, Pool, Resources
from pipelines.progress import LineProgress, progress, say


def generate_planned(label: str, job: GenerationJob, workers: int) -> None:
    """Generate every planned part that is not there yet; requests of a part that fails three times count as failed.

    Args:
        label: what the progress says.
        job: what each worker does.
        workers: how many run side by side.

    Raises:
        InputError: no worker can start.
        OSError: the disk is full or may not be written.
    """
    done = job.generations.markers()
    pending = [part.name for part in planned_parts(job.plan) if part.name not in done]
    if not pending:
        return
    held = Resources(workers, job.engine.cpus_per_worker, job.engine.gpus_per_worker)
    with progress(label, "parts", len(pending)) as shown:
        Pool(job, held, lambda _name, _facts: shown.advance(1), partial(_give_up, job, shown)).run(pending)


def _give_up(job: GenerationJob, shown: LineProgress, name: str) -> None:
    say(f"{name}: given up after {ATTEMPTS} attempts")
    publish_failed(job, name)
    shown.advance(1)
