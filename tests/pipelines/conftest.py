"""One Ray for all tests, for starting it takes seconds; a browser; and the command, run in this process."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.ending import status_of
from pipelines.pool import cluster


@pytest.fixture(scope="session")
def ray_cluster():
    with cluster(None):
        yield


@pytest.fixture(scope="module")
def browser():
    """Chromium; it fetches nothing by itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
        )
        yield made
        made.close()


@pytest.fixture
def listening():
    """Ctrl-C is heard here and by commands started here: shells have what they start in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def violations():
    """What axe-core finds wrong on a page: rules, each with the first element that breaks it."""
    axe = os.environ.get("AXE")
    if not axe:
        pytest.skip("AXE does not name axe.min.js")

    def found(page):
        page.evaluate(Path(axe).read_text(encoding="utf-8"))
        return [(v["id"], v["nodes"][0]["html"]) for v in page.evaluate("axe.run()")["violations"]]

    return found


@pytest.fixture
def command(monkeypatch, capfd):
    """Run the command in this process: its status, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["extraction", *map(str, arguments)])
        before = os.umask(0o022)
        try:
            status = status_of(cli.app, cli.NAME)
        finally:
            os.umask(before)
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run
