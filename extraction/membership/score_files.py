"""Reads scores made anywhere: CSV or Parquet with `id`, `member`, `score` and, if records belong together, `group`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MODEL_KEY = b"model"  # in a Parquet file's metadata: the digest of the model that was scored
TRUE, FALSE = ("1", "true", "yes", "member"), ("0", "false", "no", "nonmember")


@dataclass(frozen=True)
class Scores:
    """Scores of records, in the file's order.

    Attributes:
        ids: the records' ids.
        member: bool[n], whether each was in the training data.
        score: float64[n], higher means member; NaN where the file has none.
        group: what each belongs to (an account, a document), or None where the file does not say.
    """

    ids: list[str]
    member: NDArray[np.bool_]
    score: NDArray[np.float64]
    group: list[str] | None

    @property
    def sides(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of members and of others."""
        return self.score[self.member], self.score[~self.member]


def read_scores(path: Path, label: str = "member", name: str | None = None) -> Scores:
    """Read a file of scores.

    Args:
        path: CSV or Parquet.
        label: the column that says which side a record is on: `Scores.member`.
        name: which score, where a column `name` says that the file holds several.

    Raises:
        InputError: it cannot be read, lacks a column, an id comes twice, or a field is no label or number.
    """
    return scores_in(read_table(path), path, label, name)


def scores_in(table: "pa.Table", path: Path, label: str = "member", name: str | None = None) -> Scores:
    """Take one score out of a table that was read from `path`; see `read_scores`."""
    needed = ("id", label, "score")
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; it has: {', '.join(table.column_names) or 'none'} "
            f"(needed: {', '.join(needed)}; group if records belong together)"
        )
    if "name" in table.column_names:
        table = _named(table, name, path)
    columns = {name: table[name].to_pylist() for name in table.column_names if name in (*needed, "group")}
    ids = [str(value) for value in columns["id"]]
    if len(set(ids)) < len(ids):
        raise InputError(f"{path}: an id comes twice; keep one score for each record")
    return Scores(
        ids=ids,
        member=read_labels(table, label, path),
        score=np.array(
            [_number(value, n, path) for n, value in enumerate(columns["score"], 1)], dtype=np.float64
        ),
        group=[str(value) for value in columns["group"]] if "group" in columns else None,
    )


def score_names(table: "pa.Table", path: Path) -> list[str | None]:
    """The scores that a table read from `path` holds, in alphabetical order; None where it holds one without a name.

    Raises:
        InputError: some of its rows are of a score without a name.
    """
    return [None] if "name" not in table.column_names else [*_names(table, path)]


def scored_model(table: "pa.Table") -> str | None:
    """The digest of the model that a table's scores are of; None where its file does not say."""
    metadata = table.schema.metadata or {}
    return metadata[MODEL_KEY].decode() if MODEL_KEY in metadata else None


def _named(table: "pa.Table", name: str | None, path: Path) -> "pa.Table":
    import pyarrow.compute as pc

    names = _names(table, path)
    if name not in names and (name is not None or len(names) > 1):
        raise InputError(f"{path}: choose a score with --name; it has: {', '.join(names)}")
    return table.filter(pc.equal(table["name"].cast("string"), name or names[0])) if names else table


def _names(table: "pa.Table", path: Path) -> list[str]:
    names = set(table["name"].cast("string").to_pylist())
    if names & {None, ""}:
        raise InputError(f"{path}: a row has no `name`, which says which score it is of; name or remove it")
    return sorted(names)


def read_table(path: Path) -> "pa.Table":
    """Read a table; every field of a CSV file as text, as what is a number is decided where it is used.

    Raises:
        InputError: it cannot be read, or has two columns of one name.
    """
    import pyarrow as pa

    try:
        table = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as CSV or Parquet; write it anew") from error
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise InputError(f"{path}: two columns are named {twice[0]!r}; keep one")
    return table


def _parquet(path: Path) -> "pa.Table":
    import pyarrow.parquet as pq

    return pq.read_table(path)


def _csv(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.csv as csv

    types = dict.fromkeys(csv.open_csv(path).schema.names, pa.string())
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))


def read_labels(table: "pa.Table", label: str, path: Path) -> NDArray[np.bool_]:
    """Read which side each record is on.

    Raises:
        InputError: there is no such column, or a field of it is no label.
    """
    if label not in table.column_names:
        raise InputError(f"{path}: no column {label!r}; it has: {', '.join(table.column_names)}")
    values = table[label].to_pylist()
    return np.array([_label(value, label, n, path) for n, value in enumerate(values, 1)], dtype=np.bool_)


def _label(value: Any, label: str, row: int, path: Path) -> bool:
    word = str(value).strip().lower().removesuffix(".0")
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise InputError(f"{path}: row {row}: `{label}` is neither 1 nor 0 (nor true, false)")


def _number(value: Any, row: int, path: Path) -> float:
    try:
        return float("nan") if value is None or value == "" else float(value)
    except (TypeError, ValueError):
        raise InputError(f"{path}: row {row}: `score` is no number") from None
