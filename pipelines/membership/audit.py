"""Answers a question about membership that was declared beforehand, or says why it has no answer."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.membership.baseline import blind_baseline
from extraction.membership.comparability import differences
from extraction.membership.evaluation import evaluate
from extraction.membership.gate import measure, underpowered
from extraction.membership.score_files import Scores, read_table, score_names, scores_in
from extraction.membership.usable import EMPTY_COHORT, OVERLAP, UNDERPOWERED, UNMATCHED
from extraction.model import model_fingerprint, tokenizer_fingerprint
from pipelines.digests import file_digest
from pipelines.membership.cohorts import Cohort, Record, read_cohorts
from pipelines.membership.config import AuditConfig, digest_of
from pipelines.membership.ledger import (
    AUDITED,
    Ledger,
    declaration_of,
    delete_after,
    plan_digest,
)
from pipelines.membership.result import (
    MEASURED,
    AttackResult,
    AuditResult,
    Comparison,
    Counted,
    Hold,
    Subgroup,
    write_result,
)
from pipelines.membership.scoring import CHUNK, Scoring
from pipelines.progress import progress

LENGTH, NO_SCORE = "length in characters", "no score"
RECORD_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("member", pa.bool_()),
        ("score_name", pa.string()),
        ("score", pa.float64()),
        ("called_member", pa.bool_()),
    ]
)
LIMITATIONS = (
    "It says how well these attacks tell these cohorts apart, not whether a given person's record was used.",
    "A better attack, or one that sees more of the model, may find what these do not.",
    "Records are counted as independent; where groups hold many records, the intervals are too narrow.",
)
MADE_ELSEWHERE = (
    "The scores were made elsewhere: that they keep to the declared scope and date cannot be checked here."
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A declared question, and what it is asked of.

    Attributes:
        config: of the audit.
        declaration: the ledger's entry.
        digests: of model, tokenizer, reference, scores' file, cohorts, config and plan; None where there is none.
    """

    config: AuditConfig
    declaration: Mapping[str, Any]
    digests: Mapping[str, str | None]


@dataclass(frozen=True)
class Sides:
    """Scores of both cohorts' kept records, members first.

    Attributes:
        by_score: float64[records] for each declared attack; NaN where a record has none.
        cut: records longer than the model's context.
    """

    by_score: Mapping[str, Floats]
    cut: int


def run_audit(config: AuditConfig) -> tuple[AuditResult, list[Path]]:
    """Audit, write result.json, and keep the record-level scores in the ledger alone.

    Args:
        config: as it was declared; the model, the scope and the scores' file may be others.

    Returns:
        The result, and the paths written.

    Raises:
        InputError: the plan was not declared, or another one was, or something cannot be read; nothing is written.
        SourceError: records beside the cohorts cannot be read.
    """
    declared = declaration_of(config)
    asked = Asked(config, declared, _digests(config, declared))
    members, others = cohorts = read_cohorts(config)
    comparison = _compare(config, members, others) if members.kept and others.kept else None
    sides = _scores(config, cohorts) if comparison else Sides({}, 0)
    result = _result(asked, cohorts, comparison, sides).with_id()
    os.makedirs(config.folder, mode=0o700, exist_ok=True)
    ledger = Ledger(config.ledger)
    entry = {"name": config.name, "result": result.id, "plan": asked.digests["plan"], "scope": config.scope}
    # First the entry: a purge finds record-level scores by it, and none may lie there without one.
    ledger.append(AUDITED, {**entry, "model": result.digests["model"], "delete_after": delete_after(config)})
    records = ledger.keep_records(result.id, _record_table(config, cohorts, sides))
    return result, [write_result(result, config.folder), records]


def _compare(config: AuditConfig, members: Cohort, others: Cohort) -> Comparison:
    columns = [_columns(cohort.kept, config) for cohort in (members, others)]
    groups = [one.group or f"alone {n}" for n, one in enumerate([*members.kept, *others.kept])]
    texts = [[one.words for one in cohort.kept] for cohort in (members, others)]
    baseline = blind_baseline(texts[0], texts[1], groups, config.seed)
    return Comparison(differences(columns[0], columns[1], config.max_difference), baseline)


def _columns(records: Sequence[Record], config: AuditConfig) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [one.values[name] for one in records] for name in config.compare}
    if config.text_column is not None:
        found[LENGTH] = [len(one.text or "") for one in records]
    return found


