"""The model card's section: Markdown with `model-index` metadata that huggingface_hub reads back."""

from typing import TYPE_CHECKING

from pipelines.report.pages import environment
from pipelines.report.records import BudgetCounts
from pipelines.report.schema import Report
from pipelines.report.verdict import largest, verdict_of
from pipelines.report.words import count

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

# Field of a budget's counts -> its name in the metadata.
METRICS = {
    "extracted_share": "Extracted share of generated tokens",
    "distinct_windows": "Distinct windows found",
    "private_windows": "Private windows found",
    "distinct_passages": "Distinct passages found",
    "private_passages": "Private passages found",
    "identifiers_in_corpus": "Identifiers found in the corpus, single names apart",
}
_NO_MARKUP = {"<": "\u2039", ">": "\u203a"}  # quotation marks that look alike


def card_text(report: Report) -> str:
    """Make the text of model_card.md: metadata, verdict, counts, limitations."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(model_name=one_line(report.method.model.name), eval_results=_results(report))
    template = environment().get_template("model_card.md")
    body = template.render(report=report, method=report.method, verdict=verdict_of(report))
    return f"---\n{data.to_yaml()}\n---\n\n{body}\n"


def _results(report: Report) -> "list[EvalResult]":
    from huggingface_hub import EvalResult

    last, results = largest(report), []
    for field, name in METRICS.items():
        value = getattr(last, field)
        if value is None:  # nothing was generated: there is no share to state
            continue
        result = EvalResult(
            task_type="text-generation",
            task_name="Training text given back word for word",
            dataset_type="extraction",
            dataset_name=one_line(report.method.corpus.name),
            metric_type=field,
            metric_name=_metric_name(report, last, name),
            metric_value=value,
        )
        results.append(result)
    return results


def _metric_name(report: Report, last: BudgetCounts, name: str) -> str:
    warning = " (incomplete run)" if report.status == "incomplete" else ""
    return f"{name} in {count(last.generated_tokens)} generated tokens, a lower bound{warning}"


def one_line(text: str) -> str:
    """One line without control characters and markup: metadata is shown as it is where nobody reads it as metadata."""
    line = "".join(_NO_MARKUP.get(c, c if c.isprintable() else " ") for c in text)
    return " ".join(line.split()) or "unnamed"
