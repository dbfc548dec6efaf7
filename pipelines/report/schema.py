"""What report.json holds, schema version 1: the names and types that every page and every reader relies on.

`parse_report` is the check. Unknown names are errors, so that a misspelt count cannot vanish from a page.
Where a number cannot be given, it is null and a reason stands beside it.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    ValidationError,
    model_validator,
)

from extraction.errors import InputError

Share = FiniteFloat
Setting = str | bool | int | float | list[str] | list[int] | None


class Record(BaseModel):
    """A part of the report: frozen, strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(Record):
    """A number with its 95 % interval, or null with a reason.

    Attributes:
        estimate: the number itself; null where it cannot be given.
        low: lower end of the interval, in the unit of the estimate.
        high: upper end; null where there is no upper limit.
        flag: why the number should be taken with care, one phrase.
        reason: why there is no estimate, one phrase.
    """

    estimate: FiniteFloat | None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    flag: str | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _null_needs_reason(self) -> "Estimate":
        if self.estimate is None and not self.reason:
            raise ValueError("a null estimate needs a reason")
        return self


class IdentifierCounts(Record):
    """Distinct identifiers of one type.

    Attributes:
        tagged: found in the generated text, whether or not the corpus holds them.
        in_corpus: of these, found in the corpus.
        private: of those in the corpus, found in at most `private_documents` documents.
        chance: of as many random values of the same form, found in the corpus.
        in_control_text: of those tagged, found in text the model never saw; null: there was no such text.
    """

    tagged: NonNegativeInt
    in_corpus: NonNegativeInt
    private: NonNegativeInt
    chance: NonNegativeInt
    in_control_text: NonNegativeInt | None


class BudgetCounts(Record):
    """Everything counted at one budget, for one prompt family or for all together.

    Attributes:
        budget: generated tokens asked for.
        reached: whether the run generated as many.
        generated_tokens: tokens really generated; the request that crosses the budget counts whole.
        requests: generations counted.
        requests_with_extraction: of these, with at least one extracted token.
        extracted_tokens: generated tokens in a window that is not low-entropy.
        extracted_bytes: bytes of those tokens, to compare models with different tokenizers.
        extracted_share: `extracted_tokens / generated_tokens`; null when nothing was generated.
        extracted_share_interval: the share with its interval, over requests.
        distinct_windows: distinct by their bytes, low-entropy ones apart.
        private_windows: of these, standing in at most `private_documents` documents.
        distinct_passages: private and shared ones.
        private_passages: of these, the private ones.
        clusters: groups of near-duplicate passages.
        identifiers_in_corpus: distinct identifiers, of all types but single names, found in the corpus.
        identifiers: the same by type, single names in a row of their own.
        unseen_mass: chance that the next window found is one not seen yet.
        chao2_windows: lower bound of all distinct windows that this family would ever give.
    """

    budget: NonNegativeInt
    reached: bool
    generated_tokens: NonNegativeInt
    requests: NonNegativeInt
    requests_with_extraction: NonNegativeInt | None = None
    extracted_tokens: NonNegativeInt
    extracted_bytes: NonNegativeInt | None = None
    extracted_share: Share | None
    extracted_share_interval: Estimate | None = None
    distinct_windows: NonNegativeInt
    private_windows: NonNegativeInt
    distinct_passages: NonNegativeInt
    private_passages: NonNegativeInt
    clusters: NonNegativeInt
    identifiers_in_corpus: NonNegativeInt
    identifiers: dict[str, IdentifierCounts]
    unseen_mass: Estimate
    chao2_windows: Estimate


class LowEntropyCounts(Record):
    """Filler at one budget, counted apart: it is in none of the other numbers."""

    budget: NonNegativeInt
    windows: NonNegativeInt
    passages: NonNegativeInt
    tokens: NonNegativeInt


class GrowthPoint(Record):
    """What had been found after so many generated tokens."""

    generated_tokens: NonNegativeInt
    requests: NonNegativeInt
    distinct_windows: NonNegativeInt
    private_windows: NonNegativeInt
    distinct_passages: NonNegativeInt
    private_passages: NonNegativeInt


class CurvePoint(Record):
    """Distinct windows expected after so many requests and their tokens, with a 95 % interval."""

    generated_tokens: NonNegativeInt
    requests: NonNegativeInt
    estimate: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    flag: str | None = None


class Growth(Record):
    """The growth curve of one prompt family, or of `all`.

    Attributes:
        observed: as the run went, in order of generated tokens.
        rarefied: expected at smaller efforts, by subsampling requests without replacement.
        extrapolated: expected at larger efforts; flagged where it should not be believed.
    """

    observed: list[GrowthPoint]
    rarefied: list[CurvePoint] = Field(default_factory=list)
    extrapolated: list[CurvePoint] = Field(default_factory=list)


class DocumentCountBin(Record):
    """Passages whose document count lies in one bin, ends included; `documents_to` null: no upper end."""

    documents_from: NonNegativeInt
    documents_to: NonNegativeInt | None
    private: NonNegativeInt
    shared: NonNegativeInt


