"""What compare.json holds, schema version 1. Counts and passage ids; no text and no identifier's value."""

from typing import Any, Literal

from pydantic import NonNegativeInt

from pipelines.report.records import Estimate, GrowthPoint, Record


class ComparedRun(Record):
    """One run of the comparison.

    Attributes:
        letter: its name on the page.
        run_id: its id.
        created: when it began.
        status: whether it is complete.
        model: the model's name.
        model_fingerprint: of its weights.
        tokenizer: a fingerprint.
        model_settings: what its config says of the model.
        trained_on: what the model was trained on, in words, where that is not the corpus itself.
    """

    letter: str
    run_id: str
    created: str
    status: Literal["complete", "incomplete"]
    model: str
    model_fingerprint: str
    tokenizer: str
    model_settings: dict[str, Any]
    trained_on: str | None


class ComparedCounts(Record):
    """What one run counted at one budget; counts in bytes are null where a run has none."""

    letter: str
    reached: bool
    generated_tokens: NonNegativeInt
    generated_bytes: NonNegativeInt | None
    extracted_bytes: NonNegativeInt | None
    distinct_byte_windows: NonNegativeInt | None
    extracted_share: float | None
    distinct_windows: NonNegativeInt
    private_windows: NonNegativeInt
    distinct_passages: NonNegativeInt
    private_passages: NonNegativeInt
    identifiers_in_corpus: NonNegativeInt


class Difference(Record):
    """A run less the first one, at one budget; the share and, by name, the counts that have one with their interval."""

    letter: str
    extracted_share: Estimate
    generated_bytes: int | None
    extracted_bytes: int | None
    distinct_byte_windows: int | None
    distinct_windows: int
    private_windows: int
    distinct_passages: int
    private_passages: int
    identifiers_in_corpus: int
    intervals: dict[str, Estimate]


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


class WindowComparison(Record):
    """A run's windows against the first run's, filler left out; null with a reason where they do not compare."""

    letter: str
    all: CommonAndNew | None
    private: CommonAndNew | None
    reason: str | None


class IdentifierComparison(Record):
    """Identifiers of one type that the corpus holds.

    Attributes:
        type: their type.
        in_corpus: distinct ones at each run's largest budget, by letter.
        private: of these, those in at most `private_documents` documents.
        chance: of as many random values as each run tagged, those found in the corpus.
        in_control_text: of the values that each run tagged, those found in text that its model never saw; null where
            there was none.
        against_first: by letter of each later run, its values against the first run's, over all generations; left
            out where a run keeps no values.
    """

    type: str
    in_corpus: dict[str, NonNegativeInt]
    private: dict[str, NonNegativeInt]
    chance: dict[str, NonNegativeInt]
    in_control_text: dict[str, NonNegativeInt | None]
    against_first: dict[str, CommonAndNew]


class SettingDifference(Record):
    """A setting that was not the same in all runs, with its value in each, by letter."""

    name: str
    values: dict[str, str]


class Comparison(Record):
    """The whole of compare.json.

    Attributes:
        runs: the first one is what the others are compared with.
        different_settings: what was measured differently; empty unless that was asked for.
        different_tokenizers: whether counts of tokens and of windows compare in bytes alone.
        min_tokens: tokens of a window.
        min_bytes: bytes of a window in bytes.
        private_documents: most documents that a private thing stands in.
        budgets: all runs at each budget that all of them have.
        growth: each run's observed curve over all families, by letter.
        crossings: where it crosses the first run's.
        compared_at: the largest budget in common, up to which passages and windows are compared.
        passages: in common and new, by run.
        windows: the same.
        identifiers: by type.
        limitations: sentences.
    """

    schema_version: Literal[1]
    runs: list[ComparedRun]
    different_settings: list[SettingDifference]
    different_tokenizers: bool
    min_tokens: NonNegativeInt
    min_bytes: NonNegativeInt | None
    private_documents: NonNegativeInt
    budgets: list[ComparedBudget]
    growth: dict[str, list[GrowthPoint]]
    crossings: list[Crossing]
    compared_at: NonNegativeInt
    passages: list[PassageComparison]
    windows: list[WindowComparison]
    identifiers: list[IdentifierComparison]
    limitations: list[str]
