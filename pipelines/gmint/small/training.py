"""Trains an audited model on its members, until it knows most of them by heart: 50 epochs with Adam, as published."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from extraction.gmint.samples import Padding, Sample, logits_of

BATCH = 32
LEARNING_RATE = 5e-4
EPOCHS = 50


def train(
    model: Any,
    samples: Sequence[Sample],
    padding: Padding,
    epochs: int,
    seed: int,
    learning_rate: float = LEARNING_RATE,
) -> None:
    """Train a classifier in place.

    Args:
        model: takes `input_ids` and `attention_mask`, gives logits.
        samples: to train on, in a new order for each epoch.
        padding: as the model wants it.
        epochs: passes.
        seed: of the order and of dropout.
        learning_rate: of Adam.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    order = np.random.default_rng(seed)
    model.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _ in range(epochs):
            places = order.permutation(len(samples))
            for start in range(0, len(places), BATCH):
                _step(model, optimiser, [samples[place] for place in places[start : start + BATCH]], padding)
    model.eval()


def _step(model: Any, optimiser: torch.optim.Optimizer, batch: Sequence[Sample], padding: Padding) -> None:
    labels = torch.tensor([sample.label for sample in batch])
    loss = torch.nn.functional.cross_entropy(logits_of(model(**padding.inputs(batch, 0))), labels)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
