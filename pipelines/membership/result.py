"""The result of a membership audit: counts, rates, intervals and digests, and no record."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from extraction.errors import InputError
from extraction.membership.baseline import Baseline
from extraction.membership.comparability import Difference
from extraction.membership.evaluation import Evaluation
from extraction.membership.intervals import Interval
from pipelines.parts import write_json

MEASURED = "measured"
RESULT = "result.json"


@dataclass(frozen=True)
class Hold:
    """Why an audit is no evidence.

    Attributes:
        hold: `hold:*`.
        why: in words.
    """

    hold: str
    why: str


@dataclass(frozen=True)
class Counted:
    """What became of a cohort's records.

    Attributes:
        loaded: in its file.
        scored: of these, scored.
        dropped: the others, by reason.
    """

    loaded: int
    scored: int
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class AttackResult:
    """What one declared attack achieved.

    Attributes:
        score: its name.
        threshold: that was declared.
        evaluation: AUC, rates and gap, each with its own 95 % interval.
        auc_together: the AUC with bounds that hold at 95 % over all declared attacks.
    """

    score: str
    threshold: float
    evaluation: Evaluation
    auc_together: Interval | None


@dataclass(frozen=True)
class Subgroup:
    """What the attacks achieved on one subgroup; small ones are only counted.

    Attributes:
        key: the declared column.
        value: of it.
        attacks: their evaluations, by score.
    """

    key: str
    value: str
    attacks: Mapping[str, Evaluation]


@dataclass(frozen=True)
class Comparison:
    """Whether the cohorts differ in more than membership.

    Attributes:
        differences: standardised, of the declared columns and of the length.
        baseline: of a classifier that never saw the model; None where there was nothing to learn from.
    """

    differences: tuple[Difference, ...]
    baseline: Baseline | None


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit.

    Attributes:
        schema_version: 1.
        id: a digest of everything else here.
        name: the audit's.
        verdict: `measured`, or the first of `holds`.
        holds: why this is no evidence for or against a leak.
        scope: what a caller was taken to observe.
        declaration: the ledger's entry that fixed the plan beforehand.
        repeats: the plan's first result, where this one is of another model or scope.
        digests: of model, tokenizer, reference, scores' file, cohorts, config and plan; None where there is none.
        members: what became of the members' records.
        nonmembers: the same of the others.
        cut: records longer than the model's context.
        attacks: what each achieved.
        subgroups: the same on parts of the cohorts.
        small_subgroups: subgroups with too few records on a side to be told apart from persons.
        comparison: of the cohorts.
        limitations: sentences.
    """

    schema_version: int
    id: str
    name: str
    verdict: str
    holds: tuple[Hold, ...]
    scope: str
    declaration: str
    repeats: str | None
    digests: Mapping[str, str | None]
    members: Counted
    nonmembers: Counted
    cut: int
    attacks: tuple[AttackResult, ...]
    subgroups: tuple[Subgroup, ...]
    small_subgroups: int
    comparison: Comparison | None
    limitations: tuple[str, ...]

    def with_id(self) -> "AuditResult":
        """The same, named by the digest of its content."""
        return replace(self, id=_digest(asdict(self)))


def write_result(result: AuditResult, out: Path) -> Path:
    """Write result.json."""
    path = out / RESULT
    write_json(str(path), asdict(result))
    return path


def read_result(path: Path) -> AuditResult:
    """Read a result.

    Args:
        path: result.json, or the folder that holds it.

    Raises:
        InputError: there is none, or it is not as `audit` wrote it.
    """
    file = path / RESULT if path.is_dir() else path
    try:
        raw = json.loads(file.read_bytes())
        result = TypeAdapter(AuditResult).validate_python(raw)
        digest = _digest(raw)
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; make it with `extraction membership audit`") from None
    except (ValueError, ValidationError):
        raise InputError(
            f"{file}: no result of an audit; make it with `extraction membership audit`"
        ) from None
    if result.id != digest:
        raise InputError(f"{file}: `id` is not that of its content; it was changed, so audit again")
    return result


def _digest(content: Mapping[str, Any]) -> str:
    known = {name: value for name, value in content.items() if name != "id"}
    text = json.dumps(known, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
