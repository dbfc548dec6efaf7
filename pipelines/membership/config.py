"""The configuration of a membership audit: a question that is declared before any score is computed."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from extraction.membership.comparability import COMPARABLE
from extraction.membership.scopes import NEEDS, Scope, within
from extraction.membership.scores import NAMES
from extraction.model import ModelSettings
from extraction.settings import Settings
from pipelines.membership.settings import GMINT, ScoreSettings

ASKED_ANEW = ("model", "device", "scope", "scores", "out")
"""What may change between audits of one plan: another revision, or another view of it, wherever it runs."""


class AttackPlan(Settings):
    """One declared attack."""

    score: str = Field(min_length=1, description="The score, higher for members: `loss`, `min_k`, ...")
    threshold: float = Field(
        allow_inf_nan=False, description="Records that reach it are called members; fixed beforehand."
    )


class AuditConfig(Settings):
    """A membership audit."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80, description="Names the audit in the ledger."
    )
    members: Path = Field(description="Records that the model was trained on: Parquet, JSON lines, CSV.")
    nonmembers: Path = Field(description="The same of comparable records that it was not trained on.")
    model: ModelSettings | None = Field(None, description="The model under test.")
    device: Literal["cpu", "cuda"] = Field("cpu", description="Where the models run.")
    scores: Path | None = Field(
        None, description="Scores made elsewhere, as `evaluate` takes them, instead of scoring `model` here."
    )
    scope: Scope = Field(description="What a caller can really observe; no richer score is used.")
    attacks: tuple[AttackPlan, ...] = Field(min_length=1, description="The declared attacks.")
    scoring: ScoreSettings = Field(ScoreSettings(), description="What the scores need beside the model.")
    text_column: str | None = Field(
        "text", min_length=1, description="Column or key of the text; null where records have none."
    )
    id_column: str = Field("id", min_length=1, description="Column or key of the id.")
    group_column: str | None = Field(
        None,
        min_length=1,
        description="What a record belongs to (an account): a group stands on one side only.",
    )
    compare: tuple[str, ...] = Field(
        (),
        description="Columns that both cohorts must have alike: period, type, source; the length always is.",
    )
    subgroups: tuple[str, ...] = Field((), description="Columns whose values are evaluated one by one too.")
    max_difference: float = Field(
        COMPARABLE,
        gt=0,
        le=2,
        description="Largest standardised difference of cohorts that count as comparable.",
    )
    max_overlap: float = Field(
        0.05,
        ge=0,
        le=1,
        description="Largest share of a cohort that may also stand in the other and is dropped.",
    )
    near_duplicate: float = Field(
        0.7, gt=0, le=1, description="Estimated Jaccard similarity from which texts are near duplicates."
    )
    smallest_subgroup: int = Field(
        20, ge=5, le=10**6, description="Records on each side below which a subgroup is not shown."
    )
    seed: int = Field(0, ge=0, lt=2**32, description="Of the baseline's folds and the bootstrap.")
    ledger: Path = Field(description="The restricted folder of declarations and record-level scores.")
    retention_days: int = Field(
        90, ge=1, le=3650, description="Days after which record-level scores are due to be purged."
    )
    out: Path | None = Field(None, description="Where the result goes; default: audits/<name>.")

    @model_validator(mode="after")
    def _consistent(self) -> "AuditConfig":
        if self.model is None and self.scores is None:
            raise ValueError("name a `model` to score, or a file of `scores`")
        names = [attack.score for attack in self.attacks]
        if len(set(names)) != len(names):
            raise ValueError("attacks: a score stands there twice; declare each once")
        for name in names:
            self._allowed(name)
        return self

    def _allowed(self, name: str) -> None:
        if not within(name, self.scope):
            raise ValueError(f"attacks: {name} needs scope {NEEDS[name]}, which shows more than {self.scope}")
        if self.scores is None and name not in self.scoring.names:
            known = ", ".join(self.scoring.names)
            lacking = " with what `scoring` names" if name in (*NAMES, GMINT) else ""
            raise ValueError(f"attacks: {name} cannot be computed{lacking}; these can: {known}")
        if self.scores is None and self.text_column is None:
            raise ValueError("text_column: a language model scores texts; name their column")

    @property
    def folder(self) -> Path:
        """Where the result goes."""
        return self.out or Path("audits") / self.name

    def plan(self) -> dict[str, Any]:
        """What is fixed beforehand: everything but which model is asked, and how much of it is seen."""
        return self.model_dump(mode="json", exclude=set(ASKED_ANEW))


def digest_of(value: Any) -> str:
    """SHA-256 in hex of a value as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
