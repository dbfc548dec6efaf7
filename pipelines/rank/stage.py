"""The ranking stage of a run: every generation scored, part by part on Ray, and candidates put forward."""

import hashlib
from typing import Any

from extraction.model import model_fingerprint
from extraction.ranking.candidates import Picking
from extraction.token_bytes import TokenBytes
from pipelines.config import Ranking, RunConfig
from pipelines.identify import run_parts
from pipelines.parts import PartStore
from pipelines.rank.calibration import hits_in
from pipelines.rank.models import RankingModels
from pipelines.rank.scored import ScoreJob
from pipelines.rank.section import Ranked, put_forward
from pipelines.work import Work


def rank_run(config: RunConfig, settings: Ranking, work: Work, tokenizer: Any) -> dict[str, Any]:
    """Score the generations of a run, pick candidates, and judge the scores where its corpus was searched.

    Args:
        config: the run's configuration.
        settings: its section `ranking`.
        work: the run.
        tokenizer: the model's own.

    Returns:
        The report's `ranking`.
    """
    store = _scores(settings, work)
    with work.stage("rank"):
        job = ScoreJob(
            RankingModels(config.model, settings.reference, settings.engine), work.generations, store
        )
        engine = settings.engine
        run_parts(
            "score",
            job,
            store,
            work.generations.complete(),
            settings.workers,
            engine.cpus_per_worker,
            engine.gpus_per_worker,
        )
        ranked = Ranked(
            scores=store,
            table=TokenBytes.from_tokenizer(tokenizer),
            reference=settings.reference,
            picking=Picking(settings.top, settings.among or None, config.seed),
            hits=hits_in(work.directory, store),
        )
        return put_forward(ranked, work.directory)


def _scores(settings: Ranking, work: Work) -> PartStore:
    """A folder for each reference, so that scores of two are never mixed; the model itself is the run's own."""
    reference = "none" if settings.reference is None else model_fingerprint(settings.reference)
    return work.directory.store(f"scores/{hashlib.sha256(reference.encode()).hexdigest()[:16]}")
