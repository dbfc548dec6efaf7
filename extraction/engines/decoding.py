"""Batched decoding at a fixed shape, for any causal language model of `transformers`.

Low bits of a matrix product depend on its shape. So the shape that a request is computed in is a function of
the request alone: batches always have `batch_size` rows (copies fill up), and prompts are padded on the left
to the next multiple of sixteen, with at least one pad, so that the kernel without a mask is never chosen. The
same request then gives the same tokens in any batch and on any worker.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from extraction.engines.cache import new_cache
from extraction.engines.sampler import Sampler, uniforms
from extraction.engines.stopping import StopStrings, StopWatch
from extraction.records import Request
from extraction.sampling import ResolvedSampling

_MULTIPLE = 16  # an empty prompt and the few words of a public one share a width, and so fill batches


@dataclass(frozen=True)
class Decoded:
    """What one row returned: tokens, their log-probabilities, and why it ended."""

    token_ids: list[int]
    logprobs: list[float]
    finish_reason: str


def padded_width(prompt_tokens: int) -> int:
    """Columns that a prompt is padded to; always more than it has tokens."""
    return (prompt_tokens // _MULTIPLE + 1) * _MULTIPLE


def batches(requests: Sequence[Request], indices: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Group requests of one padded width, those of like length limits together.

    Args:
        requests: all requests.
        indices: which of them to group.
        batch_size: the most in a group.

    Yields:
        Indices of one batch; every index once.
    """
    widths = {i: padded_width(len(requests[i].prompt_token_ids)) for i in indices}
    for width in sorted(set(widths.values())):
        same = sorted((i for i in indices if widths[i] == width), key=lambda i: (requests[i].max_tokens, i))
        yield from (same[start : start + batch_size] for start in range(0, len(same), batch_size))


class Decoder:
    """Decodes batches with one model and one set of sampling settings."""

    def __init__(
        self,
        model: Any,
        sampling: ResolvedSampling,
        stops: StopStrings,
        batch_size: int,
        max_length: int | None,
    ) -> None:
        """Prepare a model.

        Args:
            model: a `transformers` causal language model in evaluation mode.
            sampling: how tokens are drawn.
            stops: the stop strings of that sampling.
            batch_size: rows of every batch.
            max_length: the most tokens of prompt and output; None where the model has no bound.
        """
        self._model, self._sampling, self._stops = model, sampling, stops
        self._batch_size, self._max_length = batch_size, max_length
        self._device = str(model.device)
        parameters = inspect.signature(model.forward).parameters
        self._takes = {name for name in ("position_ids", "logits_to_keep") if name in parameters}
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._stop = torch.tensor(sampling.stop_token_ids, dtype=torch.long, device=self._device)

    @torch.inference_mode()
    def decode(self, requests: Sequence[Request]) -> list[Decoded]:
        """Sample one batch.

        Args:
            requests: at most `batch_size`, all of one padded width.

        Returns:
            One result for each request, in order.
        """
        filled = [*requests, *[requests[0]] * (self._batch_size - len(requests))]
        limits = [self._limit(request) for request in requests]
        tokens, logprobs = self._loop(filled, limits)
        return [self._cut(*row) for row in zip(tokens, logprobs, limits, strict=False)]

    def _limit(self, request: Request) -> int:
        room = (
            request.max_tokens
            if self._max_length is None
            else self._max_length - len(request.prompt_token_ids)
        )
        return min(request.max_tokens, room)

    def _loop(self, requests: list[Request], limits: list[int]) -> tuple[list[list[int]], list[list[float]]]:
        """Run the model until every real row has ended; the rows that fill up are thrown away."""
        steps, rows = max(limits), len(requests)
        ids, mask = self._padded(requests, steps)
        width = ids.shape[1]
        cache = new_cache(self._model, width + steps)
        draws = uniforms([r.seed for r in requests], steps).to(self._device)
        ends = torch.tensor(limits + [0] * (rows - len(limits)), device=self._device)
        ended, sampler, watch = ends <= 0, None, StopWatch(self._stops, rows)
        tokens, logprobs = [], []
        for step in range(steps):
            logits = self._logits(ids, mask[:, : width + step], cache)
            if sampler is None:
                sampler = Sampler(
                    self._sampling, [r.prompt_token_ids for r in requests], logits.shape[-1], self._device
                )
            drawn, scores = sampler.draw(logits, draws[:, step])
            tokens.append(drawn)
            logprobs.append(scores)
            ended = ended | torch.isin(drawn, self._stop) | (ends <= step + 1)
            if self._stops.strings:
                ended = ended | torch.tensor(watch.add(drawn.tolist()), device=self._device)
            if bool(ended.all()):
                break
            ids = drawn[:, None]
        return torch.stack(tokens, 1).tolist(), torch.stack(logprobs, 1).tolist()

    def _padded(self, requests: list[Request], steps: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Prompt ids padded on the left, and the mask over prompt and output to come."""
        width = padded_width(max(len(r.prompt_token_ids) for r in requests))
        ids = torch.zeros(len(requests), width, dtype=torch.long)
        mask = torch.ones(len(requests), width + steps, dtype=torch.long)
        for row, request in enumerate(requests):
            pads = width - len(request.prompt_token_ids)
            ids[row, pads:] = torch.tensor(request.prompt_token_ids)
            mask[row, :pads] = 0
        return ids.to(self._device), mask.to(self._device)

    def _logits(self, ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> torch.Tensor:
        """One step of the model: float32 logits of the last position, shape (rows, vocabulary)."""
        arguments: dict[str, Any] = {"position_ids": self._positions(mask, ids.shape[1]), "logits_to_keep": 1}
        given = {name: value for name, value in arguments.items() if name in self._takes}
        given[self._cache_name] = cache
        out = self._model(input_ids=ids, attention_mask=mask, use_cache=True, **given)
        logits: torch.Tensor = out.logits[:, -1].float()
        return logits

    @staticmethod
    def _positions(mask: torch.Tensor, columns: int) -> torch.Tensor:
        if columns == 1:
            return mask.sum(-1, keepdim=True) - 1
        return (mask.cumsum(-1) - 1).clamp_(min=0)

    def _cut(self, tokens: list[int], logprobs: list[float], limit: int) -> Decoded:
        """Cut a row after what ends it: an end-of-sequence token, a stop string, or its limit."""
        stops = self._sampling.stop_token_ids
        tokens = tokens[:limit]
        ends = [next((i + 1 for i, token in enumerate(tokens) if token in stops), None)]
        ends.append(self._stops.end(tokens))
        end = min((e for e in ends if e is not None), default=None)
        return Decoded(tokens[:end], logprobs[: end or limit], "length" if end is None else "stop")
