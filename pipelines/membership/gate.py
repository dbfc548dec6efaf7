"""The release gate over membership attacks: membership.json, and a section for the model card."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from extraction.errors import InputError
from extraction.membership.gate import DEFAULT_MARGIN, Attack, GateVerdict, judge, measure
from extraction.membership.score_files import read_table, score_names, scored_model, scores_in
from extraction.membership.usable import EMPTY_COHORT, OVERLAP, UNMATCHED
from pipelines.membership.card import card_section
from pipelines.membership.result import AuditResult, read_result
from pipelines.parts import write_json
from pipelines.report.pages import write_page

MARGIN_FIELD = "membership_margin"
EVIDENCE, CARD = "membership.json", "membership_card.md"
SCORE_FILES = (".csv", ".parquet", ".pq")
BLOCKING = (EMPTY_COHORT, OVERLAP, UNMATCHED)  # whatever the attacks achieve then, it is not membership


@dataclass(frozen=True)
class Measured:
    """What is judged.

    Attributes:
        name: the audit's, or the file's.
        id: the audit's result's; None for a file of scores.
        model: digest of the model; None where nothing says which it was.
        attacks: all that were declared.
        hold: why they say nothing about membership (`hold:*`).
    """

    name: str
    id: str | None
    model: str | None
    attacks: tuple[Attack, ...]
    hold: str | None


def run_gate(result: Path, card: Path, out: Path | None) -> tuple[GateVerdict, list[Path]]:
    """Judge the attacks on a model by the margin of its card.

    Args:
        result: what `membership audit` wrote, or a file of scores: each score in it is a declared attack.
        card: the model card; `membership_margin` in its metadata lowers the margin.
        out: where to write, usually the run directory of the same model; None: beside `result`.

    Returns:
        The verdict, and the paths written: membership.json and membership_card.md.

    Raises:
        InputError: the result or the card cannot be read, or the card raises the margin; nothing is written.
    """
    margin = card_margin(card)
    found = _scores(result) if result.suffix.lower() in SCORE_FILES else _audit(read_result(result))
    verdict = judge(found.attacks, margin, found.hold)
    folder = out or (result if result.is_dir() else result.parent)
    record = _record(found, verdict)
    section = card_section(found.name, record)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_json(str(folder / EVIDENCE), record)
    return verdict, [folder / EVIDENCE, write_page(folder / CARD, section)]


def card_margin(card: Path) -> float:
    """The margin that a model card sets, or the default.

    Raises:
        InputError: the card cannot be read, or sets no margin between 0.5 and the default.
    """
    margin = _metadata(card).get(MARGIN_FIELD, DEFAULT_MARGIN)
    known = isinstance(margin, int | float) and not isinstance(margin, bool) and math.isfinite(margin)
    if not known or margin < 0.5:
        raise InputError(f"{card}: `{MARGIN_FIELD}` must be a number from 0.5 to {DEFAULT_MARGIN}")
    if margin > DEFAULT_MARGIN:
        raise InputError(
            f"{card}: `{MARGIN_FIELD}` is {margin}; a card may lower the margin of {DEFAULT_MARGIN}, never raise it"
        )
    return float(margin)


def _metadata(card: Path) -> Mapping[str, Any]:
    """The metadata between the first two lines of `---`; empty where the card has none."""
    try:
        lines = card.read_text(encoding="utf-8-sig").lstrip().splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{card}: cannot be read; name the model's card, in Markdown") from None
    if not lines or lines[0].strip() != "---":
        return {}
    ends = [number for number, line in enumerate(lines) if number and line.strip() == "---"]
    try:
        found = yaml.safe_load("\n".join(lines[1 : ends[0]])) or {} if ends else None
    except (yaml.YAMLError, ValueError):  # the latter for a date that there is not
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{card}: its metadata is not YAML between two lines of ---; mend the card")
    return found


def _audit(result: AuditResult) -> Measured:
    blocking = [one.hold for one in result.holds if one.hold in BLOCKING]
    attacks = tuple(
        Attack(
            one.score, one.evaluation.members, one.evaluation.others, one.evaluation.hold, one.auc_together
        )
        for one in result.attacks
    )
    return Measured(
        result.name, result.id, result.digests.get("model"), attacks, blocking[0] if blocking else None
    )


def _scores(path: Path) -> Measured:
    table = read_table(path)
    names = score_names(table, path)
    if not names:
        raise InputError(f"{path}: no score in it; is this the file that you mean?")
    sides = {name or "score": scores_in(table, path, name=name).sides for name in names}
    return Measured(path.stem, None, scored_model(table), measure(sides), None)


def _record(found: Measured, verdict: GateVerdict) -> dict[str, Any]:
    attacks: Sequence[dict[str, Any]] = [
        {**asdict(one.attack), "verdict": one.verdict, "chance": one.chance} for one in verdict.attacks
    ]
    return {
        "schema_version": 1,
        "name": found.name,
        "outcome": verdict.verdict,
        "margin": verdict.margin,
        "hold": found.hold,
        "result": found.id,
        "model": found.model,
        "attacks": attacks,
    }
