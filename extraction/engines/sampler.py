"""Draws the next token of every row of a batch, each row from its own seeded stream.

Order, the same as vLLM's: penalties, temperature, min-p, top-k, top-p. A draw is the inverse of the
cumulative distribution at a uniform number that depends on the request's seed and the step alone, so a row's
tokens do not depend on its neighbours. No sort of the whole vocabulary happens unless top-p alone needs one.
"""

import numpy as np
import torch

from extraction.sampling import ResolvedSampling

GREEDY = 1e-5
"""Below this temperature the most likely token is taken."""

DECAY_FROM = 10.0
"""Temperature of the first token where it decays (Carlini et al., 2021)."""

DECAY_TOKENS = 20
"""Tokens until the decaying temperature has reached the one that is set."""

_BLOCK = 128
_TOP_P_CANDIDATES = 256


def uniforms(seeds: list[int], steps: int) -> torch.Tensor:
    """Make every uniform number of a batch (SplitMix64: Steele, Lea and Flood, 2014).

    Args:
        seeds: one for each row.
        steps: how many each row needs.

    Returns:
        Float64 in [0, 1), shape (rows, steps).
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = np.array(seeds, np.uint64)[:, None] + golden * np.arange(1, steps + 1, dtype=np.uint64)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return torch.from_numpy((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def temperature_at(sampling: ResolvedSampling, step: int) -> float:
    """The temperature at which a generation's token number `step`, from 0, is drawn."""
    if not sampling.temperature_decay or step >= DECAY_TOKENS:
        return sampling.temperature
    return DECAY_FROM + (sampling.temperature - DECAY_FROM) * step / DECAY_TOKENS


