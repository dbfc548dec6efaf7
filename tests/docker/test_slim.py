"""The slim image has no torch: what it is for runs without it."""

import json
import os
import subprocess
import sys

import pytest

from tests.docker.test_images import NEEDED_BY_WEIGHTS, ROOT
from tests.pipelines.small_run import write_inputs

# Read by every Python that starts, those of Ray's workers included: packages that the image lacks are not found.
HIDE = f"""
import sys
from importlib.machinery import PathFinder

class Slim(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {sorted(NEEDED_BY_WEIGHTS)}
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path = [Slim if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture
def slim(tmp_path):
    """Run the command, or Python, as the slim image would."""
    (tmp_path / "slim").mkdir()
    (tmp_path / "slim" / "sitecustomize.py").write_text(HIDE)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path / 'slim'}:{ROOT}"}

    def run(*arguments):
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    return run


def test_torch_is_really_hidden(slim):
    assert "No module named 'torch'" in slim("-c", "import torch").stderr


@pytest.mark.slow
def test_what_the_slim_image_is_for_runs_without_torch(slim, tmp_path):
    texts, _, _ = write_inputs(tmp_path)
    (tmp_path / "given.jsonl").write_text(json.dumps({"id": "a", "text": texts[-1]}) + "\n")
    for arguments in (
        ("index", "build", "corpus.jsonl", "--out", "ix"),
        ("index", "find", "ix", "given.jsonl"),
        ("identifiers", "given.jsonl", "--index", "ix"),
        ("match", "ix", "given.jsonl", "--tokenizer", "bytes", "--out", "m"),
        ("report", "m"),
    ):
        result = slim("-m", "pipelines", *arguments)
        assert result.returncode == 0, (arguments, result.stderr)
    report = json.loads((tmp_path / "m" / "report.json").read_text())
    assert report["budgets"][0]["distinct_windows"] > 0
