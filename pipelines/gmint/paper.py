"""The paper's own figures: the AUC of each protocol, model, data set and number of samples a side (`paper.csv`)."""

import csv
from functools import cache
from importlib.resources import files
from statistics import mean

Place = tuple[str, str, int]


def published(protocol: str, model: str, data: str, count: int) -> float | None:
    """The paper's AUC; on data that the paper does not have, the mean of its six data sets.

    Args:
        protocol: `intra` or `mixed`.
        model: as the paper calls it.
        data: the same.
        count: samples a side.

    Returns:
        None where the paper has no such model or number.
    """
    known = _figures().get((protocol, model, count))
    return known.get(data, mean(known.values())) if known else None


def is_published(data: str) -> bool:
    """Whether the paper has a data set of this name."""
    return any(data in found for found in _figures().values())


@cache
def _figures() -> dict[Place, dict[str, float]]:
    """The AUC by data set, for each protocol, model and number of samples."""
    found: dict[Place, dict[str, float]] = {}
    text = files("pipelines.gmint").joinpath("paper.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        place = (row["protocol"], row["model"], int(row["samples_per_side"]))
        found.setdefault(place, {})[row["dataset"]] = float(row["auc"])
    return found
