"""A million generations are ranked in memory that does not grow with their texts; a process of its own measures it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATIONS = 1_000_000


@pytest.mark.slow
def test_a_million_generations_are_ranked_in_bounded_memory():
    command = [sys.executable, "tests/benchmarks/ranking.py", "million", "--generations", str(GENERATIONS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    found = json.loads(done.stdout)
    assert found["generations"] == GENERATIONS
    assert found["candidates"] > 0
    assert found["peak_gib"] < 1.5
