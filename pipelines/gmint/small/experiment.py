"""The small experiment: trains each model on one database, audits it by both protocols, and keeps what it found."""

import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from extraction.gmint.audit import Labelled, Subjects, audit
from extraction.gmint.gradients import WAYS, Differentiated
from extraction.gmint.layers import last_layers
from extraction.gmint.samples import LABEL, Padding, Sample
from extraction.gmint.settings import GmintMethod
from extraction.gmint.splits import joined_groups
from pipelines.gmint.config import INTRA, MIXED
from pipelines.gmint.result import Cell, read_cell, write_cell
from pipelines.gmint.small import data
from pipelines.gmint.small.models import MODELS, untrained
from pipelines.gmint.small.training import EPOCHS, train
from pipelines.membership.result import Counted
from pipelines.progress import say
from pipelines.rundir import RunDirectory

NEAR_DUPLICATE = 0.7


@dataclass(frozen=True)
class Experiment:
    """What is trained and audited.

    Attributes:
        models: names of `MODELS`.
        database: that members are of; one of `data.LENGTHS`.
        protocols: `intra`, `mixed` or both.
        counts: samples a side; models are trained on the largest number.
        epochs: of the audited models.
        method: of the audits.
        seed: of everything.
    """

    models: tuple[str, ...] = tuple(MODELS)
    database: str = "news"
    protocols: tuple[str, ...] = (INTRA, MIXED)
    counts: tuple[int, ...] = (2500, 2250, 1500, 1250, 750)
    epochs: int = EPOCHS
    method: GmintMethod = field(default_factory=lambda: GmintMethod(width=64, splits=3, batch=64))
    seed: int = 0


def run_experiment(experiment: Experiment, folder: Path, processes: int) -> list[Cell]:
    """Train and audit every model, several at a time; run again, it goes on after the last finished one.

    Args:
        experiment: what is done.
        folder: where each model's cells go, readable by its owner alone.
        processes: how many models at a time, a core each.

    Raises:
        InputError: the folder was made by another experiment.
    """
    asked = {**asdict(experiment), "method": experiment.method.model_dump(mode="json")}
    asked = json.loads(json.dumps(asked))  # as it is read back when this is run again
    RunDirectory(folder).open(asked, asked)
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_one_thread) as pool:
        for waiting in [pool.submit(_audited, experiment, model, folder) for model in experiment.models]:
            waiting.result()
    return [
        read_cell(path) for model in experiment.models for path in _paths(experiment, model, folder).values()
    ]


def audit_model(experiment: Experiment, model: str, scratch: Path) -> Iterator[Cell]:
    """Train one model, and audit it by each protocol.

    Args:
        experiment: what is done.
        model: the name of one of its models.
        scratch: a folder for gradients alone; made here, and removed.
    """
    words = len(data.vocabulary())
    under_test, other = (untrained(model, words, experiment.seed + n) for n in range(2))
    members = data.make_texts(experiment.database, max(experiment.counts), experiment.seed)
    train(under_test, _samples(members), _padding(model), experiment.epochs, experiment.seed)
    subjects = Subjects(*(_differentiated(one, experiment.method) for one in (under_test, other)))
    for protocol in experiment.protocols:
        others = _others(experiment, protocol)
        found = audit(
            subjects,
            _labelled(members, others),
            experiment.counts,
            experiment.method,
            experiment.seed,
            scratch,
        )
        yield Cell(
            model=model,
            data=experiment.database,
            protocol=protocol,
            weights=sum(one.numel() for one in under_test.parameters()),
            layers=found.parameters,
            columns=found.written.width,
            projected=found.written.projected,
            vmapped=found.written.vmapped,
            members=Counted(len(members), len(members), {}),
            others=Counted(len(others), len(others), {}),
            digests={},
            findings=found.findings,
        )


def _audited(experiment: Experiment, model: str, folder: Path) -> None:
    paths = _paths(experiment, model, folder)
    if all(path.exists() for path in paths.values()):
        return
    say(f"{model}: started")
    for cell in audit_model(experiment, model, folder / f"{model}.gradients"):
        write_cell(cell, paths[cell.protocol])
        say(f"{model}, {cell.protocol}-database: AUC {cell.largest.gradients.auc.estimate:.3f}")


def _paths(experiment: Experiment, model: str, folder: Path) -> dict[str, Path]:
    return {
        protocol: folder / f"{model}.{experiment.database}.{protocol}.json"
        for protocol in experiment.protocols
    }


def _one_thread() -> None:
    import torch

    os.umask(0o077)
    torch.set_num_threads(1)


def _others(experiment: Experiment, protocol: str) -> list[data.Text]:
    """Texts that no model was trained on: of the same database, or of all in equal shares."""
    count, seed = max(experiment.counts), experiment.seed + 1
    if protocol == INTRA:
        return data.make_texts(experiment.database, count, seed)
    share = -(-count // len(data.LENGTHS))
    drawn = [data.make_texts(database, share, seed) for database in data.LENGTHS]
    return [text for texts in zip(*drawn, strict=True) for text in texts][:count]


def _labelled(members: Sequence[data.Text], others: Sequence[data.Text]) -> Labelled:
    every = [*members, *others]
    texts = data.in_words(every)
    return Labelled(
        samples=_samples(every),
        texts=texts,
        member=np.arange(len(every)) < len(members),
        groups=joined_groups(texts, [None] * len(texts), NEAR_DUPLICATE),
    )


def _samples(texts: Sequence[data.Text]) -> list[Sample]:
    return [Sample((data.CLS, *text.words, data.SEP), text.label) for text in texts]


def _padding(model: str) -> Padding:
    """XLNet looks at the last token; padding there would be all that it looks at."""
    return WAYS[-1] if model.startswith("XLNet") else WAYS[0]


def _differentiated(model: Any, method: GmintMethod) -> Differentiated:
    return Differentiated(model, last_layers(model, int(method.layers)), LABEL)
