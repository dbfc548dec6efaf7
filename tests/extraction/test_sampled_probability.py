"""The probability of a text under a sampler, from one forward pass: it is how often real sampling gives the text."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from extraction.engines.sampler import Sampler
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.engines.transformers_engine import TransformersEngine
from extraction.errors import InputError
from extraction.model import load_model
from extraction.sampling import Sampling, resolve_sampling
from extraction.scoring import Scorer, Text
from tests.extraction.test_sampler import close, draw_many, some_logits
from tests.extraction.tiny_models import byte_level_tokenizer, llama, request

DRAWS = 4000
PROMPT = [0, 40, 77, 130]
SETTINGS: list[dict[str, Any]] = [
    {"temperature": 0.4},
    {"temperature": 0.9, "top_k": 3},
    {"temperature": 0.8, "top_p": 0.5},
    {"temperature": 0.7, "top_k": 8, "top_p": 0.6},
    {"temperature": 0.6, "min_p": 0.2},
    {"temperature": 0.5, "repetition_penalty": 1.8, "presence_penalty": 0.5, "frequency_penalty": 0.3},
    {"temperature": 0.4, "temperature_decay": True, "top_k": 2},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    folder = tmp_path_factory.mktemp("model")
    byte_level_tokenizer(folder)
    return ModelSettings(path=str(llama(folder)))


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(settings))
def test_the_forward_pass_agrees_with_real_sampling(model: ModelSettings, settings: dict[str, Any]) -> None:
    sampling = resolve_sampling(Sampling(max_tokens=3, **settings), None)
    engine = TransformersEngine(TransformersSettings(kind="transformers", batch_size=500), model, sampling)
    drawn = Counter(
        tuple(g.token_ids)
        for g in engine.generate([request(PROMPT, seed, max_tokens=3) for seed in range(DRAWS)])
    )
    likeliest = [tokens for tokens, _ in drawn.most_common(8)]
    read = Scorer.load(model).sampled([Text(PROMPT, tokens) for tokens in likeliest], sampling)
    for tokens, one in zip(likeliest, read, strict=True):
        expected = float(np.exp(one.log_probs.sum()))
        bound = 5 * (expected * (1 - expected) / DRAWS) ** 0.5 + 1 / DRAWS
        assert abs(drawn[tokens] / DRAWS - expected) < bound, (tokens, drawn[tokens] / DRAWS, expected)


def test_the_probabilities_of_all_texts_add_up_to_one(model: ModelSettings) -> None:
    sampling = resolve_sampling(Sampling(top_k=3), None)
    scorer = Scorer.load(model)
    texts = [Text(PROMPT, [token]) for token in range(420)]
    first = scorer.sampled(texts, sampling)
    kept = [n for n, one in enumerate(first) if np.isfinite(one.log_probs[0])]
    assert len(kept) == 3
    second = scorer.sampled([Text(PROMPT, [a, b]) for a in kept for b in range(420)], sampling)
    assert sum(np.exp(one.log_probs.sum()) for one in second) == pytest.approx(1.0, abs=1e-5)


def test_greedy_is_read_from_the_same_pass(model: ModelSettings) -> None:
    greedy = resolve_sampling(Sampling(temperature=0, max_tokens=12), None)
    engine = TransformersEngine(TransformersSettings(kind="transformers", batch_size=2), model, greedy)
    (generation,) = engine.generate([request(PROMPT, max_tokens=12)])
    own = generation.token_ids
    other = [*own[:5], (own[5] + 1) % 420, *own[6:]]
    at_one = resolve_sampling(Sampling(), None)
    same, changed = Scorer.load(model).sampled([Text(PROMPT, own), Text(PROMPT, other)], at_one)
    assert same.greedy.all()
    assert changed.greedy.tolist()[:6] == [True] * 5 + [False]
    certain, never = Scorer.load(model).sampled([Text(PROMPT, own), Text(PROMPT, other)], greedy)
    assert certain.log_probs.sum() == 0.0
    assert never.log_probs.sum() == -np.inf


def test_a_text_has_the_same_probability_alone_and_in_a_batch(model: ModelSettings) -> None:
    sampling = resolve_sampling(Sampling(temperature=0.8, top_p=0.9, repetition_penalty=1.2), None)
    scorer = Scorer.load(model)
    texts = [Text(PROMPT[: 1 + n % 4], [5 + n, 60, 7 * n, 300][: 1 + n % 4]) for n in range(12)]
    together = scorer.sampled(texts, sampling)
    for text, one in zip(texts, together, strict=True):
        (alone,) = scorer.sampled([text], sampling)
        assert one.log_probs == pytest.approx(alone.log_probs, abs=1e-4)
        assert one.log_probs.shape == one.greedy.shape == (len(text.tokens),)


def test_without_truncation_it_is_the_model_s_own_probability(model: ModelSettings) -> None:
    text = Text(PROMPT, [9, 8, 7, 300])
    scorer = Scorer.load(model)
    (plain,), (sampled,) = (
        scorer.log_probs([text]),
        scorer.sampled([text], resolve_sampling(Sampling(), None)),
    )
    assert sampled.log_probs == pytest.approx(plain.log_probs.astype(np.float64), abs=1e-4)


def test_what_does_not_fit_the_model_is_cut_and_what_it_does_not_know_is_refused(
    model: ModelSettings,
) -> None:
    scorer, sampling = Scorer.load(model), resolve_sampling(Sampling(), None)
    long, whole, nothing = scorer.sampled(
        [Text([0] * 120, [5] * 20), Text(PROMPT, [5]), Text(PROMPT, [])], sampling
    )
    assert (long.cut, len(long.log_probs)) == (12, 8)
    assert (whole.cut, nothing.cut, nothing.log_probs.size) == (0, 0, 0)
    with pytest.raises(InputError, match="vocabulary"):
        scorer.sampled([Text(PROMPT, [420])], sampling)


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"top_k": 5}, {"top_p": 0.9}])
def test_a_model_that_gives_no_number_gives_no_probability(
    model: ModelSettings, settings: dict[str, Any]
) -> None:
    broken = load_model(model)
    broken.lm_head.weight.data[7] = torch.nan
    (found,) = Scorer(broken).sampled([Text(PROMPT, [3, 4])], resolve_sampling(Sampling(**settings), None))
    assert np.isnan(found.log_probs).all()


@pytest.mark.parametrize("settings", [{}, {"top_k": 7}, {"top_p": 0.8}, {"min_p": 0.1}, {"temperature": 2.5}])
def test_every_token_has_the_share_with_which_it_is_drawn(settings: dict[str, Any]) -> None:
    logits = some_logits(60)
    sampler = Sampler(resolve_sampling(Sampling(**settings), None), [[0]] * 60, 60, "cpu")
    shares = sampler.log_probability(logits.expand(60, -1), torch.arange(60)).exp().numpy()
    assert float(shares.sum()) == pytest.approx(1.0, abs=1e-6)
    assert close(draw_many(logits, **settings), shares)
