"""What a run cannot say, as sentences built from the facts of its report.

The sentences are stored in report.json (`limitations`), so that every page, model card and export carries
the same ones.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.report.schema import Report, UnsearchedReport, parse_report, parse_unsearched, was_searched
from pipelines.report.words import count, listing, noun, percent

LONG_REPETITION = 500
"""Fewest tokens of a generation in which a repetition is likely to be left."""

_FORMAL = (
    "Nothing is said about whether a given person's record was used in training.",
    "No formal guarantee is given; a low count is a finding about this test, not a proof of privacy.",
)


def build_limitations(report: Mapping[str, Any]) -> list[str]:
    """Say what the run cannot show.

    Args:
        report: all of report.json; `limitations` may be missing, what stands there is ignored.

    Returns:
        Sentences in plain words, the most important first.

    Raises:
        InputError: the report is not one of schema version 1.
    """
    report = {**report, "limitations": []}
    if not was_searched(report):
        return _of_unsearched(parse_unsearched(report))
    checked = parse_report(report)
    return [
        *_incomplete(checked),
        *_always(checked),
        *_prompts(checked),
        *_engine(checked),
        *_corpus(checked),
        *_tokenizer(checked),
        *_controls(checked),
        *_identifiers(checked),
    ]


def _of_unsearched(report: UnsearchedReport) -> list[str]:
    return [
        *_incomplete(report),
        "The corpus was not searched. How much of what was generated is training text is not known, and nothing here "
        "is a count of it.",
        *report.ranking.limitations,
        "What is confirmed depends on the effort, the prompts, the sampling settings, the scores and who checks. More "
        "sampling or other prompts can bring out more.",
        *_prompts(report),
        *_engine(report),
        *_FORMAL,
    ]


def _incomplete(report: Report | UnsearchedReport) -> Iterator[str]:
    if report.status == "incomplete":
        reasons = "; ".join(f"{item.reason} ({count(item.count)})" for item in report.incomplete)
        yield (
            f"The run is incomplete: {reasons}. Its counts can only be too low, and where it found nothing "
            "it says nothing."
        )
    missed = [b for b in report.budgets if not b.reached]
    if missed:
        names = listing([count(b.budget) for b in missed])
        yield (
            f"Not reached: the budget of {names} generated tokens. Counts at it belong to the tokens that "
            "were actually generated."
        )


def _always(report: Report) -> Iterator[str]:
    method, last = report.method, max(report.budgets, key=lambda b: b.budget)
    yield (
        f"The counts are a lower bound. They depend on the effort (at most "
        f"{noun(last.generated_tokens, 'generated token')}), the prompts "
        f"({listing(list(method.prompt_families) or ['none'])}), the sampling settings, the corpus that was "
        f"searched and the rule for a match (at least {count(method.min_tokens)} tokens in a row, word for "
        "word). More sampling, other prompts or other settings can bring out more."
    )
    if last.extracted_tokens == 0:
        yield (
            "Nothing was found at this effort. That is not a rate of zero, and no proof that the model holds "
            "no training text."
        )
    yield (
        "Only text given back word for word is counted. Paraphrase, translation, and facts stitched together "
        "from several documents are not."
    )
    yield from _FORMAL


def _prompts(report: Report | UnsearchedReport) -> Iterator[str]:
    families = report.method.prompt_families.items()
    short = [
        (name, f.max_tokens)
        for name, f in families
        if f.kind == "repeat" and f.max_tokens is not None and f.max_tokens < LONG_REPETITION
    ]
    if short:
        names = listing([f"{name} ({count(tokens)} tokens)" for name, tokens in short])
        yield (
            f"Generations of the prompts that ask to repeat a word were short: {names}. Models leave such a "
            f"repetition late; with fewer than {count(LONG_REPETITION)} tokens most that they would give is missed."
        )


def _engine(report: Report | UnsearchedReport) -> Iterator[str]:
    again = report.method.engine.get("tokenised_again")
    if isinstance(again, int) and again:
        yield (
            f"{noun(again, 'generation')} came as text without token ids, and the text was tokenised again: tokens and "
            "windows can differ a little from those that were sampled."
        )


def _corpus(report: Report) -> Iterator[str]:
    if report.method.corpus.kind == "proxy":
        yield (
            "The corpus is a proxy: not the training text itself, only text like it. Training text that is "
            "missing from it cannot be found, so the counts are too low."
        )
    elif told := report.method.corpus.trained_on:
        yield (
            f"The model was trained on {told}, as the config says, and not on the corpus itself that was searched; the "
            "test cannot check that."
        )
    else:
        yield "The corpus is taken to be the training text, as the config says; the test cannot check that."


def _tokenizer(report: Report) -> Iterator[str]:
    share = report.method.round_trip_share
    if share is None:
        why = report.method.round_trip_reason or "not measured"
        yield (
            f"How often the tokenizer gives this corpus back byte for byte is not known ({why}); matches can "
            "be missed."
        )
    elif share < 1:
        yield (
            f"The tokenizer gives back {percent(share)} of this corpus byte for byte; text in the rest can "
            "be missed."
        )
    else:
        yield "On this corpus the tokenizer gives the text back byte for byte, so no match is lost to it."


def _controls(report: Report) -> Iterator[str]:
    if report.control is None:
        yield (
            "There is no control model. So it cannot be claimed that the model learned any of this text from "
            "this corpus: a model that never saw it might give back the same text."
        )
    elif report.control.status == "incomplete":
        yield (
            "The control's run is incomplete, so text that seems to come from the tested model alone may "
            "come from both."
        )
    if report.control_text is None:
        yield (
            "No text known to lie outside the training data was matched. So it was not measured how often a "
            "match arises by chance."
        )


def _identifiers(report: Report) -> Iterator[str]:
    if report.method.identifier_types:
        yield (
            "Identifiers are found by automatic recognisers, which miss some and mistake others; those "
            "counted as in the corpus were looked up there."
        )
    else:
        yield "Identifiers were not looked for, so nothing is said about names, account numbers and the like."
