"""The table that goes into the README: what came out, what it cost, and what ran. Counts only, no text."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

BINS = ((1, 1, "1"), (2, 2, "2"), (3, 10, "3 to 10"), (11, 100, "11 to 100"), (101, None, "over 100"))
COUNTS = (
    "requests",
    "generated_tokens",
    "extracted_tokens",
    "distinct_windows",
    "private_windows",
    "distinct_passages",
    "private_passages",
    "clusters",
    "identifiers_in_corpus",
)


def results(real: Mapping[str, Any], runs: Mapping[str, Path]) -> str:
    """Write down everything that was measured, in Markdown.

    Args:
        real: the content of `real.json`.
        runs: run directories by engine.

    Raises:
        FileNotFoundError: a run has no report.
    """
    parts = [_inputs(real)]
    for engine, directory in runs.items():
        run, report = _read(directory / "run.json"), _read(directory / "report.json")
        parts += [f"### {engine}", _budgets(report), _documents(directory), _costs(run, directory)]
    parts += [
        "### Cost of the inputs",
        _table(("stage", "seconds", "peak MiB"), _stage_rows("", real["stages"])),
    ]
    parts += ["### Versions", _versions(_read(directory / "run.json") for directory in runs.values())]
    return "\n\n".join(parts) + "\n"


def document_bins(counts: Sequence[int]) -> dict[str, int]:
    """Count passages by the number of documents that they stand in."""
    found = {label: 0 for _, _, label in BINS}
    for count in counts:
        label = next(name for low, high, name in BINS if low <= count and (high is None or count <= high))
        found[label] += 1
    return found


def _inputs(real: Mapping[str, Any]) -> str:
    gathered, tuned = real["gathered"], real["tuned"]
    return (
        f"Corpus: {gathered['documents']:,} documents, {gathered['text_bytes'] / 1e6:,.0f} MB of UTF-8. "
        f"Target: the base model fine-tuned on {len(tuned['document_ids'])} of them, {tuned['tokens']:,} "
        f"tokens, "
        f"{tuned['steps']} steps, loss {tuned['first_loss']:.2f} in the first pass and "
        f"{tuned['last_loss']:.2f} in the last."
    )


def _budgets(report: Mapping[str, Any]) -> str:
    """Counts at each budget, the control's beside them."""
    control = {row["budget"]: row for row in (report["control"] or {}).get("budgets", [])}
    rows = []
    for row in report["budgets"]:
        other = control.get(row["budget"], {})
        rows.append([f"{row['budget']:,}", *(f"{row[name]:,} ({other.get(name, '-')})" for name in COUNTS)])
    head = ("budget", *(name.replace("_", " ") for name in COUNTS))
    return f"Target, and in brackets the base model, status {report['status']}:\n\n{_table(head, rows)}"


def _documents(directory: Path) -> str:
    """Passages by kind and number of documents."""
    passages = pq.read_table(directory / "passages.parquet", columns=["kind", "document_count"]).to_pylist()
    kinds = Counter(passage["kind"] for passage in passages)
    rows = []
    for kind in sorted(kinds):
        bins = document_bins([passage["document_count"] for passage in passages if passage["kind"] == kind])
        rows.append([kind, *(f"{count:,}" for count in bins.values())])
    head = ("passages in so many documents", *(label for _, _, label in BINS))
    return _table(head, rows) if rows else "No passages."


def _costs(run: Mapping[str, Any], directory: Path) -> str:
    rows = _stage_rows("target, ", run["stages"])
    control = directory / "control" / "run.json"
    if control.exists():
        rows += _stage_rows("base model, ", _read(control)["stages"])
    return _table(("stage", "seconds", "peak MiB"), rows)


def _stage_rows(prefix: str, stages: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    return [
        [f"{prefix}{name}", f"{cost['seconds']:,.0f}", f"{cost['peak_memory_bytes'] / 2**20:,.0f}"]
        for name, cost in stages.items()
    ]


def _versions(runs: Iterable[Mapping[str, Any]]) -> str:
    found: dict[str, list[str]] = {}
    for run in runs:
        for name, version in run["versions"].items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return ", ".join(f"{name} {' and '.join(versions)}" for name, versions in found.items())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
