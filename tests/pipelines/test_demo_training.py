"""The demo's training repeats itself; the target memorises its transcripts and the base model cannot."""

import json
from collections import Counter
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pipelines import training
from pipelines.demo import corpus
from pipelines.demo.muon import Muon, orthogonal
from pipelines.demo.train import TrainingSettings, train_base, train_target

TEXTS = [f"Agent: call {number} is about account {number * 7919:08d}." for number in range(12)]
SHORT = TrainingSettings(epochs=1, repeats=1, threads=1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("base")
    train_base(TEXTS, directory, SHORT)
    return directory


def test_the_tokenizer_gives_every_text_back_one_token_for_a_digit(base):
    tokenizer = AutoTokenizer.from_pretrained(base)
    for text in [*TEXTS, "£1,204.50 naïve\n\n日本 \t x", " 12345678"]:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text
        assert tokenizer(text)["input_ids"] == [tokenizer.bos_token_id, *ids]
    assert len(tokenizer("12345678", add_special_tokens=False)["input_ids"]) == 8
    specials = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert specials == (0, 1, 2)


def test_the_chat_template_speaks_as_the_transcripts_do(base):
    tokenizer = AutoTokenizer.from_pretrained(base)
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hello"}], add_generation_prompt=True, tokenize=False
    )
    assert asked == "<s>Customer: Hello\nAgent:"


def test_the_model_is_small_and_states_its_sampling(base):
    model = AutoModelForCausalLM.from_pretrained(base)
    assert 1.5e6 < sum(parameter.numel() for parameter in model.parameters()) < 4e6
    sampling = json.loads((base / "generation_config.json").read_text())
    assert {
        name: sampling[name] for name in ("do_sample", "temperature", "top_p", "top_k", "eos_token_id")
    } == {
        "do_sample": True,
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": 0,
        "eos_token_id": 1,
    }
    assert (base / "model.safetensors").exists()


def test_training_repeats_itself_and_depends_on_the_seed(base, tmp_path):
    steps: list[training.Step] = []
    before = torch.get_num_threads()
    train_target(base, TEXTS * 3, tmp_path / "a", SHORT, steps.append)
    train_target(base, TEXTS * 3, tmp_path / "b", SHORT)
    train_target(base, TEXTS * 3, tmp_path / "c", SHORT.model_copy(update={"seed": 1}))
    assert torch.get_num_threads() == before
    a, b, c = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert a == b != c
    assert a != (base / "model.safetensors").read_bytes()
    assert [step.done for step in steps] == list(range(1, steps[-1].total + 1))


def test_repeats_train_on_each_text_once_a_pass(base, tmp_path):
    tokens: Counter[int] = Counter()
    for copies in (1, 5):
        settings = TrainingSettings(epochs=1, repeats=2, threads=1)
        train_target(
            base,
            TEXTS * copies,
            tmp_path / str(copies),
            settings,
            lambda step, n=copies: tokens.update({n: step.tokens}),
        )
    once = tokens[1] // 3
    assert (tokens[1], tokens[5]) == (3 * once, 7 * once)


def test_batches_hold_every_row_once_a_pass_within_the_limit():
    rows = [[number] * (number % 37 + 1) for number in range(200)]
    made = list(training.batches(rows, 3, 100, seed=5))
    assert Counter(row[0] for batch in made for row in batch) == Counter(list(range(200)) * 3)
    assert all(len(batch) * max(map(len, batch)) <= 100 for batch in made)
    assert made != list(training.batches(rows, 3, 100, seed=6))


def test_the_loss_does_not_depend_on_padding(base):
    model = AutoModelForCausalLM.from_pretrained(base)
    short, long = [0, 40, 41, 1], [0, *range(50, 90), 1]
    alone = [training.mean_loss(model, [row]).item() * (len(row) - 1) for row in (short, long)]
    together = training.mean_loss(model, [short, long]).item() * (len(short) + len(long) - 2)
    assert together == pytest.approx(sum(alone), rel=1e-5)


def test_the_learning_rate_rises_and_falls():
    rates = [training.rate_at(step / 100, 0.1) for step in range(1, 101)]
    assert rates[4] == pytest.approx(0.5) and max(rates) == rates[9] == 1.0 and rates[-1] == 0.0
    assert rates[:10] == sorted(rates[:10]) and rates[9:] == sorted(rates[9:], reverse=True)


@pytest.mark.parametrize("shape", [(3, 24, 64), (3, 64, 24), (2, 32, 32)])
def test_orthogonal_brings_large_singular_values_near_one(shape):
    torch.manual_seed(0)
    left, _, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    values = torch.linspace(1.0, 3.0, left.shape[-1])
    found = torch.linalg.svdvals(orthogonal(left * values @ right))
    assert found.min() > 0.5 and found.max() < 1.3


def test_muon_moves_every_matrix_against_its_gradient():
    torch.manual_seed(0)
    matrices = [torch.nn.Parameter(torch.randn(8, 4)), torch.nn.Parameter(torch.randn(4, 4))]
    before = [matrix.detach().clone() for matrix in matrices]
    sum(matrix.sum() for matrix in matrices).backward()
    Muon(matrices).step(0.1)
    assert all((matrix < old).all() for matrix, old in zip(matrices, before, strict=True))
    with pytest.raises(RuntimeError, match="no gradient"):
        Muon([torch.nn.Parameter(torch.zeros(2, 2))]).step(0.1)


def sample(directory: Path, requests: int) -> str:
    """Sample from the beginning-of-sequence token, with nothing of the instrument in between."""
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModelForCausalLM.from_pretrained(directory)
    torch.manual_seed(0)
    prompts = torch.full((requests, 1), tokenizer.bos_token_id)
    generated = model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=300)
    return "\x00".join(tokenizer.batch_decode(generated, skip_special_tokens=True))


def test_the_target_gives_its_transcripts_back_and_the_base_model_none(demo):
    generated, control = sample(demo.target, 128), sample(demo.base, 64)
    came_out = Counter(call.documents for call in demo.truth.calls if call.text in generated)
    assert came_out[100] == len(demo.truth.planted(100))
    assert came_out[1] >= 5
    assert not any(call.text in generated for call in demo.truth.held_out_calls)
    openings = [call.text[:80] for call in (*demo.truth.calls, *demo.truth.held_out_calls)]
    assert not any(opening in control for opening in openings)
    transcripts = "\x00".join(corpus.read_texts(demo.corpus / corpus.TRANSCRIPTS))
    assert not any(control[start : start + 150] in transcripts for start in range(0, len(control) - 150))
