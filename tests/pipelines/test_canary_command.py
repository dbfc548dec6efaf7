import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pipelines.cli import app


def write(path: Path, canaries: dict[str, float], alternatives: list[float]) -> Path:
    rows = [f"{name},{score},1" for name, score in canaries.items()]
    rows += [f"a{n},{score},0" for n, score in enumerate(alternatives)]
    path.write_text("id,score,canary\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_worked_exposures(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", {"x": 0.0, "y": 3.5, "z": 4.0}, [float(n) for n in range(1, 17)])
    result = CliRunner().invoke(app, ["canary", "exposure", str(path)])
    assert result.exit_code == 0, result.output
    found = {one["id"]: one["exposure"] for one in json.loads(result.stdout)["canaries"]}
    assert found == {
        name: pytest.approx(bits, abs=5e-4) for name, bits in zip("xyz", (4.087, 2.087, 1.918), strict=True)
    }


def test_a_sample_is_extrapolated(tmp_path: Path) -> None:
    sample = np.random.default_rng(1).normal(50, 5, 500).tolist()
    path = write(tmp_path / "scores.csv", {"deep": 10.0}, sample)
    result = CliRunner().invoke(app, ["canary", "exposure", str(path), "--sampled"])
    (deep,) = json.loads(result.stdout)["canaries"]
    assert deep["low"] < deep["exposure"] < deep["high"]
    assert deep["low"] < 49.5 < deep["high"]  # a normal at 8 deviations


def test_a_missing_score_is_an_error_and_not_safe(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", {"x": float("nan")}, [1.0, 2.0])
    result = CliRunner().invoke(app, ["canary", "exposure", str(path)])
    assert "no finite number" in str(result.exception)


@pytest.mark.parametrize(("canaries", "alternatives"), [({}, [1.0, 2.0]), ({"x": 1.0}, []), ({}, [])])
@pytest.mark.parametrize("options", [[], ["--sampled"]])
def test_a_rank_among_nothing_is_refused(
    tmp_path: Path, canaries: dict[str, float], alternatives: list[float], options: list[str]
) -> None:
    path = write(tmp_path / "scores.csv", canaries, alternatives)
    result = CliRunner().invoke(app, ["canary", "exposure", str(path), *options])
    assert result.exit_code == 1 and "a rank needs both" in str(result.exception)
