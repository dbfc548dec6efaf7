"""Runs to compare, for the tests of `extraction compare`."""

import json
import random

from pipelines.compare import compare_runs
from tests.pipelines import report_cases

TEXTS = [
    " ".join(random.Random(seed).choices("alpha bravo charlie delta echo fox golf".split(), k=60))
    for seed in range(9)
]


def passages(name, kinds):
    """Passages named by their text's number, so that equal numbers are equal texts."""
    return [(f"{name}{number}", kind, TEXTS[number], 60) for number, kind in kinds]


def write_two_runs(tmp_path):
    """Two runs: one private and one shared passage in common, two private ones and a shared one new, one gone."""
    first = report_cases.write_run(
        tmp_path / "first",
        report_cases.report(),
        passages("a", [(0, "private"), (1, "private"), (2, "shared")]),
    )
    second_report = report_cases.report()
    second_report["budgets"][-1]["private_passages"] = 31
    second = report_cases.write_run(
        tmp_path / "second",
        second_report,
        passages(
            "b",
            [
                (1, "private"),
                (3, "private"),
                (4, "private"),
                (2, "shared"),
                (5, "shared"),
                (6, "low_entropy"),
            ],
        ),
    )
    return first, second


def compared(runs, out, **options):
    paths = compare_runs(runs, out, **options)
    return json.loads(paths[0].read_text()), paths[1].read_text()
