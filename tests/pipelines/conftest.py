"""One Ray for all tests, for starting it takes seconds; and the command, run in this process."""

import os
import sys

import pytest

from pipelines import cli
from pipelines.pool import cluster


@pytest.fixture(scope="session")
def ray_cluster():
    with cluster(None):
        yield


@pytest.fixture
def command(monkeypatch, capfd):
    """Run the command in this process: its status, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["extraction", *map(str, arguments)])
        before = os.umask(0o022)
        try:
            status = cli._status()
        finally:
            os.umask(before)
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run
