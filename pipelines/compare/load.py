"""Reads the runs to compare, and says in what they were measured differently."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.errors import InputError
from pipelines.report import parse_report, read_report
from pipelines.report.schema import Report
from pipelines.rundir import RunDirectory

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("passage_id", "kind", "text", "tokens", "bytes", "first_budget")
_OF_TOKENS = ("sampling.stop_token_ids",)  # numbers that mean other tokens under another tokenizer
# Of the settings of identifiers: the types stand in the report, and how many ids are listed changes no count.
_NOT_A_RULE = ("types", "document_ids")


@dataclass(frozen=True)
class LoadedRun:
    """One run of the comparison.

    Attributes:
        letter: `A`, `B`, ...: its name on the page.
        path: the run directory.
        report: its report.
        model_settings: what run.json's config says about the model, by field.
        identifier_rules: how identifiers were tagged and looked up, by field, as run.json has it.
        passages: `COLUMNS` of passages.parquet.
    """

    letter: str
    path: Path
    report: Report
    model_settings: dict[str, Any]
    identifier_rules: dict[str, Any]
    passages: "pa.Table"


def load_runs(paths: Sequence[Path]) -> list[LoadedRun]:
    """Read the runs, in the order given.

    Raises:
        InputError: fewer than two, more than nine, one named twice, or one that is not complete on disk.
    """
    if not 2 <= len(paths) <= 9:
        raise InputError(
            f"compare takes two to nine run directories, not {len(paths)}; name them one after another"
        )
    runs = [_load(letter, path) for letter, path in zip("ABCDEFGHI", paths, strict=False)]
    seen: dict[str, Path] = {}
    for run in runs:
        identity = run.report.run.id
        if identity in seen:
            raise InputError(f"{run.path}: the same run as {seen[identity]}; name each run once")
        seen[identity] = run.path
    return runs


def differing_settings(runs: Sequence[LoadedRun]) -> dict[str, list[str]]:
    """What was measured differently, from the setting's name to its value in each run, in order."""
    settings = [dict(_settings(run)) for run in runs]
    tokenizers = {run.report.method.model.tokenizer_fingerprint for run in runs}
    apart = _OF_TOKENS if len(tokenizers) > 1 else ()
    names = [name for name in dict.fromkeys(name for one in settings for name in one) if name not in apart]
    values = {name: [_short(one.get(name)) for one in settings] for name in names}
    unequal = [name for name in names if any(a.get(name) != b.get(name) for a, b in pairwise(settings))]
    return {name: values[name] for name in unequal}


def _settings(run: LoadedRun) -> Iterator[tuple[str, Any]]:
    method = run.report.method
    yield "corpus", method.corpus.fingerprint
    yield "min_tokens", method.min_tokens
    yield "min_bytes", method.min_bytes
    yield "private_documents", method.private_documents
    yield "low_entropy_rule", method.low_entropy_rule
    yield "near_duplicate_threshold", method.near_duplicate_threshold
    yield "prompts", method.prompts_fingerprint
    yield "prompt_families", {name: family.model_dump() for name, family in method.prompt_families.items()}
    yield "identifier_types", sorted(method.identifier_types)
    for name, used in method.sampling.items():  # where a value came from may differ, the value may not
        yield f"sampling.{name}", used.value
    for name, value in run.identifier_rules.items():
        yield f"identifiers.{name}", value


def _load(letter: str, path: Path) -> LoadedRun:
    run = RunDirectory(path).read()
    report = parse_report(read_report(path), str(path / "report.json"))
    settings = dict(run.get("config", {}).get("model") or {})
    return LoadedRun(letter, path, report, settings, _identifier_rules(run), _passages(path))


def _identifier_rules(run: dict[str, Any]) -> dict[str, Any]:
    rules = (run.get("fingerprints") or {}).get("identifiers") or {}
    return {name: value for name, value in rules.items() if name not in _NOT_A_RULE}


def _passages(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = path / "passages.parquet"
    try:
        # What only requests beyond the largest budget gave counts at none.
        return pq.read_table(file, columns=list(COLUMNS), filters=pc.field("first_budget").is_valid())
    except FileNotFoundError:
        raise InputError(f"{path}: no passages.parquet; finish the run with `extraction run`") from None
    except (pa.ArrowException, OSError):
        message = f"{file}: cannot be read as passages; make it again with `extraction run`"
        raise InputError(message) from None


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= 40 else f"{value[:37]}..."
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 80 else f"{text[:77]}..."
