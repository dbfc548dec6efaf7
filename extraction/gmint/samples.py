"""Samples as a model takes them, and its own loss on one of them. Padding never counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

IGNORED = -100
"""The target of what is not predicted."""
SHORTEST = 2
"""Tokens of a causal model's sample: after one alone there is nothing to predict, and no gradient."""


@dataclass(frozen=True)
class Sample:
    """One text, as tokens.

    Attributes:
        tokens: token ids, special tokens included; at least one, and two for a causal model.
        label: class of a classifier; not looked at for a causal model.
        types: segment of each token, where the model tells segments apart (XLNet); else empty.
    """

    tokens: Sequence[int]
    label: int = 0
    types: Sequence[int] = ()


@dataclass(frozen=True)
class Padding:
    """How samples of unlike length become one batch.

    Attributes:
        side: where a sample is filled up. On the right its positions are the same padded and alone, also where the
            model learned an embedding of each; XLNet looks at the last token, and wants them on the left.
        additive: the mask is what is added to each attention score, float32[samples, 1, 1, length]. The encoders of
            transformers take it as it is; from a mask of ones and zeros they make it in a way that `torch.func` cannot
            follow.
    """

    side: Literal["left", "right"] = "right"
    additive: bool = False

    def inputs(self, samples: Sequence[Sample], token: int) -> dict[str, Tensor]:
        """What a model takes.

        Args:
            samples: at least one.
            token: that fills up; the model must know it.

        Returns:
            `input_ids`, int64[samples, length of the longest], `attention_mask`, and `token_type_ids` where samples
            have them.
        """
        length = max(len(sample.tokens) for sample in samples)
        ids = [self.filled(sample.tokens, length, token) for sample in samples]
        mask = torch.tensor([self.filled([1] * len(sample.tokens), length, 0) for sample in samples])
        if self.additive:
            mask = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        inputs = {"input_ids": torch.tensor(ids), "attention_mask": mask}
        if any(sample.types for sample in samples):
            types = [self.filled(sample.types, length, 0) for sample in samples]
            inputs["token_type_ids"] = torch.tensor(types)
        return inputs

    def filled(self, values: Sequence[int], length: int, value: int) -> list[int]:
        """A row filled up to a length."""
        more = [value] * (length - len(values))
        return [*more, *values] if self.side == "left" else [*values, *more]


@dataclass(frozen=True)
class Objective:
    """A model's own loss on one sample.

    Attributes:
        targets: of samples that are padded to a length, on a side: a row for each.
        loss: a scalar, from the model's logits of a batch of one and one row of targets.
    """

    targets: Callable[[Sequence[Sample], int, Padding], Tensor]
    loss: Callable[[Tensor, Tensor], Tensor]


def _labels(samples: Sequence[Sample], length: int, padding: Padding) -> Tensor:
    """int64[samples]: the classes."""
    return torch.tensor([sample.label for sample in samples])


def _label_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of one sample's class: float[1, classes], int64[]."""
    return functional.cross_entropy(logits[0], target)


def _next_tokens(samples: Sequence[Sample], length: int, padding: Padding) -> Tensor:
    """int64[samples, length]: at each place the token after it; none at the last one and in the padding."""
    rows = [[*sample.tokens[1:], IGNORED] for sample in samples]
    return torch.tensor([padding.filled(row, length, IGNORED) for row in rows])


def _next_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of each token after the first: float[1, length, vocabulary], int64[length]."""
    return functional.cross_entropy(logits[0], targets, ignore_index=IGNORED)


LABEL = Objective(_labels, _label_loss)
"""A classifier's: the cross-entropy of the class."""

NEXT_TOKEN = Objective(_next_tokens, _next_token_loss)
"""A causal language model's: the mean cross-entropy of each token after the first."""


def logits_of(output: Any) -> Tensor:
    """A transformers model's logits; a plain module's output is its logits."""
    logits: Tensor = output if isinstance(output, Tensor) else output["logits"]
    return logits


def with_batch_axis(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One sample's inputs as a batch of one."""
    return {name: value[None] for name, value in inputs.items()}