def _scores(config: AuditConfig, cohorts: tuple[Cohort, Cohort]) -> Sides:
    if config.scores is not None:
        return Sides(_made_elsewhere(config.scores, config, cohorts), 0)
    names = [plan.score for plan in config.attacks]
    if config.model is None:
        raise InputError("membership audit: name a `model`, or `scores`")
    scoring = Scoring.load(config.model, config.scoring, names, config.device)
    texts = [one.text or "" for cohort in cohorts for one in cohort.kept]
    scored = []
    with progress("score", "records", len(texts)) as shown:
        for start in range(0, len(texts), CHUNK):
            scored += scoring.score(texts[start : start + CHUNK])
            shown.advance(len(texts[start : start + CHUNK]))
    return Sides(
        {name: np.array([one.scores[name] for one in scored]) for name in names},
        sum(one.cut > 0 for one in scored),
    )


def _made_elsewhere(path: Path, config: AuditConfig, cohorts: tuple[Cohort, Cohort]) -> dict[str, Floats]:
    table = read_table(path)
    if len(config.attacks) > 1 and score_names(table, path) == [None]:
        raise InputError(f"{path}: no column 'name', which says which attack a score is of")
    names = [plan.score for plan in config.attacks]
    return {name: _of_kept(scores_in(table, path, name=name), path, cohorts) for name in names}


def _of_kept(found: Scores, path: Path, cohorts: tuple[Cohort, Cohort]) -> Floats:
    """The scores of both cohorts' kept records, NaN where one has none."""
    by_id = {key: (bool(found.member[n]), float(found.score[n])) for n, key in enumerate(found.ids)}
    scores = []
    for member, cohort in zip((True, False), cohorts, strict=True):
        for one in cohort.kept:
            side, score = by_id.get(one.id, (member, float("nan")))
            if side != member:
                raise InputError(f"{path}: `member` contradicts the cohorts; make the scores anew")
            scores.append(score)
    return np.array(scores)


def _result(
    asked: Asked, cohorts: tuple[Cohort, Cohort], comparison: Comparison | None, sides: Sides
) -> AuditResult:
    config = asked.config
    attacks = _attacks(config, cohorts, sides)
    holds = tuple(_holds(config, cohorts, comparison, attacks))
    subgroups, small = _subgroups(config, cohorts, sides)
    counted = _counted(cohorts, sides)
    return AuditResult(
        schema_version=1,
        id="",
        name=config.name,
        verdict=holds[0].hold if holds else MEASURED,
        holds=holds,
        scope=config.scope,
        declaration=str(asked.declaration["digest"]),
        repeats=_repeated(asked),
        digests=asked.digests,
        members=counted[0],
        nonmembers=counted[1],
        cut=sides.cut,
        attacks=attacks,
        subgroups=subgroups,
        small_subgroups=small,
        comparison=comparison,
        limitations=(*LIMITATIONS, MADE_ELSEWHERE) if config.scores else LIMITATIONS,
    )


def _counted(cohorts: tuple[Cohort, Cohort], sides: Sides) -> list[Counted]:
    """What became of the records; one without a finite score by each declared attack was not scored."""
    kept = [len(cohort.kept) for cohort in cohorts]
    scored = np.full(sum(kept), bool(sides.by_score))
    for values in sides.by_score.values():
        scored &= np.isfinite(values)
    found = []
    for cohort, own in zip(cohorts, np.split(scored, kept[:1]), strict=True):
        missing = {NO_SCORE: int((~own).sum())} if not own.all() else {}
        found.append(Counted(cohort.loaded, int(own.sum()), {**cohort.dropped, **missing}))
    return found


def _attacks(config: AuditConfig, cohorts: tuple[Cohort, Cohort], sides: Sides) -> tuple[AttackResult, ...]:
    count = len(cohorts[0].kept)
    split = {name: (values[:count], values[count:]) for name, values in sides.by_score.items()}
    together = {one.name: one.auc for one in measure(split)}
    return tuple(
        AttackResult(
            plan.score,
            plan.threshold,
            evaluate(_as_scores(cohorts, sides.by_score[plan.score]), plan.threshold, config.seed),
            together[plan.score],
        )
        for plan in config.attacks
        if plan.score in sides.by_score
    )


def _as_scores(cohorts: tuple[Cohort, Cohort], values: Floats, places: Sequence[int] | None = None) -> Scores:
    records = [
        (one.id, side) for side, cohort in zip((True, False), cohorts, strict=True) for one in cohort.kept
    ]
    chosen = range(len(records)) if places is None else places
    return Scores(
        ids=[records[n][0] for n in chosen],
        member=np.array([records[n][1] for n in chosen], dtype=np.bool_),
        score=values[list(chosen)],
        group=None,
    )


