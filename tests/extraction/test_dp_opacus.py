"""Audits of training that opacus made private, and of training whose noise was silently left out."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from extraction.dp_audit import CONTRADICTED, NOT_CONTRADICTED, one_run_bound, one_run_guesses

CANARIES, GUESSES, DELTA, LEVEL = 200, 100, 1e-5, 0.05
NOISE, EPOCHS = 3.0, 4

pytestmark = pytest.mark.filterwarnings("ignore:Secure RNG", "ignore:Full backward hook")


def train(included: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """Train one weight for each canary with opacus; give the weights, and the epsilon that its accountant claims."""
    from opacus import PrivacyEngine

    torch.manual_seed(0)
    canaries = torch.eye(CANARIES)[torch.from_numpy(included)]
    model = torch.nn.Linear(CANARIES, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    engine = PrivacyEngine(accountant="prv")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(TensorDataset(canaries), batch_size=25),
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    for _ in range(EPOCHS):
        for (batch,) in loader:
            optimizer.zero_grad()
            (-model(batch).sum()).backward()
            optimizer.step()
    weights = next(model.parameters()).detach().numpy()[0]
    return weights, engine.get_epsilon(DELTA) if noise else float("inf")


def audit(included: np.ndarray, weights: np.ndarray, claim: float) -> tuple[str, float]:
    right = one_run_guesses(included, weights, GUESSES)
    bound = one_run_bound(CANARIES, GUESSES, right, DELTA, LEVEL)
    return bound.against(claim), bound.epsilon


def test_a_claim_stands_with_its_noise_and_falls_without() -> None:
    included = np.random.default_rng(1).random(CANARIES) < 0.5
    weights, claim = train(included, NOISE)
    assert 0.5 < claim < 3
    verdict, shown = audit(included, weights, claim)
    assert verdict == NOT_CONTRADICTED and 0 <= shown <= claim
    silent, _ = train(included, 0.0)
    verdict, shown = audit(included, silent, claim)
    assert verdict == CONTRADICTED and shown > claim
