"""The model card's section on membership attacks: Markdown with `model-index` metadata."""

from collections.abc import Mapping
from typing import Any

from pipelines.report.card import one_line
from pipelines.report.pages import environment

HEADINGS = {
    "pass": "No declared membership attack is better than the margin allows.",
    "fail": "A membership attack tells records that this model was trained on from others.",
    "hold": "The evidence does not suffice to say whether membership attacks on this model work.",
}


def card_section(name: str, record: Mapping[str, Any]) -> str:
    """Make the text of membership_card.md.

    Args:
        name: of the audit.
        record: the content of membership.json.
    """
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type="other",
            task_name="Membership inference",
            dataset_type="membership",
            dataset_name=one_line(name),
            metric_type="roc_auc",
            metric_name=f"AUC of the {one_line(attack['name'])} attack, 0.5 is chance",
            metric_value=attack["auc"]["estimate"],
        )
        for attack in record["attacks"]
        if attack["auc"] is not None
        and record["hold"] is None  # a machine that reads it would not see the hold
    ]
    data = ModelCardData(model_name=one_line(name), eval_results=results)
    template = environment().get_template("membership_card.md")
    body = template.render(record=record, heading=HEADINGS[record["outcome"]])
    return f"---\n{data.to_yaml()}\n---\n\n{body}\n"