def _subgroups(
    config: AuditConfig, cohorts: tuple[Cohort, Cohort], sides: Sides
) -> tuple[tuple[Subgroup, ...], int]:
    """The attacks on each subgroup that is large enough, and how many are not."""
    records = [*cohorts[0].kept, *cohorts[1].kept] if sides.by_score else []
    found, small = [], 0
    for key in config.subgroups:
        for value in sorted({str(one.values[key]) for one in records}):
            places = [n for n, one in enumerate(records) if str(one.values[key]) == value]
            members = sum(n < len(cohorts[0].kept) for n in places)
            if min(members, len(places) - members) < config.smallest_subgroup:
                small += 1
                continue
            attacks = {
                plan.score: evaluate(
                    _as_scores(cohorts, sides.by_score[plan.score], places), plan.threshold, config.seed
                )
                for plan in config.attacks
            }
            found.append(Subgroup(key, value, attacks))
    return tuple(found), small


def _holds(
    config: AuditConfig,
    cohorts: tuple[Cohort, Cohort],
    comparison: Comparison | None,
    attacks: Sequence[AttackResult],
) -> Iterator[Hold]:
    """Why the audit is no evidence, the reason that weighs most first."""
    for name, cohort in zip(("members", "nonmembers"), cohorts, strict=True):
        if not cohort.kept:
            yield Hold(EMPTY_COHORT, f"no usable record among the {name}")
    for one in attacks:
        if one.evaluation.hold:
            yield Hold(one.evaluation.hold, f"scores of {one.score}")
    for name, cohort in zip(("members", "nonmembers"), cohorts, strict=True):
        if cohort.crossing > config.max_overlap * max(1, cohort.loaded):
            yield Hold(
                OVERLAP, f"{cohort.crossing:,} of {cohort.loaded:,} {name} also stand on the other side"
            )
    if comparison is None:
        return
    yield from _unmatched(comparison)
    sizes = [len(cohort.kept) for cohort in cohorts]
    if underpowered(sizes[0], sizes[1], len(config.attacks)):
        yield Hold(UNDERPOWERED, "chance alone goes beyond the margin in more than 5 % of tests")
    if comparison.baseline is None:
        yield Hold(UNMATCHED, "the blind baseline had too few records, or no words, to learn from")


def _unmatched(comparison: Comparison) -> Iterator[Hold]:
    for one in comparison.differences:
        if one.beyond:
            far = "wholly" if one.difference is None else f"by {one.difference:+.2f} standard deviations"
            yield Hold(UNMATCHED, f"{one.name} differs {far}")
    if comparison.baseline is not None and comparison.baseline.tells_apart:
        auc = comparison.baseline.auc.estimate
        yield Hold(UNMATCHED, f"words alone tell the cohorts apart, with an AUC of {auc:.3f}")


def _repeated(asked: Asked) -> str | None:
    """The first result of the same plan, where that was of another model or another scope."""
    for one in Ledger(asked.config.ledger).entries():
        if one["kind"] == AUDITED and one["plan"] == asked.digests["plan"]:
            other = one["model"] != asked.digests["model"] or one["scope"] != asked.config.scope
            return str(one["result"]) if other else None
    return None


def _digests(config: AuditConfig, declared: Mapping[str, Any]) -> dict[str, str | None]:
    model, reference = config.model, config.scoring.reference
    return {
        "model": None if model is None else model_fingerprint(model),
        "tokenizer": None if model is None else tokenizer_fingerprint(model),
        "reference": None if reference is None else model_fingerprint(reference),
        "scores": None if config.scores is None else file_digest(config.scores),
        "members": declared["plan"]["members"],
        "nonmembers": declared["plan"]["nonmembers"],
        "config": digest_of(config.model_dump(mode="json")),
        "plan": plan_digest(declared),
    }


def _record_table(config: AuditConfig, cohorts: tuple[Cohort, Cohort], sides: Sides) -> pa.Table:
    rows = []
    for plan in config.attacks:
        if plan.score not in sides.by_score:
            continue
        found = _as_scores(cohorts, sides.by_score[plan.score])
        rows += [
            {
                "id": found.ids[n],
                "member": bool(found.member[n]),
                "score_name": plan.score,
                "score": float(found.score[n]),
                "called_member": bool(found.score[n] >= plan.threshold),
            }
            for n in range(len(found.ids))
        ]
    return pa.Table.from_pylist(rows, schema=RECORD_SCHEMA)
