"""Parts that were damaged after they were published: named, and made again together with all that came from them."""

from extraction.errors import InputError
from pipelines.parts import MARKER
from pipelines.progress import say
from pipelines.rundir import RunDirectory

# What is made from a part of generations and has its name, and what is made from all parts together.
FROM_ONE = ("spans", "matches/*", "control_matches/*", "identifiers", "repetitions", "scores/*")
FROM_ALL = ("identifiers/*", "reruns")


def forget_damaged(directory: RunDirectory) -> None:
    """Make sure that what was cut short is made again, and nothing is left of what came from it.

    A sampler that does not repeat itself gives other text the second time: spans and identifiers of the first
    would be counted with it.

    Raises:
        InputError: a file of the plan was cut short. It is not planned again, for later rounds depend on it.
    """
    plan = directory.store("plan")
    for name in plan.damaged():
        raise InputError(
            f"{plan.root}/{name}.parquet: cut short since it was written; restore it from a copy, or start in "
            "another directory"
        )
    generations = directory.store("generations")
    for name in generations.damaged():
        say(
            f"{generations.root}/{name}.parquet: cut short since it was written; its requests are generated again"
        )
        _forget_what_came_from(directory, name)


def _forget_what_came_from(directory: RunDirectory, name: str) -> None:
    patterns = [f"{stage}/{name}" for stage in FROM_ONE] + [f"{stage}/*" for stage in FROM_ALL]
    for pattern in patterns:
        for marker in directory.path.glob(f"{pattern}{MARKER}"):
            marker.unlink()
