"""Drawing tokens: the support and the frequencies that each setting leaves, against plain definitions."""

from typing import Any

import numpy as np
import pytest
import torch

from extraction.engines.sampler import Sampler, inverse_cdf, temperature_at, uniforms
from extraction.sampling import Sampling, resolve_sampling


def draw_many(logits: torch.Tensor, draws: int = 4000, **settings: Any) -> np.ndarray:
    """Draw `draws` times from one distribution; returns the frequency of each token."""
    sampler = Sampler(resolve_sampling(Sampling(**settings), None), [[0]] * draws, logits.shape[-1], "cpu")
    tokens, _ = sampler.draw(logits.expand(draws, -1), uniforms(list(range(draws)), 1)[:, 0])
    return np.bincount(tokens.numpy(), minlength=logits.shape[-1]) / draws


def some_logits(size: int, spread: float = 2.0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(size)) * spread


def close(frequencies: np.ndarray, expected: np.ndarray, draws: int = 4000) -> bool:
    bound = (
        5 * np.sqrt(expected * (1 - expected) / draws) + 3 / draws
    )  # rare tokens: a few draws more or less
    return bool((abs(frequencies - expected) <= bound).all()) and abs(float(frequencies.sum()) - 1) < 1e-9


def test_plain_sampling_follows_the_softmax() -> None:
    logits = some_logits(500)
    assert close(draw_many(logits), logits.softmax(-1).numpy())


def test_temperature_divides_the_logits() -> None:
    logits = some_logits(50)
    assert close(draw_many(logits, temperature=2.5), (logits / 2.5).softmax(-1).numpy())


def test_a_decaying_temperature_falls_from_ten_over_twenty_tokens() -> None:
    decaying = resolve_sampling(Sampling(temperature_decay=True), None)
    assert [temperature_at(decaying, step) for step in (0, 10, 20, 500)] == [10.0, 5.5, 1.0, 1.0]
    falling = [temperature_at(decaying, step) for step in range(21)]
    assert falling == sorted(falling, reverse=True)
    assert temperature_at(resolve_sampling(Sampling(temperature=0.7), None), 0) == 0.7


def test_each_step_of_a_batch_is_drawn_at_its_own_temperature() -> None:
    logits, draws = some_logits(50), 4000
    sampler = Sampler(resolve_sampling(Sampling(temperature_decay=True), None), [[0]] * draws, 50, "cpu")
    uniform = uniforms(list(range(draws)), 21)
    for step in range(21):
        tokens, logprobs = sampler.draw(logits.expand(draws, -1), uniform[:, step])
        if step in (0, 10, 20):
            expected = (logits / (10 - 9 * step / 20)).softmax(-1).numpy()
            assert close(np.bincount(tokens.numpy(), minlength=50) / draws, expected)
            assert torch.allclose(logprobs, logits.log_softmax(-1)[tokens])  # of the unmodified model


def test_top_k_keeps_the_k_likeliest() -> None:
    logits = some_logits(300)
    kept = logits.masked_fill(logits < logits.topk(7).values[-1], -torch.inf)
    assert close(draw_many(logits, top_k=7), kept.softmax(-1).numpy())


@pytest.mark.parametrize(("size", "spread"), [(300, 2.0), (5000, 3.0), (5000, 0.1)])
def test_top_p_keeps_the_smallest_set_that_reaches_the_mass(size: int, spread: float) -> None:
    logits = some_logits(
        size, spread
    )  # the last case is so flat that a few hundred candidates do not reach the mass
    probabilities, order = logits.double().softmax(-1).sort(descending=True)
    keep = probabilities.cumsum(-1) - probabilities < 0.8
    expected = torch.zeros(size, dtype=torch.double).scatter(0, order[keep], probabilities[keep])
    frequencies = draw_many(logits, top_p=0.8)
    assert close(frequencies, (expected / expected.sum()).numpy())
    assert not (frequencies[(expected == 0).numpy()] > 0).any()


def test_top_p_counts_mass_within_top_k() -> None:
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    assert close(draw_many(logits, top_k=2, top_p=0.5), np.array([1.0, 0, 0, 0]))
    assert close(draw_many(logits, top_p=0.5), np.array([4 / 7, 3 / 7, 0, 0]))


def test_min_p_is_relative_to_the_likeliest() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    assert close(draw_many(logits, min_p=0.4), np.array([5 / 8, 3 / 8, 0, 0]))


def test_penalties_follow_their_definitions() -> None:
    settings = {
        "repetition_penalty": 2.0,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.25,
        "temperature": 0,
    }
    sampler = Sampler(resolve_sampling(Sampling(**settings), None), [[3]], 5, "cpu")
    uniform = torch.zeros(1, dtype=torch.double)
    logits = torch.tensor([[4.0, 1.9, 1.0, 3.8, -1.0]])
    # 3 stands in the prompt: 1.9. 0 is drawn: 4 / 2 - 0.5 - 0.25 = 1.25, once more at least 1.0 after another draw.
    assert [int(sampler.draw(logits, uniform)[0]) for _ in range(3)] == [0, 1, 3]


@pytest.mark.parametrize(
    ("setting", "first", "drawn"),
    [
        ({"presence_penalty": 1.0}, 1.2, [1, 2, 1, 1, 1]),  # once, however often a token was drawn
        ({"frequency_penalty": 1.0}, 1.2, [1, 2, 1, 2, 0]),  # for each time that it was
        ({"repetition_penalty": 2.0}, 3.5, [1, 2, 0, 0, 0]),  # once, and what stands in the prompt too
    ],
)
def test_each_penalty_alone(setting: dict[str, float], first: float, drawn: list[int]) -> None:
    sampler = Sampler(resolve_sampling(Sampling(**setting, temperature=0), None), [[0]], 3, "cpu")
    logits, uniform = torch.tensor([[first, 3.0, 2.5]]), torch.zeros(1, dtype=torch.double)
    assert [int(sampler.draw(logits, uniform)[0]) for _ in range(5)] == drawn


def test_log_probabilities_are_raw() -> None:
    logits = some_logits(40)[None]
    sampler = Sampler(resolve_sampling(Sampling(temperature=0.3, top_k=3), None), [[0]], 40, "cpu")
    token, logprob = sampler.draw(logits, torch.zeros(1, dtype=torch.double))
    assert float(logprob) == pytest.approx(float(logits.log_softmax(-1)[0, int(token)]), abs=1e-6)


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 1000, 4097])
def test_inverse_cdf_never_picks_an_impossible_token(size: int) -> None:
    weights = some_logits(size).clamp(min=0)
    weights[size // 2] = 1.0
    weights[size // 2 + 1 :] = 0
    edges = torch.tensor([0.0, 0.25, 0.5, 1 - 2.0**-53], dtype=torch.double)
    chosen = inverse_cdf(weights.expand(4, -1).contiguous(), edges)
    assert (weights[chosen] > 0).all() and (chosen.diff() >= 0).all()
    exact = np.searchsorted(
        weights.double().cumsum(-1).numpy(), 0.5 * float(weights.double().sum()), side="right"
    )
    assert abs(int(chosen[2]) - int(exact)) <= 1


def test_uniform_numbers_depend_on_seed_and_step_alone() -> None:
    many = uniforms([1, 2**63 - 1, 7], 500)
    assert torch.equal(uniforms([7], 20)[0], many[2, :20])
    assert (many >= 0).all() and (many < 1).all()
    assert abs(float(many.mean()) - 0.5) < 0.03 and len(many.unique()) == 1500
