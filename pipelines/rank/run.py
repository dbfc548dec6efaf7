"""Scores generations part by part, then picks candidates of each score and family; run again, it goes on."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.errors import InputError
from extraction.model import ModelSettings, model_fingerprint, tokenizer_fingerprint
from extraction.ranking.candidates import Picking
from extraction.ranking.scores import SCORES
from extraction.records import Generation, generations_of
from pipelines.elsewhere import Reader
from pipelines.parts import PartStore, write_json
from pipelines.progress import progress
from pipelines.rank.calibration import calibration
from pipelines.rank.candidates import Chosen, candidates_of, write_csv
from pipelines.rank.models import Ranker, Reading
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.work import one_at_a_time

PART_ROWS = 1024

SCORE_SCHEMA = pa.schema(
    [
        ("generation_id", pa.string()),
        ("family", pa.string()),
        ("prompt_token_ids", pa.list_(pa.int32())),
        ("token_ids", pa.list_(pa.int32())),
        *((name, pa.float64()) for name in SCORES),
    ]
)


@dataclass(frozen=True)
class RankOptions:
    """How generations are ranked.

    Attributes:
        model: the model that generated.
        reference: a smaller model, or one that did not see the data; None leaves its scores out.
        picking: how many candidates of each score, and from where.
        include_text: whether candidates.csv carries prompts and texts.
        skip_bad_records: count records that cannot be read instead of refusing the file.
    """

    model: ModelSettings
    reference: ModelSettings | None
    picking: Picking
    include_text: bool = False
    skip_bad_records: bool = False


def rank_generations(source: Path, options: RankOptions, out: Path) -> list[Path]:
    """Rank the generations of a file, or of a run directory, and write candidates for people to check.

    Args:
        source: JSON lines or Parquet as `extraction match` takes it, or a run directory.
        options: models and picking.
        out: the directory to write to.

    Returns:
        The files written: candidates as Parquet and as CSV, and a summary.

    Raises:
        InputError: a source or model cannot be read, or nothing can be scored.
    """
    model = Reading.load(options.model)
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        directory = RunDirectory(out)
        run = directory.open(_config(source, options), _fingerprints(source, options))
        store, bad = directory.store("scores"), _Count()
        _score(_generations(source, model, options, bad), model, options, store)
        chosen = candidates_of(store, options.picking, model.table)
        if not chosen.generations:
            raise InputError(f"{source}: no generation that can be scored; check the file")
        directory.store("candidates").publish(
            "part-00000", chosen.table, {"candidates": chosen.table.num_rows}
        )
        paths = [out / "candidates" / "part-00000.parquet", out / "candidates.csv", out / "ranking.json"]
        write_csv(paths[1], chosen.table, options.include_text)
        summary = _summary(chosen, bad.value, options)
        write_json(str(paths[2]), summary | {"calibration": calibration(source, store)})
        directory.write(run | {"status": "incomplete" if bad.value else "complete"})
    return paths


@dataclass
class _Count:
    value: int = 0


def _config(source: Path, options: RankOptions) -> dict[str, Any]:
    return {
        "generations": str(source),
        "model": options.model.model_dump(mode="json"),
        "reference": options.reference and options.reference.model_dump(mode="json"),
    }


def _fingerprints(source: Path, options: RankOptions) -> dict[str, Any]:
    file = source / "run.json" if source.is_dir() else source
    try:
        size = file.stat().st_size
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror}); name generations or a run") from None
    reference = options.reference
    return {
        "generations": [file.name, size if file == source else 0],
        "model": model_fingerprint(options.model),
        "tokenizer": tokenizer_fingerprint(options.model),
        "reference": None if reference is None else model_fingerprint(reference),
    }


def _generations(
    source: Path, model: Reading, options: RankOptions, bad: _Count
) -> Iterator[tuple[str, Generation]]:
    """Every generation with the id that its file or run gives it."""
    if source.is_dir():
        store = RunDirectory(source).store("generations")
        for name in store.complete():
            yield from ((g.request_id, g) for g in generations_of(store.read(name)))
        return
    reader = Reader(source, model.tokenizer, options.skip_bad_records)
    yield from ((g.request_id, g) for g in reader.generations())
    bad.value = reader.bad


def _score(
    generations: Iterator[tuple[str, Generation]], model: Reading, options: RankOptions, store: PartStore
) -> None:
    complete, reference = set(store.complete()), options.reference
    ranker: Ranker | None = None
    with progress("score", "generations", 0) as shown:
        for number in count():
            rows = list(islice(generations, PART_ROWS))
            if not rows:
                return
            name = f"part-{number:05d}"
            if name not in complete:
                # Loaded once there is work: a finished run picks anew without a model in memory.
                ranker = ranker or Ranker(model, Reading.load(reference) if reference else None)
                store.publish(name, _part(rows, ranker), {"generations": len(rows)})
            shown.total += len(rows)
            shown.advance(len(rows))


def _part(rows: Sequence[tuple[str, Generation]], ranker: Ranker) -> pa.Table:
    scores = ranker.score([g for _, g in rows])
    records = [
        {
            "generation_id": name,
            "family": g.family,
            "prompt_token_ids": g.prompt_token_ids,
            "token_ids": g.token_ids,
            **found,
        }
        for (name, g), found in zip(rows, scores, strict=True)
    ]
    return pa.Table.from_pylist(records, schema=SCORE_SCHEMA)


def _summary(chosen: Chosen, bad: int, options: RankOptions) -> dict[str, Any]:
    return {
        "status": "incomplete" if bad else "complete",
        "generations": chosen.generations,
        "skipped_records": bad,
        "candidates": chosen.table.num_rows,
        "picked_by_score": chosen.picked,
        "without_score": chosen.unscored,
        "picking": {
            "count": options.picking.count,
            "among": options.picking.among,
            "seed": options.picking.seed,
        },
        "direction": "higher is more suspicious in every score",
        "limitations": [
            "A candidate is only suspicious: what people confirm among those checked is no share of all text.",
            "Memorised text that every model finds likely, boilerplate above all, ranks low by the ratios.",
        ],
    }