class Sampler:
    """Samples one batch. Holds what the penalties and a decaying temperature need to remember."""

    def __init__(
        self, sampling: ResolvedSampling, prompts: list[list[int]], vocabulary: int, device: str
    ) -> None:
        """Start a batch.

        Args:
            sampling: the settings of every row.
            prompts: the prompt token ids of every row, without padding.
            vocabulary: number of logits of the model.
            device: torch device of the logits.
        """
        self._sampling = sampling
        self._steps = 0
        self._rows = torch.arange(len(prompts), device=device)
        self._counts: torch.Tensor | None = None
        self._in_prompt: torch.Tensor | None = None
        if sampling.repetition_penalty != 1 or sampling.presence_penalty or sampling.frequency_penalty:
            self._counts = torch.zeros(len(prompts), vocabulary, device=device)
            self._in_prompt = torch.zeros(len(prompts), vocabulary, dtype=torch.bool, device=device)
            for row, prompt in enumerate(prompts):
                self._in_prompt[row, torch.tensor(prompt, device=device)] = True

    def draw(self, logits: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the next token of each row.

        Args:
            logits: of the unmodified model, float32, shape (rows, vocabulary).
            uniform: one number in [0, 1) for each row, float64.

        Returns:
            Token ids, and their log-probabilities under the unmodified model, both of shape (rows,).
        """
        penalised = self._penalise(logits)
        temperature = temperature_at(self._sampling, self._steps)
        if temperature < GREEDY:
            tokens = penalised.argmax(-1)
        else:
            tokens = self._sample(penalised / temperature, uniform)
        self._remember(tokens)
        chosen = logits.gather(-1, tokens[:, None]).squeeze(-1)
        return tokens, chosen - logits.logsumexp(-1)

    def log_probability(self, logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Find how probable `draw` is to give some tokens, and go on as if it had drawn them.

        Args:
            logits: of the unmodified model, float32, shape (rows, vocabulary).
            tokens: one for each row, shape (rows,).

        Returns:
            Natural logarithms, minus infinity for what is never drawn; float64, shape (rows,).
        """
        penalised = self._penalise(logits)
        temperature = temperature_at(self._sampling, self._steps)
        if temperature < GREEDY:
            share = (penalised.argmax(-1) == tokens).double()
        else:
            share = self._share(penalised / temperature, tokens)
        self._remember(tokens)
        return share.log()

    def _remember(self, tokens: torch.Tensor) -> None:
        self._steps += 1
        if self._counts is not None:
            self._counts[self._rows, tokens] += 1

    def _penalise(self, logits: torch.Tensor) -> torch.Tensor:
        if self._counts is None or self._in_prompt is None:
            return logits
        settings, generated = self._sampling, self._counts > 0
        factor = settings.repetition_penalty
        repeated = torch.where(logits > 0, logits / factor, logits * factor)
        logits = torch.where(generated | self._in_prompt, repeated, logits)
        return logits - settings.frequency_penalty * self._counts - settings.presence_penalty * generated

    def _sample(self, logits: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        settings, weights = self._sampling, self._weights(logits)
        if 0 < settings.top_k < weights.shape[-1]:
            weights, ids = weights.topk(settings.top_k)
            return _pick(_nucleus(weights, weights.sum(-1, keepdim=True), settings.top_p), ids, uniform)
        if settings.top_p < 1:
            return _pick_top_p(weights, settings.top_p, uniform)
        return inverse_cdf(weights, uniform)

    def _share(self, logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The share of what may be drawn that some tokens have; 0 where they may not."""
        settings, weights = self._sampling, self._weights(logits)
        if not 0 < settings.top_k < weights.shape[-1] and settings.top_p >= 1:
            own = weights.gather(-1, tokens[:, None]).squeeze(-1)
            return own.double() / weights.double().sum(-1)
        likely, ids = weights.topk(min(settings.top_k or weights.shape[-1], weights.shape[-1]))
        kept = _nucleus(likely, likely.sum(-1, keepdim=True), settings.top_p).double()
        return torch.where(ids == tokens[:, None], kept, 0.0).sum(-1) / kept.sum(-1)

    def _weights(self, logits: torch.Tensor) -> torch.Tensor:
        weights = (logits - logits.amax(-1, keepdim=True)).exp_()
        return weights.masked_fill(weights < self._sampling.min_p, 0) if self._sampling.min_p > 0 else weights


def inverse_cdf(weights: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Find, in each row, the index at which the cumulative weight passes `uniform` of the total.

    Two levels (blocks of 128, then inside one block) read the weights once and keep float32 sums short.

    Args:
        weights: not negative, with a positive sum in each row, shape (rows, n).
        uniform: in [0, 1), float64, shape (rows,).

    Returns:
        Indices of shape (rows,), always of a positive weight.
    """
    if short := -weights.shape[-1] % _BLOCK:
        weights = torch.nn.functional.pad(weights, (0, short))
    blocks = weights.view(weights.shape[0], -1, _BLOCK)
    sums = blocks.sum(-1).double().cumsum(-1)
    total = sums[:, -1:]
    target = torch.minimum(uniform[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    block = torch.searchsorted(sums, target, right=True)
    inside = blocks.gather(1, block[:, :, None].expand(-1, -1, _BLOCK)).squeeze(1)
    before = torch.where(block > 0, sums.gather(-1, (block - 1).clamp(min=0)), 0.0)
    index = torch.searchsorted(inside.double().cumsum(-1), target - before, right=True)
    # Rounding can put the target at or past the block's own sum: the last token of the block that may be
    # drawn.
    last = (inside > 0).int().mul(torch.arange(1, _BLOCK + 1, device=weights.device)).amax(
        -1, keepdim=True
    ) - 1
    return (block * _BLOCK + torch.minimum(index, last)).squeeze(-1)


def _nucleus(descending: torch.Tensor, total: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zero what lies past the smallest set of likely tokens whose mass reaches top-p."""
    if top_p >= 1:
        return descending
    before = descending.double().cumsum(-1) - descending
    return descending.masked_fill(before >= top_p * total, 0)


def _pick(weights: torch.Tensor, ids: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    return ids.gather(-1, inverse_cdf(weights, uniform)[:, None]).squeeze(-1)


def _pick_top_p(weights: torch.Tensor, top_p: float, uniform: torch.Tensor) -> torch.Tensor:
    """Top-p alone: a few hundred usually hold the mass; only rows where they do not are sorted."""
    total = weights.sum(-1, keepdim=True)
    top, ids = weights.topk(min(_TOP_P_CANDIDATES, weights.shape[-1]))
    tokens = _pick(_nucleus(top, total, top_p), ids, uniform)
    if top.shape[-1] == weights.shape[-1]:
        return tokens
    flat = top.double().sum(-1) < top_p * total.squeeze(-1)
    if flat.any():
        everything, order = weights[flat].sort(-1, descending=True)
        tokens[flat] = _pick(_nucleus(everything, total[flat], top_p), order, uniform[flat])
    return tokens
