"""The MINT model: tells training samples from others by their features. Knows nothing of how these were made.

Source: Mancera, DeAlcala, Fierrez, Tolosana and Morales: fully connected, 256, 128 and 64 ReLU units, one sigmoid unit,
binary cross-entropy, Adam, 100 epochs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from extraction.errors import InputError
from extraction.gmint.scaling import Rows, Scaling
from extraction.gmint.splits import Places, Split
from extraction.membership.intervals import auc

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

UNITS = (256, 128, 64)
CHUNK = 512  # rows that are scored at a time


@dataclass(frozen=True)
class MintTraining:
    """How a MINT model is trained.

    Attributes:
        epochs: passes over the fitting part.
        batch: samples of a step.
        learning_rate: of Adam.
        seed: of the weights and of the order.
    """

    epochs: int = 100
    batch: int = 32
    learning_rate: float = 1e-3
    seed: int = 0


@dataclass(frozen=True)
class Mint:
    """A trained MINT model.

    Attributes:
        network: from scaled features to the sigmoid's argument.
        scaling: of the features, learnt from the fitting part.
        best_epoch: whose weights the network has, counted from 0.
        validation: AUC on the validation part after each epoch.
        training_auc: on the fitting part after the last epoch.
    """

    network: nn.Module
    scaling: Scaling
    best_epoch: int
    validation: tuple[float, ...]
    training_auc: float

    def scores(self, features: Rows, places: Places) -> Floats:
        """The sigmoid's argument for some rows, higher for members: it orders what the sigmoid rounds to 1."""
        return _scores(self.network, self.scaling, features, places)


def train_mint(features: Rows, member: Flags, split: Split, training: MintTraining) -> Mint:
    """Train on the fitting part, and keep the weights of the epoch that does best on the validation part.

    Args:
        features: float32[samples, features], may be mapped from a file; a batch is read at a time.
        member: bool[samples], whether each was in the training data.
        split: rows to fit on and to validate on; the test part is not looked at.
        training: how.

    Raises:
        InputError: it diverges.
    """
    with _one_thread():
        return _trained(features, member, split, training)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The steps are too small to be shared: on a busy machine two threads take ten times as long as one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _trained(features: Rows, member: Flags, split: Split, training: MintTraining) -> Mint:
    scaling = Scaling.fitted(features, split.fit)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        network = _network(features.shape[1])
    optimiser = torch.optim.Adam(network.parameters(), lr=training.learning_rate, fused=True)
    order = np.random.default_rng(training.seed)
    validation: list[float] = []
    best: dict[str, Tensor] = {}
    for _ in range(training.epochs):
        shuffled = order.permutation(split.fit)
        for start in range(0, len(shuffled), training.batch):
            places = shuffled[start : start + training.batch]
            _step(network, optimiser, scaling(features[places]), member[places])
        validation.append(
            _auc(_scores(network, scaling, features, split.validation), member[split.validation])
        )
        if validation[-1] > max(validation[:-1], default=-1.0):
            # Copies: the state itself goes on changing with the network.
            best = {name: value.detach().clone() for name, value in network.state_dict().items()}
    training_auc = _auc(_scores(network, scaling, features, split.fit), member[split.fit])
    network.load_state_dict(best)
    return Mint(network, scaling, int(np.argmax(validation)), tuple(validation), training_auc)


def _network(width: int) -> nn.Sequential:
    sizes = (width, *UNITS)
    layers: list[nn.Module] = []
    for before, after in zip(sizes, UNITS, strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(UNITS[-1], 1), nn.Flatten(0))


def _step(network: nn.Module, optimiser: torch.optim.Optimizer, rows: Rows, member: Flags) -> None:
    target = torch.from_numpy(member).float()
    # The loss takes the sigmoid's argument, as the sigmoid itself rounds to 1.
    loss = nn.functional.binary_cross_entropy_with_logits(network(torch.from_numpy(rows)), target)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _scores(network: nn.Module, scaling: Scaling, features: Rows, places: Places) -> Floats:
    chunks = [places[start : start + CHUNK] for start in range(0, len(places), CHUNK)]
    with torch.no_grad():
        found = [network(torch.from_numpy(scaling(features[chunk]))).numpy() for chunk in chunks]
    scores = np.concatenate(found).astype(np.float64)
    if not np.isfinite(scores).all():
        raise InputError("method.learning_rate: a MINT model diverged; take a lower one")
    return scores


def _auc(scores: Floats, member: Flags) -> float:
    return auc(scores[member], scores[~member])
