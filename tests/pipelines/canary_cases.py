"""A record of scored canaries as `extraction canary score` writes it, made up: for the looks of its page alone."""

from typing import Any

from pipelines.canaries.score import CHANCE, summary, totals

FIT = {
    "shape": 0.4,
    "place": 61.2,
    "scale": 5.1,
    "statistic": 0.011,
    "p_value": 0.55,
    "note": "judged by itself",
}
BUDGETS = [10_000, 100_000, 1_000_000]


def record() -> dict[str, Any]:
    """Two formats, one of them extrapolated, with an extraction run beside them."""
    made: dict[str, Any] = {
        "schema_version": 1,
        "created": "2026-01-02T03:04:05+00:00",
        "score": "log_perplexity",
        "model": {"name": "models/" + "a-very-long-name-" * 8, "fingerprint": "ab" * 32},
        "key": {"seal": "cd" * 32, "records": 12_345, "seed": 7},
        "limits": {"enumerated": 10_000_000, "evaluations": 20_000, "seed": 0},
        "chance_exposure": CHANCE,
        "formats": [
            _format("account_number", 1_000_000, 19.93, "enumeration", None),
            _format("pass_phrase", 1_000_000_000, 29.9, "search and extrapolation", FIT),
        ],
        "canaries": [
            _canary(form, times, number)
            for form in (0, 1)
            for times in (0, 1, 10, 100)
            for number in range(5)
        ],
        "run": {"run": "chat-1", "complete": True, "budgets": BUDGETS, "reached": [True, True, False]},
        "versions": {"python": "3.11.7"},
    }
    return made | {"totals": totals(made), "summary": summary(made)}


def _format(name: str, space: int, maximum: float, method: str, fit: dict[str, Any] | None) -> dict[str, Any]:
    sampled = 0 if fit is None else 5000
    return {
        "name": name,
        "space": space,
        "maximum": maximum,
        "method": method,
        "sampled": sampled,
        "fit": fit,
        "search_evaluations": 4321,
    }


def _canary(form: int, times: int, number: int) -> dict[str, Any]:
    first = times == 100
    exposure = (19.93, 29.9)[form] if first else 1.5 + number / 3 + times / 2
    return {
        "id": f"{('account_number', 'pass_phrase')[form]}-x{times}-{number:03d}",
        "log_perplexity": 70.0 - exposure,
        "rank": None if form and not first else 1 + number * 1234.5 * (not first),
        "ties": number if not form else 0,
        "exposure": exposure,
        "low": exposure - form,
        "high": exposure + form,
        "format": ("account_number", "pass_phrase")[form],
        "insertions": times,
        "method": "enumeration" if not form else "search" if first else "extrapolation",
        "extracted": first,
        "search_evaluations": 300 if first else None,
        "first_budget": BUDGETS[number % 3] if first else None,
    }
