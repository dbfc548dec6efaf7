"""Makes a gMINT audit from its configuration: every model on every data set, each once, however often it is started."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.gmint.audit import audit
from extraction.model import model_fingerprint, tokenizer_fingerprint
from pipelines.digests import file_digest
from pipelines.gmint.config import GmintConfig
from pipelines.gmint.models import load_subjects
from pipelines.gmint.records import Sides, labelled_samples, read_sides
from pipelines.gmint.result import LIMITATIONS, Cell, read_cell, write_cell
from pipelines.gmint.table import in_markdown
from pipelines.membership.cohorts import Cohort
from pipelines.membership.result import Counted
from pipelines.parts import write_file, write_json
from pipelines.progress import progress, say
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.work import one_at_a_time

RESULT, TABLE, CELLS, SCRATCH = "gmint.json", "table.md", "cells", "gradients"
Digests = dict[str, dict[str, str]]


def run_gmint(config: GmintConfig) -> tuple[list[Cell], list[Path]]:
    """Audit every model on every data set, by each protocol that the data set has records for.

    Returns:
        What was found, and the paths written: gmint.json and table.md.

    Raises:
        InputError: a model or a file cannot be read, the folder was made from others, or there are too few records.
    """
    digests = _digests(config)
    refuse_foreign_files(config.folder)
    os.makedirs(config.folder, mode=0o700, exist_ok=True)
    with one_at_a_time(config.folder):
        return _run(config, digests)


def _run(config: GmintConfig, digests: Digests) -> tuple[list[Cell], list[Path]]:
    run = RunDirectory(config.folder)
    state = run.open(config.model_dump(mode="json"), _fingerprints(config, digests))
    try:
        _make_missing(config, digests)
    except InputError:
        _forget_if_empty(config.folder)
        raise
    cells = [read_cell(_path(config, *place)) for place in _places(config)]
    write_json(str(config.folder / RESULT), _record(config, cells))
    write_file(str(config.folder / TABLE), in_markdown(cells).encode())
    run.write({**state, "status": "complete"})
    return cells, [config.folder / RESULT, config.folder / TABLE]


def _forget_if_empty(folder: Path) -> None:
    """A folder that holds no result yet binds nobody to the settings with which none came."""
    if not any((folder / CELLS).rglob("*.json")):
        shutil.rmtree(folder / SCRATCH, ignore_errors=True)
        (folder / "run.json").unlink()


def _places(config: GmintConfig) -> Iterator[tuple[str, str, str]]:
    for model in config.models:
        for data, found in config.data.items():
            for protocol in found.others:
                yield model, data, protocol


def _path(config: GmintConfig, model: str, data: str, protocol: str) -> Path:
    return config.folder / CELLS / model / f"{data}.{protocol}.json"


def _make_missing(config: GmintConfig, digests: Digests) -> None:
    missing = [place for place in _places(config) if not _path(config, *place).exists()]
    # All files are read first: what is wrong with the last one is known before hours are spent on the others.
    sides = {
        (data, protocol): read_sides(config, data, protocol)
        for data, protocol in dict.fromkeys(place[1:] for place in missing)
    }
    for model, data, protocol in missing:
        try:
            found = _cell(config, digests, sides[data, protocol], model, data, protocol)
        except InputError as error:
            raise InputError(f"{model} on {data}: {error}") from error
        path = _path(config, model, data, protocol)
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        write_cell(found, path)
        say(f"{model} on {data}, {protocol}-database: done")


def _cell(config: GmintConfig, digests: Digests, sides: Sides, model: str, data: str, protocol: str) -> Cell:
    loaded = load_subjects(config, config.model(model, data))
    under_test = loaded.subjects.under_test
    labelled = labelled_samples(config, sides, loaded.tokenizer, under_test.model)
    with progress(f"gradients of {model} on {data}", "samples", 2 * len(labelled.samples)) as shown:
        found = audit(
            loaded.subjects,
            labelled,
            config.samples,
            config.method,
            config.seed,
            config.folder / SCRATCH,
            lambda count: shown.advance(count),
            lambda per_side: shown.advance(0, f"MINT models trained at {per_side:,} a side"),
        )
    return Cell(
        model=model,
        data=data,
        protocol=protocol,
        weights=sum(one.numel() for one in under_test.model.parameters()),
        layers=found.parameters,
        columns=found.written.width,
        projected=found.written.projected,
        vmapped=found.written.vmapped,
        members=_counted(sides.members),
        others=_counted(sides.others),
        digests={
            "model": digests["models"][f"{model}/{data}"],
            "tokenizer": digests["tokenizers"][f"{model}/{data}"],
            **_of_files(config, digests, data, protocol),
        },
        findings=found.findings,
    )


def _counted(cohort: Cohort) -> Counted:
    return Counted(cohort.loaded, len(cohort.kept), cohort.dropped)


def _of_files(config: GmintConfig, digests: Digests, data: str, protocol: str) -> dict[str, str]:
    found = config.data[data]
    return {str(path): digests["files"][str(path)] for path in (found.members, *found.others[protocol])}


def _digests(config: GmintConfig) -> Digests:
    """Of every model, tokenizer and file, before anything is written: what is missing is found now."""
    paths = {
        path
        for found in config.data.values()
        for own in found.others.values()
        for path in (found.members, *own)
    }
    models = {f"{model}/{data}": config.model(model, data) for model in config.models for data in config.data}
    return {
        "models": {name: model_fingerprint(one) for name, one in models.items()},
        "tokenizers": {name: tokenizer_fingerprint(one) for name, one in models.items()},
        "files": {str(path): file_digest(path) for path in sorted(paths)},
    }


def _fingerprints(config: GmintConfig, digests: Digests) -> dict[str, Any]:
    """What would change a result: the memory that gradients may take, and where the result goes, do not."""
    asked = config.model_dump(mode="json", exclude={"name": True, "out": True, "method": {"memory_mb"}})
    return {**asked, "digests": digests}


def _record(config: GmintConfig, cells: list[Cell]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": config.name,
        "kind": config.kind,
        "method": config.method.model_dump(mode="json"),
        "seed": config.seed,
        "cells": [{**asdict(cell), "holds": cell.holds} for cell in cells],
        "limitations": LIMITATIONS,
    }
