"""What compare.json holds, schema version 1. Counts and passage ids; no text and no identifier's value."""

from typing import Any, Literal

from pydantic import NonNegativeInt

from pipelines.report.schema import Estimate, GrowthPoint, Record


class ComparedRun(Record):
    """One run of the comparison; `model_settings` is what its config says of the model."""

    letter: str
    run_id: str
    created: str
    status: Literal["complete", "incomplete"]
    model: str
    model_fingerprint: str
    model_settings: dict[str, Any]


class ComparedCounts(Record):
    """What one run counted at one budget."""

    letter: str
    reached: bool
    generated_tokens: NonNegativeInt
    extracted_share: float | None
    distinct_windows: NonNegativeInt
    private_windows: NonNegativeInt
    distinct_passages: NonNegativeInt
    private_passages: NonNegativeInt
    identifiers_in_corpus: NonNegativeInt


class Difference(Record):
    """A run less the first one, at one budget; the share with its interval or why there is none."""

    letter: str
    extracted_share: Estimate
    distinct_windows: int
    private_windows: int
    distinct_passages: int
    private_passages: int
    identifiers_in_corpus: int


class ComparedBudget(Record):
    """All runs at one budget that all of them have."""

    budget: NonNegativeInt
    runs: list[ComparedCounts]
    differences: list[Difference]


class Crossing(Record):
    """Where a run's growth curve of distinct windows crosses the first run's, in generated tokens."""

    letter: str
    generated_tokens: list[int]
    reason: str | None


class CommonAndNew(Record):
    """Things of one kind: in both runs, in the later one alone, in the first one alone."""

    common: NonNegativeInt
    new: NonNegativeInt
    gone: NonNegativeInt


class PassageComparison(Record):
    """A run's passages against the first run's; ids are those of the run itself (`passages.parquet`)."""

    letter: str
    private: CommonAndNew
    shared: CommonAndNew
    new_private_passage_ids: list[str]


class IdentifierComparison(Record):
    """Identifiers of one type that the corpus holds.

    Attributes:
        type: their type.
        in_corpus: distinct ones at each run's largest budget, by letter.
        private: of these, those in at most `private_documents` documents.
        chance: of as many random values as each run tagged, those found in the corpus.
        against_first: by letter of each later run, its values against the first run's, over all generations; left
            out where a run keeps no values.
    """

    type: str
    in_corpus: dict[str, NonNegativeInt]
    private: dict[str, NonNegativeInt]
    chance: dict[str, NonNegativeInt]
    against_first: dict[str, CommonAndNew]


class SettingDifference(Record):
    """A setting that was not the same in all runs, with its value in each, by letter."""

    name: str
    values: dict[str, str]


class Comparison(Record):
    """The whole of compare.json."""

    schema_version: Literal[1]
    runs: list[ComparedRun]
    different_settings: list[SettingDifference]
    min_tokens: NonNegativeInt
    private_documents: NonNegativeInt
    budgets: list[ComparedBudget]
    growth: dict[str, list[GrowthPoint]]
    crossings: list[Crossing]
    passages: list[PassageComparison]
    identifiers: list[IdentifierComparison]
    limitations: list[str]
