"""A gMINT audit of one model: from samples to AUCs at several numbers of samples, each beside its controls."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.gmint.features import Written, write_features
from extraction.gmint.gradients import Differentiated
from extraction.gmint.measure import Findings, Material, measure
from extraction.gmint.readings import read
from extraction.gmint.samples import Sample
from extraction.gmint.settings import GmintMethod


@dataclass(frozen=True)
class Subjects:
    """What is audited, and beside what.

    Attributes:
        under_test: the model, and what of it is differentiated.
        untrained: one of the same kind that was not trained on any of the samples.
    """

    under_test: Differentiated
    untrained: Differentiated


@dataclass(frozen=True)
class Labelled:
    """Samples of which it is known whether they were in the training data.

    Attributes:
        samples: n, as both models take them.
        texts: their texts.
        member: bool[n], whether each was in the training data.
        groups: what each belongs to; near duplicates belong together.
    """

    samples: Sequence[Sample]
    texts: Sequence[str]
    member: NDArray[np.bool_]
    groups: Sequence[str]


@dataclass(frozen=True)
class Audited:
    """What was found of one model.

    Attributes:
        findings: for each number of samples.
        parameters: names of those whose gradients were looked at.
        written: how the gradients became rows.
    """

    findings: tuple[Findings, ...]
    parameters: tuple[str, ...]
    written: Written


def audit(
    subjects: Subjects,
    labelled: Labelled,
    samples_per_side: Sequence[int],
    method: GmintMethod,
    seed: int,
    scratch: Path,
    on_rows: Callable[[int], None] = lambda count: None,
    on_measured: Callable[[int], None] = lambda per_side: None,
) -> Audited:
    """Audit a model.

    Gradients lie on disk meanwhile, and are removed: texts can be guessed from them. What an audit that was killed left
    is removed by the next one.

    Args:
        subjects: the model under test, and the untrained one.
        labelled: samples of at least the largest number a side.
        samples_per_side: how many members, and others.
        method: the choices.
        seed: of projections, draws, splits and MINT models.
        scratch: a folder for the gradients alone; made here, and removed.
        on_rows: called with the number of samples after each batch; each sample comes twice, once for each model.
        on_measured: called with each number of samples a side when its MINT models are trained.

    Raises:
        InputError: a gradient is not finite, or there are too few samples or groups.
    """
    with _empty_folder(scratch):
        paths = [scratch / f"{name}.npy" for name in ("gradients", "untrained")]
        written = [
            write_features(of, labelled.samples, path, method.compression(seed), on_rows)
            for of, path in zip((subjects.under_test, subjects.untrained), paths, strict=True)
        ]
        readings = read(subjects.under_test, labelled.samples)
        gradients, untrained = (np.load(path, mmap_mode="r") for path in paths)
        material = Material(
            member=labelled.member,
            groups=labelled.groups,
            texts=labelled.texts,
            gradients=gradients,
            untrained=untrained,
            embeddings=readings.embeddings,
            losses=readings.losses,
            known=_known(labelled),
        )
        training = method.training(seed)
        findings = []
        for per_side in samples_per_side:
            findings.append(measure(material, per_side, method.splits, training))
            on_measured(per_side)
    return Audited(tuple(findings), tuple(subjects.under_test.parameters), written[0])


def _known(labelled: Labelled) -> Mapping[str, Sequence[Any]]:
    """In what members may differ from others beside their words; classes are names, and not compared as numbers."""
    return {
        "length in characters": [len(text) for text in labelled.texts],
        "label": [f"class {sample.label}" for sample in labelled.samples],
    }


@contextmanager
def _empty_folder(path: Path) -> Iterator[None]:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(path)
