"""One Ray for all tests: starting it takes seconds."""

import pytest

from pipelines.pool import cluster


@pytest.fixture(scope="session")
def ray_cluster():
    with cluster(None):
        yield
