"""The embedded engine on real tiny models: repeats, seeds, log-probabilities, ends, and requests that cannot run."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from extraction.engines import load_engine
from extraction.engines.decoding import batches, padded_width
from extraction.engines.settings import ModelSettings, TransformersSettings
from extraction.model import load_model, load_tokenizer
from extraction.records import Generation
from extraction.sampling import Sampling, resolve_sampling
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import byte_level_tokenizer, gpt2, llama, request

PROMPTS = [[0], [0, 5, 6], [0, 300, 20, 31, 9, 17, 255, 3], [0, *range(40, 57)]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = llama(tmp_path_factory.mktemp("llama"))
    byte_level_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def engine_of(folder: Path) -> Iterator[Callable[..., Any]]:
    def make(path: Path = folder, batch_size: int = 8, **sampling: Any) -> Any:
        settings = TransformersSettings(batch_size=batch_size)
        return load_engine(
            settings, ModelSettings(path=str(path)), resolve_sampling(Sampling(**sampling), path)
        )

    yield make


def score_alone(path: Path, generation: Generation) -> list[float]:
    """Log-probabilities of a generation by one forward pass over it alone, without padding or cache."""
    model = load_model(ModelSettings(path=str(path)))
    ids = torch.tensor([generation.prompt_token_ids + generation.token_ids])
    with torch.inference_mode():
        scores = model(input_ids=ids).logits[0].log_softmax(-1)
    first = len(generation.prompt_token_ids)
    return [float(scores[first + i - 1, token]) for i, token in enumerate(generation.token_ids)]


def test_requests_that_differ_in_their_seed_alone_differ(engine_of: Callable[..., Any]) -> None:
    generations = engine_of().generate([request([0], seed) for seed in range(20)])
    assert len({tuple(g.token_ids[:8]) for g in generations}) >= 18


def test_a_request_repeats_exactly_in_any_batch_and_place(engine_of: Callable[..., Any]) -> None:
    engine = engine_of()
    wanted = [request(prompt, seed) for seed, prompt in enumerate(PROMPTS)]
    alone = [engine.generate([r])[0] for r in wanted]
    others = [request([0, *range(10, 10 + n % 30)], 1000 + n, 1 + n % 40) for n in range(45)]
    mixed = others[:13] + wanted[2:] + others[13:] + wanted[:2]
    found = {(g.number, tuple(g.prompt_token_ids)): g for g in engine_of().generate(mixed)}
    for r, single in zip(wanted, alone, strict=True):
        assert (
            found[(r.number, tuple(r.prompt_token_ids))] == single
        )  # tokens and log-probabilities, bit for bit


def test_two_workers_and_an_empty_prompt_give_different_samples(engine_of: Callable[..., Any]) -> None:
    first = engine_of().generate([request([0], seed) for seed in (1, 2)])
    second = engine_of().generate([request([0], seed) for seed in (3, 4)])
    assert len({tuple(g.token_ids) for g in (*first, *second)}) == 4


@pytest.mark.parametrize("make", [llama, gpt2])
def test_log_probabilities_in_a_batch_equal_those_alone(
    make: Callable[[Path], Path], tmp_path: Path, engine_of: Callable[..., Any]
) -> None:
    path = make(tmp_path)
    for generation in engine_of(path).generate([request(p, s) for s, p in enumerate(PROMPTS)]):
        assert generation.logprobs == pytest.approx(score_alone(path, generation), abs=1e-4)


def test_log_probabilities_are_those_of_the_unmodified_model(
    engine_of: Callable[..., Any], folder: Path
) -> None:
    engine = engine_of(temperature=0.5, top_k=7, repetition_penalty=1.5)
    for generation in engine.generate([request(p, s) for s, p in enumerate(PROMPTS)]):
        assert generation.logprobs == pytest.approx(score_alone(folder, generation), abs=1e-4)


def test_the_end_of_sequence_token_is_counted_and_ends_a_generation(engine_of: Callable[..., Any]) -> None:
    generations = engine_of(temperature=3.0).generate([request([0], s, 100) for s in range(64)])
    stopped = [g for g in generations if g.finish_reason == "stop"]
    assert stopped and len(stopped) < len(generations)
    for g in generations:
        assert 1 not in g.token_ids[:-1]
        assert (g.token_ids[-1] == 1) == (g.finish_reason == "stop")
        assert len(g.logprobs) == len(g.token_ids) <= 100
        assert g.finish_reason == "stop" or len(g.token_ids) == 100


def test_a_stop_string_ends_a_generation_and_its_tokens_count(
    engine_of: Callable[..., Any], folder: Path
) -> None:
    table = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(tokenizer=str(folder))))
    requests = [request([0], s, 100) for s in range(32)]
    free = engine_of().generate(requests)
    stopped = engine_of(stop_strings=("e", "th")).generate(requests)
    ended = 0
    for whole, cut in zip(free, stopped, strict=True):
        pieces = table.bytes_of(whole.token_ids)
        texts = [b"".join(pieces[: n + 1]) for n in range(len(pieces))]
        end = next((n + 1 for n, text in enumerate(texts) if b"e" in text or b"th" in text), None)
        assert cut.token_ids == whole.token_ids[:end] and cut.logprobs == whole.logprobs[:end]
        assert cut.finish_reason == ("stop" if end else whole.finish_reason)
        ended += end is not None
    assert ended > 8


def test_a_decaying_temperature_makes_openings_diverse(engine_of: Callable[..., Any], folder: Path) -> None:
    requests = [request([0], s, 1) for s in range(2000)]
    engine = engine_of(batch_size=256, temperature_decay=True)
    counts = Counter(g.token_ids[0] for g in engine.generate(requests))
    model = load_model(ModelSettings(path=str(folder)))
    with torch.inference_mode():
        expected = (model(input_ids=torch.tensor([[0]])).logits[0, -1] / 10).softmax(-1)
    for token in expected.topk(10).indices.tolist():
        p = float(expected[token])
        assert abs(counts[token] / 2000 - p) < 5 * math.sqrt(p * (1 - p) / 2000)


def test_each_request_has_its_own_limit(engine_of: Callable[..., Any]) -> None:
    limits = [1, 5, 17, 5]
    generations = engine_of().generate([request([0], s, n) for s, n in enumerate(limits)])
    for g, limit in zip(generations, limits, strict=True):
        assert len(g.token_ids) == limit or g.finish_reason == "stop"
    assert generations[0].finish_reason in ("length", "stop") and len(generations[0].token_ids) == 1


def test_requests_that_cannot_run_fail_alone(engine_of: Callable[..., Any]) -> None:
    good = request([0], 7)
    bad = [request([0] * 128, 1), request([], 2), request([0, 420], 3), request([-1], 4)]
    generations = engine_of().generate([bad[0], good, *bad[1:]])
    assert [g.finish_reason for g in generations].count("failed") == 4
    assert generations[1] == engine_of().generate([good])[0]
    assert generations[0].token_ids == [] and generations[0].request_id == bad[0].request_id


def test_a_long_prompt_leaves_what_room_the_model_has(engine_of: Callable[..., Any]) -> None:
    (generation,) = engine_of().generate([request([0] * 120, 5, 50)])
    assert len(generation.token_ids) == 8 or generation.finish_reason == "stop"


def test_greedy_takes_the_likeliest_token(engine_of: Callable[..., Any], folder: Path) -> None:
    one, other = engine_of(temperature=0).generate([request([0, 9], 1, 6), request([0, 9], 2, 6)])
    assert one.token_ids == other.token_ids
    model = load_model(ModelSettings(path=str(folder)))
    with torch.inference_mode():
        assert one.token_ids[0] == int(model(input_ids=torch.tensor([[0, 9]])).logits[0, -1].argmax())


def test_first_tokens_follow_the_models_distribution(engine_of: Callable[..., Any], folder: Path) -> None:
    draws = 4000
    counts = Counter(
        g.token_ids[0] for g in engine_of(batch_size=256).generate([request([0], s, 1) for s in range(draws)])
    )
    model = load_model(ModelSettings(path=str(folder)))
    with torch.inference_mode():
        expected = model(input_ids=torch.tensor([[0]])).logits[0, -1].softmax(-1)
    for token in expected.topk(10).indices.tolist():
        p = float(expected[token])
        assert abs(counts[token] / draws - p) < 5 * math.sqrt(p * (1 - p) / draws)


def test_what_really_ran_is_told(engine_of: Callable[..., Any]) -> None:
    used = engine_of().settings_used()
    assert used["dtype"] == "float32" and used["exact_repeats"] is True and used["threads"] == 1
    assert used["torch"] == torch.__version__ and used["max_length"] == 128


def test_bfloat16_is_an_option_that_promises_no_repeats(folder: Path) -> None:
    model = ModelSettings(path=str(folder), dtype="bfloat16")
    engine = load_engine(TransformersSettings(batch_size=4), model, resolve_sampling(Sampling(), folder))
    assert engine.settings_used()["exact_repeats"] is False
    assert engine.generate([request([0])])[0].token_ids


def test_closing_twice_does_no_harm(engine_of: Callable[..., Any]) -> None:
    engine = engine_of()
    engine.close()
    engine.close()


def test_batches_hold_every_request_once_and_one_width_each() -> None:
    requests = [request([0] * (1 + n % 20), n, 1 + n % 7) for n in range(100)]
    groups = list(batches(requests, range(100), 8))
    assert sorted(i for group in groups for i in group) == list(range(100))
    for group in groups:
        assert len(group) <= 8
        assert len({padded_width(len(requests[i].prompt_token_ids)) for i in group}) == 1


@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 64])
def test_there_is_always_a_pad(tokens: int) -> None:
    assert padded_width(tokens) > tokens and padded_width(tokens) % 16 == 0
