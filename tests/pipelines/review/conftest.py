import pytest

from tests.pipelines.review import cases


@pytest.fixture
def run(tmp_path):
    return cases.write_run(tmp_path / "run")
