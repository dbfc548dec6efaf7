"""`extraction canary score`: how well a model remembers planted canaries, in exposures.json and exposures.html."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from extraction.canaries.key import Key, opened
from extraction.canaries.measure import FormatMeasured, Limits, measure
from extraction.canaries.model import CanaryModel
from extraction.errors import InputError
from extraction.model import ModelSettings, model_fingerprint
from pipelines.canaries.emitted import Emitted, emitted_canaries
from pipelines.canaries.page import exposures_page
from pipelines.parts import write_json
from pipelines.progress import progress
from pipelines.report.pages import write_page
from pipelines.rundir import RunDirectory, now, versions

SCHEMA_VERSION = 1
CHANCE = 1 / math.log(2)
"""Mean exposure, in bits, of a canary that the model never saw: that of a uniform rank in a large space."""


@dataclass(frozen=True)
class ScoreOptions:
    """How canaries are scored.

    Attributes:
        model: the model under test.
        device: a torch device name.
        limits: how much work to spend on a format.
        run: an extraction run of the same model, to look for the canaries in; None: none.
    """

    model: ModelSettings
    device: str = "cpu"
    limits: Limits = Limits()
    run: Path | None = None


def read_key(path: Path) -> tuple[Key, str]:
    """Read a key and its seal.

    Raises:
        InputError: it is missing, no key, or was changed after it was sealed.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return opened(content), content["seal"]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; name the key.json of `extraction canary make`") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error) if str(error) == "changed after it was sealed" else "no key of canaries"
        raise InputError(f"{path}: {reason}; restore the one that `extraction canary make` wrote") from None


def score_canaries(key_path: Path, options: ScoreOptions, out: Path) -> list[Path]:
    """Score every canary of a key and write the record and the page.

    Args:
        key_path: the sealed key.
        options: the model and how to score.
        out: a folder; made, readable by its owner alone.

    Returns:
        The paths of exposures.json and exposures.html.

    Raises:
        InputError: key, model or run cannot be read, the run is of another model, or a score is no number.
    """
    key, seal = read_key(key_path)
    fingerprint = model_fingerprint(options.model)
    if options.run:
        _check_run(options.run, options.model, fingerprint)
    emitted = emitted_canaries(options.run, _values(key)) if options.run else None
    model = CanaryModel.load(options.model, options.device)
    measured = {form.name: _measured(model, key, number, options) for number, form in enumerate(key.formats)}
    record = {
        "schema_version": SCHEMA_VERSION,
        "created": now(),
        "score": "log_perplexity",
        "model": {"name": str(options.model.path), "fingerprint": fingerprint},
        "key": {"seal": seal, "records": key.records, "seed": key.seed},
        "limits": asdict(options.limits),
        "chance_exposure": CHANCE,
        "formats": [_format(name, found) for name, found in measured.items()],
        "canaries": list(_canaries(key, measured, emitted)),
        "run": None if emitted is None else _run(emitted),
        "versions": versions(),
    }
    record |= {"totals": totals(record), "summary": summary(record)}
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_json(str(out / "exposures.json"), record)
    return [out / "exposures.json", write_page(out / "exposures.html", exposures_page(record))]


def _check_run(run: Path, model: ModelSettings, fingerprint: str) -> None:
    sampled = (RunDirectory(run).read().get("fingerprints") or {}).get("model")
    if sampled not in (None, fingerprint):  # a model behind an endpoint has none
        raise InputError(f"{run}: sampled another model than {model.path}; name a run of that one with --run")


def _measured(model: CanaryModel, key: Key, number: int, options: ScoreOptions) -> FormatMeasured:
    form = key.formats[number]
    parsed = form.parsed
    total = parsed.size if parsed.size <= options.limits.enumerated else 0
    with _refused(form.name), progress(f"canaries: score {form.name}", "fillings", total) as shown:
        return measure(model, parsed, key.of(form), options.limits, shown.advance)


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Turn scores that are no numbers into a line for the user."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"format {name}: {error}") from error


def _values(key: Key) -> dict[str, str]:
    formats = {form.name: form.parsed for form in key.formats}
    return {canary.id: formats[canary.format].value(canary.filling) for canary in key.canaries}


def _format(name: str, found: FormatMeasured) -> dict[str, Any]:
    return {
        "name": name,
        "space": found.space,
        "maximum": math.log2(found.space),
        "method": "enumeration" if found.canaries[0].method == "enumeration" else "search and extrapolation",
        "sampled": found.sampled,
        "fit": None if found.fit is None else asdict(found.fit),
        "search_evaluations": found.evaluations,
    }


def _canaries(
    key: Key, measured: dict[str, FormatMeasured], emitted: Emitted | None
) -> Iterator[dict[str, Any]]:
    for form in key.formats:
        for canary, found in zip(key.of(form), measured[form.name].canaries, strict=True):
            yield {
                **asdict(found.exposure),
                "format": canary.format,
                "insertions": canary.insertions,
                "method": found.method,
                "extracted": found.extracted,
                "search_evaluations": found.evaluations,
                "first_budget": None if emitted is None else emitted.first[canary.id],
            }


def _run(emitted: Emitted) -> dict[str, Any]:
    return {name: value for name, value in asdict(emitted).items() if name != "first"}


def totals(record: dict[str, Any]) -> dict[str, Any]:
    """Counts over all canaries; `inserted_first` are those inserted at least once that come before all alternatives."""
    canaries = record["canaries"]
    inserted = [canary for canary in canaries if canary["insertions"]]
    return {
        "canaries": len(canaries),
        "inserted": len(inserted),
        "first_rank": sum(canary["rank"] == 1 for canary in canaries),
        "inserted_first": sum(canary["rank"] == 1 for canary in inserted),
        "extracted": sum(canary["extracted"] for canary in canaries),
        "highest": max(canary["exposure"] for canary in canaries),
    }


def summary(record: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each format and number of insertions, and for all formats together where there are several."""
    names = [form["name"] for form in record["formats"]]
    rows = []
    for name in [*names, *([None] if len(names) > 1 else [])]:
        chosen = [canary for canary in record["canaries"] if name in (None, canary["format"])]
        for times in sorted({canary["insertions"] for canary in chosen}):
            own = [canary for canary in chosen if canary["insertions"] == times]
            rows.append({"format": name, "insertions": times, **_summary_of(own, record["run"])})
    return rows


def _summary_of(own: Sequence[dict[str, Any]], run: dict[str, Any] | None) -> dict[str, Any]:
    exposures = [canary["exposure"] for canary in own]
    return {
        "canaries": len(own),
        "mean": fmean(exposures),
        "median": median(exposures),
        "lowest": min(exposures),
        "highest": max(exposures),
        "first_rank": sum(canary["rank"] == 1 for canary in own),
        "extracted": sum(canary["extracted"] for canary in own),
        "tied": sum(canary["ties"] > 0 for canary in own),
        "emitted": [] if run is None else [_emitted_at(own, budget) for budget in run["budgets"]],
    }


def _emitted_at(own: Sequence[dict[str, Any]], budget: int) -> int:
    return sum(canary["first_budget"] is not None and canary["first_budget"] <= budget for canary in own)
