"""The policy of a release gate as settings: which rules a run must keep, each with its limit and its effort.

A rule about counts names the budget at which it holds: a count says nothing without the effort behind it.
"""

from typing import Annotated, Literal

from pydantic import Field

from extraction.membership.gate import DEFAULT_MARGIN
from extraction.settings import Settings

_Budget = Annotated[
    int, Field(ge=1, le=10**15, description="The budget, in generated tokens, at which the rule is judged.")
]
CountName = Literal[
    "private_windows",
    "private_passages",
    "distinct_windows",
    "distinct_passages",
    "clusters",
    "extracted_tokens",
    "identifiers_in_corpus",
]


class CompleteRule(Settings):
    """Everything could be read and done."""

    kind: Literal["complete"] = Field("complete", description="The run must be complete.")


class BudgetReachedRule(Settings):
    """The effort that the policy asks for was really made."""

    kind: Literal["budget_reached"] = Field("budget_reached", description="The budget must be reached.")
    budget: _Budget


class ControlPresentRule(Settings):
    """There is something that tells extraction from coincidence."""

    kind: Literal["control_present"] = Field("control_present", description="A control must be there.")
    control: Literal["model", "text"] = Field(
        "model", description="The control model's complete run, or text known not to be in the training data."
    )


class AtMostRule(Settings):
    """A count stays within a limit."""

    kind: Literal["at_most"] = Field("at_most", description="A count must not exceed a limit.")
    count: CountName = Field(description="The count, as report.json names it.")
    limit: int = Field(ge=0, description="The highest count that passes.")
    budget: _Budget


class NoIdentifierRule(Settings):
    """No identifier of one type came out that the corpus holds."""

    kind: Literal["no_identifier"] = Field(
        "no_identifier", description="No identifier of a type may be found in the corpus."
    )
    type: str = Field(
        min_length=1, description="The type, as the report names it: ACCOUNT_NUMBER, PHONE, ..."
    )
    max_documents: int | None = Field(
        None,
        ge=1,
        description="Only those that stand in at most so many documents; the run's `private_documents` or none.",
    )
    budget: _Budget


class ShareBelowRule(Settings):
    """The extracted share lies below a limit, its upper bound included."""

    kind: Literal["share_below"] = Field(
        "share_below", description="The upper bound of the extracted share must lie below a limit."
    )
    share: float = Field(gt=0, le=1, description="The limit; 1.0 is every generated token.")
    confidence: float = Field(
        0.95, ge=0.5, lt=1, description="Confidence of the interval whose upper end is the bound."
    )
    budget: _Budget


class MembershipRule(Settings):
    """Membership attacks on the same model passed their own gate."""

    kind: Literal["membership"] = Field(
        "membership",
        description="`extraction membership gate --out RUN` must have passed on the run's model.",
    )
    margin: float = Field(
        DEFAULT_MARGIN, ge=0.5, le=DEFAULT_MARGIN, description="The largest margin that it may have used."
    )


Rule = (
    CompleteRule
    | BudgetReachedRule
    | ControlPresentRule
    | AtMostRule
    | NoIdentifierRule
    | ShareBelowRule
    | MembershipRule
)


class Policy(Settings):
    """What a run must keep to pass."""

    rules: tuple[Annotated[Rule, Field(discriminator="kind")], ...] = Field(
        min_length=1, description="The rules, judged one by one."
    )
