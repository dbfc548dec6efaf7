"""What report.json holds, schema version 1: the names and types that every page and every reader relies on.

`parse_report` is the check. Unknown names are errors, so that a misspelt count cannot vanish from a page.
Where a number cannot be given, it is null and a reason stands beside it.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import Field, FiniteFloat, NonNegativeInt, ValidationError, model_validator

from extraction.errors import InputError
from pipelines.report.ranking import Ranking
from pipelines.report.records import (
    BudgetCounts,
    DocumentCountBin,
    Estimate,
    Growth,
    GrowthPoint,
    LowEntropyCounts,
    Record,
    Share,
)
from pipelines.report.recovery import Recovery

AnyReport = TypeVar("AnyReport", bound=Record)
Setting = str | bool | int | float | list[str] | list[int] | None


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


class LengthCounts(Record):
    """Matches of `tokens_from` to `tokens_to` tokens (null: no upper end), each text once, filler left out.

    Attributes:
        matches: in the text that the model never saw.
        also_in_corpus: of these, whose every window the training corpus holds too.
        only_here: the rest, matches by chance.
        in_corpus: in the training corpus.
        by_chance: how many of that length chance would give in a text as large as the corpus.
    """

    tokens_from: NonNegativeInt
    tokens_to: NonNegativeInt | None
    matches: NonNegativeInt
    also_in_corpus: NonNegativeInt
    only_here: NonNegativeInt
    in_corpus: NonNegativeInt
    by_chance: Estimate


class ControlText(Record):
    """Text that the model never saw, matched the same way: it shows how often a match arises by chance.

    Attributes:
        name: what the text is.
        documents: how many documents it has.
        text_bytes: how much text that is.
        matched_windows: distinct generated windows that stand in it.
        also_in_corpus: of these, those that stand in the training corpus too, such as common disclaimers.
        only_here: of these, those that the training corpus does not hold; any such match is by chance.
        by_length: matches by their length.
    """

    name: str
    documents: NonNegativeInt
    text_bytes: NonNegativeInt | None = None
    matched_windows: NonNegativeInt
    also_in_corpus: NonNegativeInt
    only_here: NonNegativeInt
    by_length: list[LengthCounts] = Field(default_factory=list)


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
    """The text that was searched. `proxy`: not the real training text, only text like it.

    `window_key` tells the keys of windows' hashes apart: those of two runs compare only where it is the same.
    `trained_on`: what the model was trained on, in words, where that is not this text itself.
    """

    name: str
    kind: Literal["training", "proxy"]
    documents: NonNegativeInt
    distinct_documents: NonNegativeInt
    text_bytes: NonNegativeInt
    skipped_records: NonNegativeInt
    fingerprint: str
    window_key: str | None = None
    trained_on: str | None = None


class PromptFamily(Record):
    """One prompt family as it was used.

    Attributes:
        share: of every budget.
        chat_template: whether prompts stood in the model's chat template.
        kind: `empty`, `public` or `repeat`; null for generations made elsewhere.
        max_tokens: the most tokens of one generation; null where it is not known.
    """

    share: Share
    chat_template: bool
    kind: str | None = None
    max_tokens: NonNegativeInt | None = None


class SamplingValue(Record):
    """One sampling setting as it was really used, and where it came from."""

    value: Setting
    origin: str


class Stage(Record):
    """What one stage cost: wall seconds, and the most memory any of its processes held, in bytes."""

    name: str
    seconds: FiniteFloat
    peak_memory_bytes: NonNegativeInt | None = None


class Sampled(Record):
    """Which model was sampled, and how.

    Attributes:
        prompt_families: by name.
        prompts_fingerprint: of the public prompt text and the plan's rules.
        sampling: settings by name.
        engine: name and settings of what generated.
        rerun_agreement: share of requests generated again that gave the same tokens; null: not measured.
        rerun_requests: how many were generated again.
        versions: of what ran, by package.
        stages: time and memory, in order.
    """

    prompt_families: dict[str, PromptFamily]
    prompts_fingerprint: str
    sampling: dict[str, SamplingValue]
    engine: dict[str, Setting]
    rerun_agreement: Share | None = None
    rerun_requests: NonNegativeInt | None = None
    model: Model
    versions: dict[str, str]
    stages: list[Stage] = Field(default_factory=list)


class Method(Sampled):
    """How it was measured.

    Attributes:
        min_tokens: length of a window in tokens.
        min_bytes: length of a window in bytes, and of the shortest match that was looked for.
        private_documents: most documents that a private window stands in.
        low_entropy_rule: thresholds by name.
        near_duplicate_threshold: similarity from which passages share a cluster.
        identifier_types: types that were looked for; empty: none were.
        round_trip_share: share of corpus text that survives the tokenizer; null with `round_trip_reason`.
        corpus: what was searched.
    """

    min_tokens: NonNegativeInt
    min_bytes: NonNegativeInt | None = None
    private_documents: NonNegativeInt
    low_entropy_rule: dict[str, Setting]
    near_duplicate_threshold: FiniteFloat | None = None
    identifier_types: list[str]
    round_trip_share: Share | None
    round_trip_reason: str | None = None
    corpus: Corpus


class ReviewCounts(Record):
    """What people said of the passages of one kind; `none`: not judged, or not yet by both of two people."""

    passages: NonNegativeInt
    none: NonNegativeInt
    private: NonNegativeInt
    public: NonNegativeInt
    boilerplate: NonNegativeInt
    not_memorised: NonNegativeInt
    unsure: NonNegativeInt
    disagree: NonNegativeInt


class Review(Record):
    """The verdicts of a review.

    Attributes:
        two_people: whether two people judged each passage, blind to each other.
        kinds: counts by kind of passage.
        agreement: share of passages on which two people's first verdicts agree; null where there are none.
    """

    two_people: bool
    kinds: dict[str, ReviewCounts]
    agreement: Share | None


class Ended(Record):
    """What every report.json begins with: of which run it is, and whether that is whole."""

    schema_version: Literal[1]
    run: Run
    status: Literal["complete", "incomplete"]
    incomplete: list[Incomplete]

    @model_validator(mode="after")
    def _incomplete_is_never_clean(self) -> "Ended":
        if (self.status == "incomplete") != bool(self.incomplete):
            raise ValueError("`status` is incomplete exactly when `incomplete` gives a reason")
        return self


class Report(Ended):
    """The whole of report.json."""

    budgets: list[BudgetCounts] = Field(min_length=1)
    families: dict[str, list[BudgetCounts]]
    low_entropy: list[LowEntropyCounts]
    growth: dict[str, Growth]
    passages_by_document_count: list[DocumentCountBin]
    control: Control | None
    control_text: ControlText | None = None
    recovery: Recovery | None = None
    review: Review | None = None
    ranking: Ranking | None = None
    method: Method
    limitations: list[str]


class Effort(Record):
    """What was generated at one budget where nothing was searched: all that a search would count is null."""

    budget: NonNegativeInt
    reached: bool
    generated_tokens: NonNegativeInt
    requests: NonNegativeInt
    extracted_tokens: None
    extracted_share: None
    distinct_windows: None
    private_windows: None
    distinct_passages: None
    private_passages: None
    clusters: None
    identifiers_in_corpus: None
    identifiers: None
    unseen_mass: Estimate
    chao2_windows: Estimate


class UnsearchedMethod(Sampled):
    """How a model was sampled whose corpus cannot be searched; `corpus` is null with a reason."""

    corpus: None
    corpus_reason: str


class UnsearchedReport(Ended):
    """The whole of report.json where the corpus cannot be searched."""

    budgets: list[Effort] = Field(min_length=1)
    families: dict[str, list[Effort]]
    control: None
    ranking: Ranking
    method: UnsearchedMethod
    limitations: list[str]


def was_searched(data: Mapping[str, Any]) -> bool:
    """Whether a report is of a run that searched a corpus."""
    method = data.get("method")
    return not (isinstance(method, dict) and "corpus" in method and method["corpus"] is None)


def parse_report(data: Mapping[str, Any], source: str = "report.json") -> Report:
    """Check a report against schema version 1.

    Args:
        data: what report.json holds.
        source: the file's name, for the message.

    Raises:
        InputError: a field is missing, unknown or of the wrong type; it is named, its value is not. Or the corpus of
            the run was not searched, so that it has no counts.
    """
    if not was_searched(data):
        raise InputError(
            f"{source}: the corpus of this run was not searched, so it has no counts; name another"
        )
    return _parse(Report, data, source)


def parse_unsearched(data: Mapping[str, Any], source: str = "report.json") -> UnsearchedReport:
    """The same for the report of a run whose corpus was not searched."""
    return _parse(UnsearchedReport, data, source)


def _parse(kind: type[AnyReport], data: Mapping[str, Any], source: str) -> AnyReport:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        message = f"{source}: field `{field}`: {first['msg']}; make the report again with `extraction run`"
        raise InputError(message) from None
