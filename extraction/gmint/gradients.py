"""Per-sample gradients of a model's loss: many at a time by `torch.func`, one by one where that cannot be.

Knows nothing of membership. The model is put into evaluation mode: dropout would make a gradient a matter of luck.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from extraction.gmint.samples import Objective, Padding, Sample, logits_of, with_batch_axis

Gradients = dict[str, Tensor]

WAYS = (Padding(), Padding(additive=True), Padding(side="left"))
CLOSE = 1e-3  # of the largest value of a parameter's gradient; float32 rounds to about 1e-5 of it


@dataclass(frozen=True)
class Differentiated:
    """A model, and what of it is differentiated.

    Attributes:
        model: takes `input_ids` and `attention_mask`. For `torch.func` its attention must be eager (transformers:
            `attn_implementation="eager"`); other kinds branch on the mask, which it cannot follow.
        parameters: their names, each parameter once (`layers`).
        objective: the model's loss.
        padding_token: a token id that the model knows.
    """

    model: nn.Module
    parameters: Sequence[str]
    objective: Objective
    padding_token: int = 0

    @property
    def values(self) -> int:
        """Values in the gradient of one sample."""
        return sum(self.model.get_parameter(name).numel() for name in self.parameters)


def batches(samples: Sequence[Sample], most: int, batch_tokens: int) -> Iterator[list[int]]:
    """Put samples of like length into batches.

    Args:
        samples: to group; one that is beyond `batch_tokens` alone is a batch alone.
        most: most samples of a batch, at least 1.
        batch_tokens: most tokens of a batch, padding included: they bound what the layers between hold.

    Yields:
        Places of samples, each once, the shortest samples first.
    """
    batch: list[int] = []
    for place in sorted(range(len(samples)), key=lambda n: len(samples[n].tokens)):
        full = len(batch) == most or len(samples[place].tokens) * (len(batch) + 1) > batch_tokens
        if batch and full:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def vmapped_gradients(of: Differentiated, samples: Sequence[Sample], padding: Padding) -> Gradients:
    """Gradients of a batch in one pass.

    Args:
        of: the model and what of it is differentiated.
        samples: at least one.
        padding: one that the model can be given (`fitting_padding`).

    Returns:
        For each parameter float32[samples, *its shape].

    Raises:
        RuntimeError: a layer cannot be vmapped.
    """
    of.model.eval()
    weights = {name: of.model.get_parameter(name).detach() for name in of.parameters}
    inputs = padding.inputs(samples, of.padding_token)
    targets = of.objective.targets(samples, inputs["input_ids"].shape[1], padding)

    def loss(weights: Gradients, one: dict[str, Tensor], target: Tensor) -> Tensor:
        # Where a weight is tied, functional_call puts it in each of its places: the gradient is their sum.
        output = functional_call(of.model, weights, (), with_batch_axis(one))
        return of.objective.loss(logits_of(output), target)

    with torch.no_grad():  # of the parameters that nobody asked for no graph is kept
        found: Gradients = vmap(grad(loss), in_dims=(None, 0, 0))(weights, inputs, targets)
    return found


def single_gradients(of: Differentiated, samples: Sequence[Sample]) -> Gradients:
    """Gradients of each sample alone, unpadded, by plain autograd.

    Returns:
        For each parameter float32[samples, *its shape].
    """
    of.model.eval()
    chosen = [of.model.get_parameter(name) for name in of.parameters]
    frozen = [parameter for parameter in chosen if not parameter.requires_grad]
    for parameter in frozen:
        parameter.requires_grad_(True)
    try:
        rows = [_single(of, chosen, sample) for sample in samples]
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)
    stacked = [torch.stack(column) for column in zip(*rows, strict=True)]
    return dict(zip(of.parameters, stacked, strict=True))


def _single(of: Differentiated, chosen: Sequence[nn.Parameter], sample: Sample) -> tuple[Tensor, ...]:
    inputs = Padding().inputs([sample], of.padding_token)
    target = of.objective.targets([sample], len(sample.tokens), Padding())[0]
    loss = of.objective.loss(logits_of(of.model(**inputs)), target)
    # A parameter that this sample does not reach (its gradient is none) has a gradient of zero.
    return torch.autograd.grad(loss, chosen, allow_unused=True, materialize_grads=True)


def fitting_padding(of: Differentiated, samples: Sequence[Sample]) -> Padding | None:
    """Find a padding with which many gradients at a time are those of each sample alone.

    It is tried, not looked up: what a model does with padding is not to be seen from outside, and one that looks at it
    would give wrong gradients without a word.

    Args:
        of: the model and what of it is differentiated.
        samples: the shortest and the longest of them are tried.

    Returns:
        None: there is none; take `single_gradients`.
    """
    by_length = sorted(samples, key=lambda sample: len(sample.tokens))
    # Each with two classes: a classifier that is certain of one has no gradient there that could be compared.
    tried = [replace(one, label=label) for one in (by_length[0], by_length[-1]) for label in (0, 1)]
    alone = single_gradients(of, tried)
    return next((padding for padding in WAYS if _equal(_tried(of, tried, padding), alone)), None)


def _tried(of: Differentiated, samples: Sequence[Sample], padding: Padding) -> Gradients | None:
    """Gradients, or None where the model's layers fail, each kind in its own way; out of memory is no answer."""
    try:
        return vmapped_gradients(of, samples, padding)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception:
        return None


def _equal(found: Gradients | None, expected: Gradients) -> bool:
    if found is None:
        return False
    # Some parameters (the bias of an attention's keys) have no gradient but rounding errors.
    rounding = CLOSE * max(float(value.abs().max()) for value in expected.values())
    return all(
        (found[name] - value).abs().max() <= CLOSE * max(float(value.abs().max()), rounding)
        for name, value in expected.items()
    )
