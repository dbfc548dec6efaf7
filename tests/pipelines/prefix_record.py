"""A record of the prefix test as `extraction prefix` writes it, of made-up numbers: for the looks of its page alone."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from extraction.discoverable.cutting import REASONS, TOO_SHORT
from extraction.discoverable.draws import discoverable
from extraction.discoverable.outcomes import Readings, Rules, outcome
from extraction.discoverable.recovery import recovery
from extraction.discoverable.screen import Screened, distribution, extractable
from extraction.games.leaks import by_documents, leaked
from extraction.games.ranking import judged
from pipelines.prefix.leaking import NO_RUN
from pipelines.prefix.result import LIMITATIONS, SCHEMA_VERSION

RULES = Rules((1, 10, 100, 1000), (0.5, 0.9), 50, 0.1)
HOSTILE = "</title><script>alert(1)</script><img src=//evil.example/x>" + "a-very-long-name-" * 8
LENGTHS, BUDGETS = (10, 50, 200), (10_000, 1_000_000_000)
NAMES = ("model", "control")


def record() -> dict[str, Any]:
    """Everything was asked: two models, a run, the screen and the games; it is incomplete, and names are hostile."""
    made = {
        "schema_version": SCHEMA_VERSION,
        "run": {"id": HOSTILE, "created": "2026-01-02T03:04:05+00:00", "name": "prefix", "seed": 7},
        "status": "incomplete",
        "incomplete": [
            {"reason": "requests that failed", "count": 3, "requests": ["reconstruction-000000001"]}
        ],
        "method": _method(),
        "sample": {"documents": 300, "corpus_documents": 1_234_567},
        "lengths": [_length(place, tokens) for place, tokens in enumerate(LENGTHS)],
        "main_length": 50,
        "by_copies": _bins(),
        "by_documents": _bins(),
        "low_entropy": {"targets": 4, "by_model": _outcomes(4, 0)},
        "agreement": {name: {"targets": 300, "agree": 299} for name in NAMES},
        "recovery": _recovery(),
        "screen": _screen(),
        "games": _games(),
        "limitations": list(LIMITATIONS),
    }
    found: dict[str, Any] = json.loads(json.dumps(made))
    return found


def nothing_asked() -> dict[str, Any]:
    """One model, no target that could be asked about, no run, no screen; games without a sentence."""
    made = record()
    made |= {"status": "complete", "incomplete": [], "by_copies": [], "by_documents": []}
    made |= {"recovery": None, "screen": None, "low_entropy": {"targets": 0, "by_model": {"model": None}}}
    made["method"]["control"] = None
    made["agreement"] = {"model": {"targets": 0, "agree": 0}}
    for row in made["lengths"]:
        row |= {"targets": 0, "by_model": {"model": None}}
    empty = {"all": None, "never_seen": None}
    extraction = {"corpus_identifiers": None, "model": None, "control": None, "reason": NO_RUN}
    made["games"] = {"sentences": 0, "samples": 8, "top": [1], "extraction": extraction}
    made["games"]["model"] = {"too_long": 0, "not_a_number": 0, "reconstruction": empty, "inference": empty}
    return made


def _method() -> dict[str, Any]:
    stop_strings = {"value": ["\n", HOSTILE], "from": "config"}
    return {
        "model": HOSTILE,
        "control": "base",
        "corpus": {
            "kind": "training",
            "documents": 1_300_000,
            "distinct_documents": 1_234_567,
            "fingerprint": "ab" * 16,
        },
        "sampling": {"temperature": {"value": 0.9, "from": "config"}, "stop_strings": stop_strings},
        "opening": "first",
        "by": "tokens",
        "target_tokens": 50,
        "most_edits": 5,
        "continuations": 256,
        "draws": list(RULES.draws),
        "certainties": list(RULES.certainties),
        "fingerprints": {},
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "stages": {"draw documents": {"seconds": 12.3, "peak_memory_bytes": 10**9}},
    }


def _readings(targets: int, shift: int) -> Readings:
    """Targets of which the first come out, and fewer of a model that is shifted away from them."""
    log_probability = -np.linspace(0.01, 30, targets) - 40.0 * shift
    return Readings(log_probability, log_probability > -8, np.arange(targets) % 12)


def _outcomes(targets: int, place: int) -> dict[str, Any]:
    found = {name: outcome(_readings(targets, number), RULES) for number, name in enumerate(NAMES)}
    return {name: one and asdict(one) for name, one in found.items()}


def _length(place: int, tokens: int) -> dict[str, Any]:
    targets = 300 - 90 * place
    return {
        "prefix_tokens": tokens,
        "targets": targets,
        "low_entropy": place,
        "not_counted": {"too_long": place, "failed": 0, "not_a_number": 0},
        "several_continuations": 40 - 20 * place,
        "more_continuations": 5 * (place == 0),
        "by_model": _outcomes(targets, place),
        "left_out": dict.fromkeys(REASONS, 0) | {TOO_SHORT: 90 * place},
    }


def _bins() -> list[dict[str, Any]]:
    edges = ((1, 1), (2, 2), (11, 50), (1001, None))
    return [
        {"from": low, "to": high, "targets": 40 + place, "by_model": _outcomes(40 + place, place)}
        for place, (low, high) in enumerate(edges)
    ]


def _recovery() -> dict[str, Any]:
    readings = _readings(210, 0)
    budgets = []
    for place, budget in enumerate(BUDGETS):
        written = np.arange(210) % (7 - 4 * place) == 0
        by: list[dict[str, Any]] = [
            {"draws": None, "certainty": None, **asdict(recovery(readings.greedy, written))}
        ]
        for draws in RULES.draws:
            out = discoverable(readings.log_probability, draws, 0.5)
            by.append({"draws": draws, "certainty": 0.5, **asdict(recovery(out, written))})
        budgets.append({"budget": budget, "reached": not place, "by": by})
    return {"run": HOSTILE, "complete": False, "prefix_tokens": 50, "budgets": budgets}


def _screen() -> dict[str, Any]:
    sizes = np.full(100, 4000)
    document = np.repeat(np.arange(100), 10)
    by_model = {}
    for number, name in enumerate(NAMES):
        found = Screened(-np.linspace(0.01, 90, 1000) - 60.0 * number, document, sizes)
        by_model[name] = {
            "stretches": 1000,
            "left_out": {reason: 2 for reason in REASONS if reason != TOO_SHORT},
            "too_long": 1,
            "not_a_number": 1 - number,
            "low_entropy": 12,
            "extractable": [
                asdict(extractable(found, n, p, 10**9)) for n in RULES.draws for p in RULES.certainties
            ],
            "distribution": [asdict(one) for one in distribution(found)],
            "reason": None,
        }
    sample = {"prefix_tokens": 50, "documents": 100, "corpus_documents": 1_234_567, "corpus_bytes": 10**9}
    return sample | {"by_model": by_model}


def _games() -> dict[str, Any]:
    corpus = {("PERSON", f"person {n}"): 1 + n * 3 for n in range(60)}
    made = set(list(corpus)[::2])
    section: dict[str, Any] = {"sentences": 200, "samples": 32, "top": [1, 10]}
    leaks: dict[str, Any] = {"corpus_identifiers": 60, "reason": None}
    for number, name in enumerate(NAMES):
        ranks = np.arange(200) % (40 + 200 * number)
        own = {"reconstruction": judged(ranks, ranks % 9, (1, 10), False)}
        own["inference"] = judged(ranks + 1, np.full(200, 100), (1, 10), True)
        both = {game: {"all": asdict(one), "never_seen": None} for game, one in own.items() if one}
        section[name] = {"too_long": 3 * number, "not_a_number": 0, **both}
        values = made if not number else set()
        leaks[name] = {
            "run": "run-1",
            "complete": True,
            "budgets": [asdict(leaked(values, corpus, set(), budget, True)) for budget in BUDGETS],
            "by_documents": [asdict(row) for row in by_documents(values, corpus)],
        }
    return section | {"extraction": leaks}