class ControlCounts(Record):
    """Counts of this run at one budget: only what the control gives back too, or only what it does not."""

    budget: NonNegativeInt
    distinct_windows: NonNegativeInt
    private_windows: NonNegativeInt
    distinct_passages: NonNegativeInt
    private_passages: NonNegativeInt


class Control(Record):
    """The same plan run on another model, usually the base model.

    Attributes:
        run_id: the control's run.
        model: its name.
        status: whether the control's own run is complete.
        budgets: its counts, as those of this run.
        shared: what this run found and the control gives back too.
        not_in_control: what this run found and the control does not give back.
        growth: the control's observed curve over all families.
    """

    run_id: str
    model: str
    status: Literal["complete", "incomplete"]
    budgets: list[BudgetCounts]
    shared: list[ControlCounts]
    not_in_control: list[ControlCounts]
    growth: list[GrowthPoint] = Field(default_factory=list)


class ControlText(Record):
    """Text that the model never saw, matched the same way: it shows how often a match arises by chance.

    Attributes:
        name: what the text is.
        documents: how many documents it has.
        matched_windows: distinct generated windows that stand in it.
        also_in_corpus: of these, those that stand in the training corpus too, such as common disclaimers.
        only_here: of these, those that the training corpus does not hold; any such match is by chance.
    """

    name: str
    documents: NonNegativeInt
    matched_windows: NonNegativeInt
    also_in_corpus: NonNegativeInt
    only_here: NonNegativeInt


class Incomplete(Record):
    """One reason why the run is incomplete, and how often it arose. No text of a document or generation.

    Attributes:
        requests: where requests failed, which: ids, and ranges of ids that follow each other.
    """

    reason: str
    count: NonNegativeInt
    requests: list[str] = Field(default_factory=list)


class Run(Record):
    """Which run this is, and the commands that make it again."""

    id: str
    created: str
    seed: int
    commands: list[str] = Field(default_factory=list)


class Model(Record):
    """The model under test and its tokenizer."""

    name: str
    fingerprint: str
    tokenizer_fingerprint: str


class Corpus(Record):
    """The text that was searched. `proxy`: not the real training text, only text like it."""

    name: str
    kind: Literal["training", "proxy"]
    documents: NonNegativeInt
    distinct_documents: NonNegativeInt
    text_bytes: NonNegativeInt
    skipped_records: NonNegativeInt
    fingerprint: str


class PromptFamily(Record):
    """One prompt family as it was used."""

    share: Share
    chat_template: bool


class SamplingValue(Record):
    """One sampling setting as it was really used, and where it came from."""

    value: Setting
    origin: str


class Stage(Record):
    """What one stage cost: wall seconds, and the most memory any of its processes held, in bytes."""

    name: str
    seconds: FiniteFloat
    peak_memory_bytes: NonNegativeInt | None = None


class Method(Record):
    """How it was measured.

    Attributes:
        min_tokens: length of a window in tokens.
        private_documents: most documents that a private window stands in.
        low_entropy_rule: thresholds by name.
        near_duplicate_threshold: similarity from which passages share a cluster.
        prompt_families: by name.
        prompts_fingerprint: of the public prompt text and the plan's rules.
        identifier_types: types that were looked for; empty: none were.
        sampling: settings by name.
        engine: name and settings of what generated.
        round_trip_share: share of corpus text that survives the tokenizer; null with `round_trip_reason`.
        rerun_agreement: share of repeated requests that gave the same tokens again; null: not measured.
        versions: of what ran, by package.
        stages: time and memory, in order.
    """

    min_tokens: NonNegativeInt
    private_documents: NonNegativeInt
    low_entropy_rule: dict[str, Setting]
    near_duplicate_threshold: FiniteFloat | None = None
    prompt_families: dict[str, PromptFamily]
    prompts_fingerprint: str
    identifier_types: list[str]
    sampling: dict[str, SamplingValue]
    engine: dict[str, Setting]
    round_trip_share: Share | None
    round_trip_reason: str | None = None
    rerun_agreement: Share | None = None
    model: Model
    corpus: Corpus
    versions: dict[str, str]
    stages: list[Stage] = Field(default_factory=list)


class Report(Record):
    """The whole of report.json."""

    schema_version: Literal[1]
    run: Run
    status: Literal["complete", "incomplete"]
    incomplete: list[Incomplete]
    budgets: list[BudgetCounts] = Field(min_length=1)
    families: dict[str, list[BudgetCounts]]
    low_entropy: list[LowEntropyCounts]
    growth: dict[str, Growth]
    passages_by_document_count: list[DocumentCountBin]
    control: Control | None
    control_text: ControlText | None = None
    method: Method
    limitations: list[str]

    @model_validator(mode="after")
    def _incomplete_is_never_clean(self) -> "Report":
        if (self.status == "incomplete") != bool(self.incomplete):
            raise ValueError("`status` is incomplete exactly when `incomplete` gives a reason")
        return self


def parse_report(data: Mapping[str, Any], source: str = "report.json") -> Report:
    """Check a report against schema version 1.

    Args:
        data: what report.json holds.
        source: the file's name, for the message.

    Raises:
        InputError: a field is missing, unknown or of the wrong type; it is named, its value is not.
    """
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        message = f"{source}: field `{field}`: {first['msg']}; make the report again with `extraction run`"
        raise InputError(message) from None
