"""Scores a classifier's predictions, made anywhere: no classifier is loaded, since pickled ones run code."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.membership.classifiers import label_right, true_label_confidence
from extraction.membership.score_files import read_labels, read_table
from pipelines.parts import write_file

PREDICTION_SCORE_SCHEMA = pa.schema(
    [("id", pa.string()), ("member", pa.bool_()), ("name", pa.string()), ("score", pa.float64())]
)
NO_LABELS = ("id", "member", "label", "group")  # every other column is the probability of a label
OTHERS = ", ".join(NO_LABELS)
ROUNDED = 0.01  # probabilities that were rounded may add up to so much more than 1


def score_predictions(predictions: Path, out: Path) -> int:
    """Score predictions and write one Parquet file: `confidence` and `label` of each record.

    Args:
        predictions: CSV or Parquet with `id`, `member`, `label` (the true one), perhaps `group`, and a column of
            probabilities for each label that the classifier knows, named as the label is.
        out: the file, written whole or not at all.

    Returns:
        How many records were scored.

    Raises:
        InputError: the file cannot be read, lacks a column, or a field is no probability.
    """
    table = read_table(predictions)
    member = read_labels(table, "member", predictions)
    kinds = [name for name in table.column_names if name not in NO_LABELS]
    names = [str(name) for name in _column(table, "label", predictions)]
    if not names:
        raise InputError(f"{predictions}: no record in it; is this the file that you mean?")
    for name in sorted({*names} - {*kinds}):
        _column(table, name, predictions)
    probabilities = _probabilities(table, kinds, predictions)
    labels = np.array([kinds.index(name) for name in names])
    scores = {
        "confidence": true_label_confidence(probabilities, labels),
        "label": label_right(probabilities, labels),
    }
    rows = [
        {"id": str(name), "member": bool(member[n]), "name": kind, "score": float(values[n])}
        for kind, values in scores.items()
        for n, name in enumerate(_column(table, "id", predictions))
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=PREDICTION_SCORE_SCHEMA), sink)
    write_file(str(out), sink.getvalue())
    return len(names)


def _column(table: pa.Table, name: str, path: Path) -> list[object]:
    if name not in table.column_names:
        raise InputError(f"{path}: no column {name!r}; it has: {', '.join(table.column_names)}")
    values: list[object] = table[name].to_pylist()
    return values


def _probabilities(table: pa.Table, kinds: list[str], path: Path) -> NDArray[np.float64]:
    """float64[records, labels]. A column that is no label's would be taken for one, so the sum is checked."""
    found = np.array([_numbers(table, kind, path) for kind in kinds]).T
    for row in np.flatnonzero(found.sum(axis=1) > 1 + ROUNDED).tolist():
        raise InputError(
            f"{path}: row {row + 1}: the probabilities add up to more than 1; beside {OTHERS} "
            "keep one column for each label"
        )
    return found


def _numbers(table: pa.Table, kind: str, path: Path) -> list[float]:
    found = []
    for row, value in enumerate(_column(table, kind, path), 1):
        try:
            found.append(float(str(value)))
        except ValueError:
            raise InputError(
                f"{path}: row {row}: the probability of label {kind!r} is no number; beside {OTHERS} every column "
                "is a label"
            ) from None
        if not 0 <= found[-1] <= 1:
            raise InputError(f"{path}: row {row}: the probability of label {kind!r} is not between 0 and 1")
    return found
