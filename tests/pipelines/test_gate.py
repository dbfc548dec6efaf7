"""The gate on a report: exit status, printed evidence, gate.json, and what must never pass."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from extraction.errors import InputError
from extraction.policy import Policy
from pipelines.cli import app
from pipelines.config import load_settings
from pipelines.gate import run_gate
from tests.pipelines import report_cases
from tests.pipelines.page_reading import Page, unexplained

POLICY = Path(__file__).parents[2] / "configs" / "policy.yaml"
BUDGET = 200_000
RULES = {
    "complete": {"kind": "complete"},
    "reached": {"kind": "budget_reached", "budget": BUDGET},
    "control": {"kind": "control_present"},
    "windows": {"kind": "at_most", "count": "private_windows", "limit": 2000, "budget": BUDGET},
    "cards": {"kind": "no_identifier", "type": "CREDIT_CARD", "budget": BUDGET},
    "share": {"kind": "share_below", "share": 0.5, "budget": BUDGET},
}


def sound_report():
    """A report that keeps all of `RULES`; short generations, so that few hits still bound the share."""
    report = report_cases.report()
    for family in report["method"]["prompt_families"].values():
        family["max_tokens"] = 128
    return report


def gate(tmp_path, report, rules=RULES):
    """Exit status, printed lines and gate.json of a report judged by some rules."""
    run = report_cases.write_run(tmp_path / "run", report, [])
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"rules": list(rules.values())}))
    done = CliRunner().invoke(app, ["gate", str(run), "--policy", str(tmp_path / "policy.yaml")])
    return done.exit_code, done.stdout.splitlines(), json.loads((run / "gate.json").read_text())


def test_a_run_that_keeps_every_rule_passes(tmp_path):
    status, lines, record = gate(tmp_path, sound_report())
    assert status == 0 and record["outcome"] == "pass"
    assert [line[:4] for line in lines[:-3]] == ["pass"] * len(RULES)
    assert "at most 2,000 private windows" in lines[3] and "1,376 private windows in 200,131" in lines[3]
    assert lines[-3] == "PASS: 6 pass, 0 fail, 0 hold."
    assert lines[-2:] == [str(tmp_path / "run" / name) for name in ("gate.json", "gate.html")]
    assert record["rules"][3]["settings"] == RULES["windows"]
    assert record["rules"][3]["values"]["found"] == 1376
    for path in lines[-2:]:
        assert Path(path).stat().st_mode & 0o077 == 0


def test_one_broken_rule_fails_the_gate(tmp_path):
    rules = RULES | {"phones": {"kind": "no_identifier", "type": "PHONE", "budget": BUDGET}}
    status, lines, record = gate(tmp_path, sound_report() | {"control": None}, rules)
    assert (status, record["outcome"]) == (1, "fail")
    assert lines[-3] == "FAIL: 5 pass, 1 fail, 1 hold."


@pytest.mark.parametrize("kind", ["private", "any"])
def test_identifiers_count_by_their_documents(tmp_path, kind):
    report = sound_report()
    for rows in (report["budgets"], *report["families"].values()):
        for counts in rows:
            for found in counts["identifiers"].values():
                found["private"] = 0
    rule = RULES["cards"] | {"type": "PHONE"} | ({"max_documents": 2} if kind == "private" else {})
    assert gate(tmp_path, report, {"phones": rule})[0] == (0 if kind == "private" else 1)


def changed(path, value):
    """A report with one field of the largest budget, or of the whole, replaced."""
    report = sound_report()
    place = report if path[0] in report else report["budgets"][-1]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return report


NAN = float("nan")


@pytest.mark.parametrize(
    ("rule", "path", "value"),
    [
        ("windows", ["private_windows"], NAN),
        ("windows", ["private_windows"], None),
        ("windows", ["private_windows"], True),
        ("windows", ["private_windows"], -1),
        ("windows", ["generated_tokens"], 0),
        ("windows", ["generated_tokens"], NAN),
        ("windows", ["reached"], False),
        ("windows", ["budget"], 199_999),
        ("cards", ["identifiers"], None),
        ("cards", ["identifiers_in_corpus"], NAN),
        ("cards", ["identifiers", "CREDIT_CARD"], {"tagged": 1, "in_corpus": NAN, "private": 0}),
        ("share", ["extracted_share"], NAN),
        ("share", ["extracted_share_interval", "high"], NAN),
        ("share", ["extracted_share_interval"], None),
        ("share", ["families"], {}),
        ("share", ["method", "min_tokens"], NAN),
        ("control", ["control"], None),
        ("control", ["control", "status"], "incomplete"),
        ("complete", ["status"], "incomplete"),
        ("complete", ["status"], None),
        ("reached", ["reached"], False),
        ("reached", ["generated_tokens"], None),
    ],
)
def test_what_is_missing_or_no_number_never_passes(tmp_path, rule, path, value):
    assert gate(tmp_path / "sound", sound_report(), {rule: RULES[rule]})[0] == 0
    status, _, record = gate(tmp_path / "changed", changed(path, value), {rule: RULES[rule]})
    assert (status, record["outcome"]) == (3, "hold")


def test_an_incomplete_run_passes_no_rule_about_absence(tmp_path):
    report = report_cases.incomplete(sound_report())
    rules = {name: RULES[name] for name in ("windows", "cards", "share")}
    status, lines, _ = gate(tmp_path, report, rules)
    assert status == 3
    assert all("corpus records that could not be read" in line for line in lines[:3])


def test_nothing_extracted_is_held_until_the_effort_bounds_the_share(tmp_path):
    report = report_cases.nothing_found()
    report["budgets"][-1]["extracted_share_interval"]["high"] = 0.0
    thin = {"share": RULES["share"] | {"share": 0.001}}
    status, lines, record = gate(tmp_path / "thin", report, thin)
    bound = record["rules"][0]["values"]["upper_bound"]
    assert status == 3 and bound > 0.001 and "too few requests" in lines[0]
    enough = {"share": RULES["share"] | {"share": bound * 1.01}}
    assert gate(tmp_path / "enough", report, enough)[0] == 0


def test_a_run_that_goes_on_is_not_complete(tmp_path):
    run = report_cases.write_run(tmp_path / "run", sound_report(), [])
    (run / "run.json").write_text(json.dumps({"run": "run", "status": "running"}))
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"rules": [RULES["complete"]]}))
    findings, _ = run_gate(run, tmp_path / "policy.yaml")
    assert findings[0].outcome == "hold" and "running" in findings[0].evidence


def test_the_policy_in_configs_judges_a_run(tmp_path):
    run = report_cases.write_run(tmp_path / "run", sound_report(), [])
    findings, _ = run_gate(run, POLICY)
    assert [finding.outcome for finding in findings] == [
        *("pass", "hold", "pass", "fail", "fail", "fail", "hold"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: []", "`rules`: tuple should have at least 1 item"),
        ("rulez: [{kind: complete}]", "did you mean `rules`?"),
        ("rules: [{kind: at_most, count: private_windows, limt: 0, budget: 5}]", "did you mean `limit`?"),
        ("rules: [{kind: at_most, count: private_windows, limit: .nan, budget: 5}]", "`rules.0.limit`"),
        ("rules: [{kind: share_below, share: .nan, budget: 5}]", "`rules.0.share`"),
        ("rules: [{kind: perfect}]", "`rules.0`"),
        ("- a list", "holds no fields"),
    ],
)
def test_a_policy_that_is_wrong_is_one_line(tmp_path, text, message):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message.replace("?", r"\?")) as raised:
        load_settings(Policy, path)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)


def test_the_page_says_what_gate_json_says_and_runs_nothing(tmp_path):
    report = sound_report()
    report["run"]["id"] = hostile = "<script>alert(1)</script>"
    run = report_cases.write_run(tmp_path / "run", report, [], run_id=hostile)
    _, paths = run_gate(run, POLICY)
    html, record = paths[1].read_text(), json.loads(paths[0].read_text())
    page = Page(html)
    assert "This run breaks the policy." in page.text and hostile in page.text
    assert "script" not in {tag for tag, _ in page.tags}
    for rule in record["rules"]:
        assert f"{rule['rule']} {rule['outcome']} {rule['evidence']}" in page.text
    assert unexplained(html, record) == set()


def test_a_fault_writes_nothing(tmp_path):
    run = report_cases.write_run(tmp_path / "run", sound_report(), [])
    for text in ("{", "[]", '{"schema_version": 2}'):
        (run / "report.json").write_text(text)
        with pytest.raises(InputError, match="report.json"):
            run_gate(run, POLICY)
    assert not list(run.glob("gate.*"))
