import numpy as np
import pytest
import torch

from extraction import moments as module
from extraction.moments import moments


def by_hand(logits: np.ndarray, tokens: list[int]) -> np.ndarray:
    """In float64, row by row, straight from the definitions; a token of probability 0 has no part."""
    found = []
    for row, token in zip(logits.astype(np.float64), tokens, strict=True):
        logs = row - np.log(np.exp(row - row.max()).sum()) - row.max()
        chances = np.exp(logs)
        seen = chances > 0
        mean = (chances[seen] * logs[seen]).sum()
        spread = np.sqrt((chances[seen] * (logs[seen] - mean) ** 2).sum())
        found.append((logs[token], mean, spread))
    return np.array(found).T


@pytest.mark.parametrize("block", [1 << 18, 700, 1])
def test_independent_arithmetic_in_blocks_of_any_size(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CPU_BLOCK", block)
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(23, 300)) * rng.choice([0.01, 1.0, 8.0], (23, 1)) + 40).astype(np.float32)
    tokens = rng.integers(0, 300, 23).tolist()
    found = moments(torch.tensor(logits), torch.tensor(tokens)).numpy()
    assert found.dtype == np.float32
    assert found == pytest.approx(by_hand(logits, tokens), rel=2e-5, abs=2e-5)


def test_a_token_that_the_model_masks_is_no_nan() -> None:
    logits = np.array([[1.0, 2.0, -np.inf, 0.0], [0.0, -np.inf, -np.inf, -np.inf]], dtype=np.float32)
    found = moments(torch.tensor(logits), torch.tensor([1, 0])).numpy()
    assert found == pytest.approx(by_hand(logits[:, [0, 1, 3]], [1, 0]), abs=1e-6)
    impossible = moments(torch.tensor(logits), torch.tensor([2, 1])).numpy()
    assert np.isneginf(impossible[0]).all()
    assert np.isfinite(impossible[1:]).all()


def test_rows_without_spread_have_exactly_none() -> None:
    uniform, sure = torch.zeros(1, 1000), torch.tensor([[0.0] * 999 + [200.0]])
    assert moments(uniform, torch.tensor([7])).tolist() == [
        [pytest.approx(-np.log(1000))],
        [pytest.approx(-np.log(1000))],
        [0.0],
    ]
    assert moments(sure, torch.tensor([999])).numpy() == pytest.approx(np.zeros((3, 1)), abs=1e-15)


def test_what_the_model_gave_stays_as_it_is() -> None:
    for kind in (torch.float32, torch.bfloat16):
        logits = torch.randn(5, 40, generator=torch.Generator().manual_seed(0)).to(kind)
        before = logits.clone()
        moments(logits, torch.tensor([0, 1, 2, 3, 4]))
        assert torch.equal(logits, before)


def test_a_model_without_numbers_gives_none() -> None:
    logits = torch.zeros(2, 10)
    logits[0, 3] = torch.nan
    found = moments(logits, torch.tensor([0, 0]))
    assert found[:, 0].isnan().all()
    assert found[:, 1].isfinite().all()
