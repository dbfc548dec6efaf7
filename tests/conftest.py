"""What several test files share: the demo's corpus and its two models, made once in a test session."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from pipelines.demo import corpus
from pipelines.demo.train import train_base, train_target

SEED = 0
LONGEST = "test_demo.py"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """With EXTRACTION_REQUIRE_ALL, as in CI, a test that is skipped has failed: nothing may be missing there."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("EXTRACTION_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and EXTRACTION_REQUIRE_ALL is set: {report.longrepr[2]}"


def _in_turn(items: list[pytest.Item]) -> list[pytest.Item]:
    """Two files run side by side: the longest first; last those that use the models it trains, or they would wait."""
    waiting = {item.path for item in items if "demo" in getattr(item, "fixturenames", ())}
    return sorted(items, key=lambda item: (item.path.name != LONGEST, item.path in waiting))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `vllm` where it is not installed; the warnings that its own code raises are no errors."""
    items[:] = _in_turn(items)
    missing = find_spec("vllm") is None
    for item in items:
        if item.get_closest_marker("vllm"):
            item.add_marker(pytest.mark.filterwarnings("default"))
            if missing:
                reason = "vLLM is not installed in this environment; `make test-vllm` has one that has it"
                item.add_marker(pytest.mark.skip(reason))


@dataclass(frozen=True)
class Demo:
    """Where the demo's corpus and models lie."""

    corpus: Path
    base: Path
    target: Path
    truth: corpus.Truth


def _made_once(
    tmp_path_factory: pytest.TempPathFactory, worker: str, name: str, make: Callable[[Path], None]
) -> Path:
    # The workers of pytest-xdist share the folder above their own.
    own = tmp_path_factory.getbasetemp()
    directory = (own if worker == "master" else own.parent) / name
    with FileLock(f"{directory}.lock"):
        if not directory.exists():
            unfinished = directory.with_name(f"{name}.unfinished")
            make(unfinished)
            unfinished.rename(directory)
    return directory


@pytest.fixture(scope="session")
def worker(request: pytest.FixtureRequest) -> str:
    return getattr(request.config, "workerinput", {}).get("workerid", "master")


@pytest.fixture(scope="session")
def demo_corpus(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """Directory of the demo's corpus."""
    return _made_once(tmp_path_factory, worker, "demo-corpus", lambda path: corpus.write_corpus(path, SEED))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker: str, demo_corpus: Path) -> Demo:
    """The demo's corpus and its trained models; takes minutes the first time."""

    def make(path: Path) -> None:
        train_base(corpus.read_texts(demo_corpus / corpus.PUBLIC), path / "base")
        train_target(path / "base", corpus.read_texts(demo_corpus / corpus.TRANSCRIPTS), path / "target")

    models = _made_once(tmp_path_factory, worker, "demo-models", make)
    return Demo(demo_corpus, models / "base", models / "target", corpus.read_truth(demo_corpus))
