"""What the demo's training and the fine-tuning on real text share: rows, batches, loss, learning rate.

A row is one document from its beginning, as a prompt of the beginning-of-sequence token alone meets it.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.progress import LineProgress, progress

if TYPE_CHECKING:
    import torch

SORTED_ROWS = 64
NO_TARGET = -100


@dataclass(frozen=True)
class Step:
    """Where training stands, for whoever waits.

    Attributes:
        done: steps done.
        total: steps in all.
        tokens: tokens trained on in this step.
        loss: mean loss of a token in this step, in nats.
    """

    done: int
    total: int
    tokens: int
    loss: float


OnStep = Callable[[Step], None]


@contextmanager
def step_progress(label: str) -> Iterator[OnStep]:
    """Show training as it goes on: pass what this gives as `on_step`.

    Args:
        label: what is being trained, a few words.
    """
    shown: list[LineProgress] = []  # the number of steps is known at the first one only
    with ExitStack() as stack:

        def on_step(step: Step) -> None:
            if not shown:
                shown.append(stack.enter_context(progress(label, "steps", step.total)))
            shown[0].advance(1, f"loss {step.loss:.2f}")

        yield on_step


def quiet_transformers() -> None:
    """Keep the bars of `transformers` off the terminal: loading takes no time worth a bar."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def rows_of(tokenizer: Any, texts: Sequence[str], longest: int) -> list[list[int]]:
    """Tokenise documents: beginning-of-sequence, text, end-of-sequence.

    Args:
        tokenizer: of `transformers`, with both special tokens.
        texts: documents.
        longest: most tokens of a row; what is longer loses its end.
    """
    encoded = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    return [[tokenizer.bos_token_id, *ids, tokenizer.eos_token_id][:longest] for ids in encoded]


def batches(
    rows: Sequence[list[int]], epochs: int, batch_tokens: int, seed: int
) -> Iterator[list[list[int]]]:
    """Give batches of rows of like length, in a new order for each pass.

    Args:
        rows: token ids.
        epochs: passes over the rows.
        batch_tokens: most tokens in a batch, padding included; a longer row is a batch of its own.
        seed: of the order.
    """
    rng = random.Random(seed)  # noqa: S311 - an order, no secret
    shuffled = [row for _ in range(epochs) for row in rng.sample(rows, len(rows))]
    for start in range(0, len(shuffled), SORTED_ROWS):
        batch: list[list[int]] = []
        for row in sorted(shuffled[start : start + SORTED_ROWS], key=len):
            if batch and (len(batch) + 1) * len(row) > batch_tokens:
                yield batch
                batch = []
            batch.append(row)
        yield batch


def mean_loss(model: Any, batch: Sequence[list[int]]) -> "torch.Tensor":
    """Mean loss of a token, in nats; padding stands behind the rows, where causal attention does not see it."""
    import torch

    longest = max(map(len, batch))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in batch])
    targets = torch.tensor([row[1:] + [NO_TARGET] * (longest - len(row)) for row in batch])
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET)


def rate_at(progress: float, warm_up: float) -> float:
    """The learning rate as a share of the highest: it rises, then falls to zero in a straight line.

    Args:
        progress: share of the steps taken, this one included.
        warm_up: share of the steps in which it rises, above 0.
    """
    return min(progress / warm_up, 1.0, (1.0 - progress) / (1.0 - warm_up))


def adam_updater(model: Any, learning_rate: float, **options: Any) -> Callable[[float], None]:
    """Make what `optimise` calls after each step: AdamW without decay over all parameters.

    Args:
        model: a `torch` module.
        learning_rate: the highest.
        options: others of `torch.optim.AdamW`.
    """
    import torch

    adam = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0, **options)

    def update(rate: float) -> None:
        adam.param_groups[0]["lr"] = learning_rate * rate
        adam.step()

    return update


def optimise(
    model: Any,
    steps: Sequence[list[list[int]]],
    warm_up: float,
    update: Callable[[float], None],
    on_step: OnStep | None,
) -> None:
    """Run the training loop.

    Args:
        model: a `transformers` causal language model; changed in place.
        steps: a batch of rows for each step.
        warm_up: share of the steps in which the learning rate rises.
        update: applies the gradients at a share of the highest learning rate.
        on_step: called after each step.
    """
    import torch

    model.train()
    for number, batch in enumerate(steps, start=1):
        loss = mean_loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update(rate_at(number / len(steps), warm_up))
        model.zero_grad()
        if on_step is not None:
            on_step(Step(number, len(steps), sum(map(len, batch)), loss.item()))
    model.eval()
