"""Per-sample gradients are those of each sample alone, whatever the model does with padding, and whatever it ties."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from extraction.errors import InputError
from extraction.gmint.gradients import (
    Differentiated,
    batches,
    fitting_padding,
    single_gradients,
    vmapped_gradients,
)
from extraction.gmint.layers import last_layers, matching_parameters
from extraction.gmint.samples import LABEL, NEXT_TOKEN, Padding, Sample
from tests.extraction.gmint.small_models import (
    SAMPLES,
    Lstm,
    bert,
    distilbert,
    electra,
    gpt2,
    llama,
    xlnet,
)

PADDINGS = {
    bert: Padding(additive=True),
    distilbert: Padding(additive=True),
    electra: Padding(additive=True),
    xlnet: Padding(side="left"),
    gpt2: Padding(),
    llama: Padding(),
}
CLASSIFIERS, CAUSAL = (bert, distilbert, electra, xlnet), (gpt2, llama)


def classifier(model: Any, pattern: str = "") -> Differentiated:
    return Differentiated(model, matching_parameters(model, pattern), LABEL)


def causal(model: Any, pattern: str = "") -> Differentiated:
    return Differentiated(model, matching_parameters(model, pattern), NEXT_TOKEN)


def own_gradients(model: Any, sample: Sample, labels: Tensor) -> dict[str, Tensor]:
    """By the model's own loss and `backward`: nothing of ours is in it."""
    model.eval()
    model.zero_grad()
    model(input_ids=torch.tensor([sample.tokens]), labels=labels).loss.backward()
    zero = torch.zeros(())
    return {
        name: zero.expand_as(parameter) if parameter.grad is None else parameter.grad.clone()
        for name, parameter in model.named_parameters()
    }


def assert_rows_are(found: dict[str, Tensor], row: int, expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name][row], expected[name], rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_a_classifiers_gradients_are_those_of_each_sample_alone(make: Callable[[], Any]) -> None:
    of = classifier(make())
    padding = fitting_padding(of, SAMPLES)
    assert padding == PADDINGS[make]
    many, alone = vmapped_gradients(of, SAMPLES, padding), single_gradients(of, SAMPLES)
    for row, sample in enumerate(SAMPLES):
        expected = own_gradients(of.model, sample, torch.tensor([sample.label]))
        assert_rows_are(many, row, expected)
        assert_rows_are(alone, row, expected)


@pytest.mark.parametrize("make", CAUSAL)
def test_so_are_a_causal_models_with_tied_weights_and_learned_positions(make: Callable[[], Any]) -> None:
    of = causal(make())
    padding = fitting_padding(of, SAMPLES)
    assert padding == PADDINGS[make]
    many, alone = vmapped_gradients(of, SAMPLES, padding), single_gradients(of, SAMPLES)
    for row, sample in enumerate(SAMPLES):
        expected = own_gradients(of.model, sample, torch.tensor([sample.tokens]))
        assert_rows_are(many, row, expected)
        assert_rows_are(alone, row, expected)


def test_a_tied_weight_stands_once_and_padding_has_no_position() -> None:
    found = vmapped_gradients(causal(gpt2()), SAMPLES, Padding())
    assert "lm_head.weight" not in found  # stands under its first name
    assert not found["transformer.wpe.weight"][1, len(SAMPLES[1].tokens) :].any()


def test_what_the_padding_token_is_changes_nothing() -> None:
    model = gpt2()
    names = matching_parameters(model, "h.1")
    one, other = (
        vmapped_gradients(Differentiated(model, names, NEXT_TOKEN, token), SAMPLES, Padding())
        for token in (0, 39)
    )
    for name in names:
        torch.testing.assert_close(one[name], other[name])


def test_an_lstm_is_differentiated_one_by_one() -> None:
    assert fitting_padding(classifier(Lstm()), SAMPLES) is None


class LooksAtPadding(nn.Module):
    """Can be vmapped, and counts the padding among the tokens: every gradient of a batch would be wrong."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(40, 8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.embedding(input_ids).mean(dim=1))
        return logits


def test_a_model_that_looks_at_padding_is_found_out() -> None:
    of = classifier(LooksAtPadding())
    assert fitting_padding(of, SAMPLES) is None
    same_length = [SAMPLES[0], SAMPLES[3]]
    assert fitting_padding(of, same_length) == Padding()  # nothing is padded


def test_frozen_parameters_are_differentiated_and_stay_frozen() -> None:
    of = classifier(bert(), "classifier")
    before = single_gradients(of, SAMPLES)
    of.model.requires_grad_(False)
    for found in (single_gradients(of, SAMPLES), vmapped_gradients(of, SAMPLES, PADDINGS[bert])):
        for name, gradient in found.items():
            torch.testing.assert_close(gradient, before[name], rtol=1e-4, atol=1e-6)
    assert not any(parameter.requires_grad for parameter in of.model.parameters())


def test_layers_are_chosen_by_name_or_from_the_end() -> None:
    model = bert()
    assert matching_parameters(model, r"^classifier") == ["classifier.weight", "classifier.bias"]
    assert last_layers(model, 2) == [
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "classifier.weight",
        "classifier.bias",
    ]
    assert matching_parameters(gpt2(), "lm_head") == ["transformer.wte.weight"]  # the tied one
    assert last_layers(gpt2(), 1) == ["transformer.wte.weight"]
    with pytest.raises(InputError, match="no parameter"):
        matching_parameters(model, "lora_")
    with pytest.raises(InputError, match="layers with parameters"):
        last_layers(model, 999)


def test_batches_keep_to_their_bounds_and_hold_each_sample_once() -> None:
    samples = [Sample([1] * n) for n in (3, 3, 10, 2, 2, 2, 50, 1)]
    for most, tokens, sizes in ((100, 20, [6, 1, 1]), (3, 10**6, [3, 3, 2]), (1, 1, [1] * 8)):
        found = list(batches(samples, most, tokens))
        assert sorted(place for batch in found for place in batch) == list(range(8))
        for batch in found:
            assert len(batch) <= most
            assert len(batch) == 1 or len(batch) * max(len(samples[n].tokens) for n in batch) <= tokens
        assert [len(batch) for batch in found] == sizes
