"""What a forward pass shows of each sample, for the controls: the model's loss, and the text's embedding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from extraction.gmint.features import BATCH_TOKENS
from extraction.gmint.gradients import Differentiated, batches
from extraction.gmint.layers import owners
from extraction.gmint.samples import Padding, Sample, logits_of


@dataclass(frozen=True)
class Readings:
    """What a model shows of some samples.

    Attributes:
        losses: float64[samples].
        embeddings: float32[samples, width], what the model's last layer is given, the mean over the tokens where it
            is given each.
    """

    losses: NDArray[np.float64]
    embeddings: NDArray[np.float32]


def read(of: Differentiated, samples: Sequence[Sample]) -> Readings:
    """Read samples; those of one length together, so that none is padded."""
    of.model.eval()
    losses = np.zeros(len(samples))
    embeddings: dict[int, Tensor] = {}
    lengths = np.array([len(sample.tokens) for sample in samples])
    for length in np.unique(lengths):
        alike = np.flatnonzero(lengths == length).tolist()
        for part in batches([samples[n] for n in alike], len(alike), BATCH_TOKENS):
            places = [alike[n] for n in part]
            found, given = _read(of, [samples[n] for n in places])
            losses[places] = found
            embeddings.update(zip(places, given, strict=True))
    return Readings(losses, torch.stack([embeddings[n] for n in range(len(samples))]).numpy())


def _read(of: Differentiated, batch: Sequence[Sample]) -> tuple[list[float], Tensor]:
    given: list[Tensor] = []

    def keep(module: Any, inputs: tuple[Tensor, ...]) -> None:
        given.append(inputs[0])

    last = of.model.get_submodule(owners(of.model)[-1])
    hook = last.register_forward_pre_hook(keep)
    try:
        with torch.no_grad():
            logits = logits_of(of.model(**Padding().inputs(batch, of.padding_token)))
    finally:
        hook.remove()
    targets = of.objective.targets(batch, len(batch[0].tokens), Padding())
    losses = [float(of.objective.loss(logits[n : n + 1], targets[n])) for n in range(len(batch))]
    return losses, given[-1].flatten(1, -2).mean(dim=1) if given[-1].ndim > 2 else given[-1]
