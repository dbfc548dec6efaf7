"""Where a command's parts are worked through: in this process, or on Ray."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pipelines.identify import Runner, run_here, run_parts
from pipelines.pool import cluster


@contextmanager
def runner(workers: int | None, ray_address: str | None = None) -> Iterator[Runner]:
    """Give what works through parts.

    Args:
        workers: how many work side by side, a core each; one works in this process, None takes every core.
        ray_address: the cluster to run on; None runs on this machine.
    """
    count = workers or len(os.sched_getaffinity(0))
    if count == 1 and ray_address is None:
        yield run_here
    else:
        with cluster(ray_address):
            yield partial(run_parts, workers=count)
