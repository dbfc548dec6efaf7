"""`extraction rank`: scores generations part by part, then picks candidates; run again, it goes on."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.model import load_tokenizer, model_fingerprint, tokenizer_fingerprint
from extraction.ranking.candidates import Picking
from extraction.records import Generation, generations_of
from extraction.token_bytes import TokenBytes
from pipelines.digests import file_digest
from pipelines.elsewhere import Reader
from pipelines.parts import PartStore, write_json
from pipelines.progress import progress
from pipelines.rank.calibration import hits_in
from pipelines.rank.models import Ranker, RankingModels
from pipelines.rank.scored import publish_scores
from pipelines.rank.section import Ranked, put_forward
from pipelines.rundir import RunDirectory, refuse_foreign_files
from pipelines.work import one_at_a_time

PART_ROWS = 1024
Parts = Iterator[tuple[str, Sequence[Generation]]]


@dataclass(frozen=True)
class RankOptions:
    """How generations are ranked.

    Attributes:
        models: the model that generated, its reference, and what runs them.
        picking: how many candidates of each score, and from where.
        include_text: whether candidates.csv carries prompts and texts.
        skip_bad_records: count records that cannot be read instead of refusing the file.
    """

    models: RankingModels
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
        InputError: a source or model cannot be read, a run is of another model, or nothing can be scored.
    """
    tokenizer = load_tokenizer(options.models.model)
    before = RunDirectory(source).read() if source.is_dir() else None
    reader = Reader(source, tokenizer, options.skip_bad_records) if before is None else None
    fingerprints = _fingerprints(source, before, options.models)
    refuse_foreign_files(out)
    os.makedirs(out, mode=0o700, exist_ok=True)
    with one_at_a_time(out):
        directory = RunDirectory(out)
        run = directory.open(_config(source, options.models), fingerprints)
        store = directory.store("scores")
        _score(_parts_of_run(source) if reader is None else _parts_of_file(reader), options.models, store)
        ranked = Ranked(
            scores=store,
            table=TokenBytes.from_tokenizer(tokenizer),
            reference=options.models.reference,
            picking=options.picking,
            hits=hits_in(RunDirectory(source), store) if reader is None else None,
            include_text=options.include_text,
            skipped_records=reader.bad if reader else 0,
        )
        summary = put_forward(ranked, directory)
        incomplete = _incomplete(ranked.skipped_records, before)
        ended = {"status": "incomplete" if incomplete else "complete", "incomplete": incomplete}
        write_json(str(out / "ranking.json"), ended | summary)
        directory.write(run | ended)
    return [out / "candidates" / "part-00000.parquet", out / "candidates.csv", out / "ranking.json"]


def _config(source: Path, models: RankingModels) -> dict[str, Any]:
    return {
        "generations": str(source),
        "model": models.model.model_dump(mode="json"),
        "reference": models.reference and models.reference.model_dump(mode="json"),
        "engine": models.engine.model_dump(mode="json"),
    }


def _fingerprints(source: Path, run: Mapping[str, Any] | None, models: RankingModels) -> dict[str, Any]:
    found = {
        "generations": file_digest(source) if run is None else run.get("run"),
        "model": model_fingerprint(models.model),
        "tokenizer": tokenizer_fingerprint(models.model),
        "reference": None if models.reference is None else model_fingerprint(models.reference),
    }
    if run is not None:
        _refuse_what_cannot_be_ranked(source, run, found)
    return found


def _refuse_what_cannot_be_ranked(source: Path, run: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """The log-probabilities that a run kept, and its tokens, are those of the model that generated."""
    if run.get("purged"):
        raise InputError(f"{source}: its texts were purged; nothing is left that could be ranked")
    for name in ("model", "tokenizer"):
        theirs = (run.get("fingerprints") or {}).get(name)
        if theirs is not None and theirs != ours[name]:
            raise InputError(f"{source}: --model has another {name}; name the model that generated this run")


def _incomplete(skipped: int, run: Mapping[str, Any] | None) -> list[str]:
    """Why not everything was ranked."""
    reasons = [f"generations that could not be read ({skipped:,})"] if skipped else []
    return reasons + (
        ["the run is not complete"] if run is not None and run.get("status") != "complete" else []
    )


def _parts_of_run(source: Path) -> Parts:
    """The parts of a run, under the names that they have there."""
    store = RunDirectory(source).store("generations")
    for name in store.complete():
        yield name, generations_of(store.read(name))


def _parts_of_file(reader: Reader) -> Parts:
    """A file in parts; each generation has the id that the file gives it."""
    generations = reader.generations()
    for number in count():
        rows = list(islice(generations, PART_ROWS))
        if not rows:
            return
        yield f"part-{number:05d}", rows


def _score(parts: Parts, models: RankingModels, store: PartStore) -> None:
    complete = set(store.complete())
    ranker: Ranker | None = None
    with progress("score", "generations", 0) as shown:
        for name, rows in parts:
            if name not in complete:
                # Loaded once there is work: a finished ranking picks anew without a model in memory.
                ranker = ranker or models.load()
                publish_scores(store, name, rows, ranker)
            shown.total += len(rows)
            shown.advance(len(rows))
