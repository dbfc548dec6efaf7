"""`extraction report RUN --prefix DIR`: what true openings bring out stands in the report of the run beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from extraction.errors import InputError
from pipelines.commands.report import report as report_command
from pipelines.report import read_report
from pipelines.report.recovery import add_recovery
from tests.pipelines import report_cases
from tests.pipelines.page_reading import unexplained

SHARE = {"estimate": 0.25, "low": 0.113, "high": 0.469, "method": "Wilson"}


def greedy(brought_out: int, both: int, share: dict[str, Any] | None) -> dict[str, Any]:
    return {"draws": None, "certainty": None, "brought_out": brought_out, "both": both, "share": share}


def prefix_test(folder: Path, **changes: Any) -> Path:
    """What a prefix test leaves, beside the run of the report cases."""
    draws = greedy(39, 31, SHARE) | {"draws": 100, "certainty": 0.9}
    recovery = {
        "run": report_cases.report()["run"]["id"],
        "complete": True,
        "prefix_tokens": 50,
        "budgets": [
            {"budget": 10000, "reached": True, "by": [greedy(0, 0, None), draws]},
            {"budget": 20000, "reached": False, "by": [greedy(28, 7, SHARE), draws]},
        ],
    }
    record = {
        "run": {"id": "prefix-0"},
        "status": "complete",
        "sample": {"documents": 58, "corpus_documents": 58},
        "method": {"target_tokens": 50},
        "recovery": recovery,
    }
    folder.mkdir()
    (folder / "prefix.json").write_text(json.dumps(record | changes), encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return report_cases.write_run(
        tmp_path / "run", report_cases.report(), [], report_cases.report()["run"]["id"]
    )


def test_recovery_by_greedy_decoding_stands_in_the_report_with_its_interval(
    tmp_path: Path, run: Path
) -> None:
    app = Typer()
    app.command()(report_command)
    result = CliRunner().invoke(app, [str(run), "--prefix", str(prefix_test(tmp_path / "prefix"))])
    assert result.exit_code == 0, result.output
    report = read_report(run)
    written = [(at["budget"], at["brought_out"], at["written"]) for at in report["recovery"]["budgets"]]
    assert written == [(10000, 0, 0), (20000, 28, 7)]
    html = (run / "report.html").read_text(encoding="utf-8")
    assert unexplained(html, report) == set()
    section = html[html.index('id="recovery"') :].partition("</section>")[0]
    assert "<td>28</td><td>7</td>" in section and "11.3" in section and "46.9" in section
    assert section.count("not reached") == 1
    again = CliRunner().invoke(app, [str(run)])
    assert again.exit_code == 0 and html == (run / "report.html").read_text(encoding="utf-8")


def test_an_incomplete_prefix_test_is_said_to_be_so(tmp_path: Path, run: Path) -> None:
    prefix = prefix_test(tmp_path / "prefix", status="incomplete")
    assert not add_recovery(run, read_report(run), prefix)["recovery"]["complete"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recovery": None}, "no recovery in it; name the run"),
        ({"recovery": {"run": "run-other", "prefix_tokens": 50, "budgets": []}}, "no recovery in it"),
        ({"status": "complete", "method": {}}, "no recovery in it"),
    ],
)
def test_a_test_without_recovery_is_one_line(
    tmp_path: Path, run: Path, changes: dict[str, Any], message: str
) -> None:
    before = (run / "report.json").read_bytes()
    with pytest.raises(InputError, match=message):
        add_recovery(run, read_report(run), prefix_test(tmp_path / "prefix", **changes))
    assert (run / "report.json").read_bytes() == before


def test_a_test_of_another_run_or_none_is_one_line(tmp_path: Path, run: Path) -> None:
    report = read_report(run)
    other = report | {"run": report["run"] | {"id": "run-other"}}
    with pytest.raises(InputError, match="another run"):
        add_recovery(run, other, prefix_test(tmp_path / "prefix"))
    with pytest.raises(InputError, match="not there; finish the test"):
        add_recovery(run, report, tmp_path)
