"""A model as canaries are scored with it: log-perplexities of many texts that begin alike, in bits.

The texts' tokens form a tree. Each of its nodes is computed once, from the cached keys and values of the node above,
many nodes of one depth at a time; so all fillings of a format cost little more than their last tokens.
"""

import copy
import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.canaries.token_tree import TokenTree
from extraction.errors import InputError
from extraction.model import ModelSettings, load_model, load_tokenizer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Numbers that one step's predictions may take: 128 MiB of float32.
_PREDICTIONS = 1 << 25
_MOST_ROWS = 1024
_LEAST_ROWS = 8


class CanaryModel:
    """A causal language model with its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Prepare both.

        Args:
            model: a `transformers` causal language model in evaluation mode.
            tokenizer: its tokenizer.

        Raises:
            InputError: the tokenizer has no token to begin a text with, or tokens that the model does not know.
        """
        start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        if start is None:
            raise InputError(
                "model.tokenizer: has neither a beginning- nor an end-of-sequence token; name it"
            )
        parameters = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._keeps = "logits_to_keep" in parameters
        config = model.config.get_text_config()
        self.tokenizer, self.start, self._model = tokenizer, int(start), model
        self.vocabulary: int = config.vocab_size
        self._longest: int | None = getattr(config, "max_position_embeddings", None)
        self.rows = min(max(_PREDICTIONS // self.vocabulary, _LEAST_ROWS), _MOST_ROWS)
        """Sequences in a step."""

    @classmethod
    def load(cls, settings: ModelSettings, device: str = "cpu") -> "CanaryModel":
        """Load both.

        Raises:
            InputError: one of them cannot be loaded.
        """
        return cls(load_model(settings, device), load_tokenizer(settings))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of texts, without special ones.

        Raises:
            InputError: a text has no token, one that the model does not know, or more than the model takes.
        """
        encoded = self.tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
        rows: list[list[int]] = [one.ids for one in encoded]
        if not all(rows) or max(map(max, rows), default=0) >= self.vocabulary:
            raise InputError("model.tokenizer: its tokens are not the model's; is this its tokenizer?")
        if self._longest is not None and max(map(len, rows), default=0) >= self._longest:
            raise InputError(
                f"canaries: one is longer than the {self._longest:,} tokens that the model takes"
            )
        return rows

    def log_perplexities(self, rows: Sequence[Sequence[int]]) -> Floats:
        """Log-perplexities of token sequences behind the beginning of a text.

        Args:
            rows: token ids of each, at least one.

        Returns:
            float64[n], minus the binary logarithm of each sequence's probability.
        """
        import torch

        with torch.inference_mode():
            return _Walk(self, TokenTree(rows)).totals()

    def predict(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """What the model expects after token sequences of one length.

        Args:
            rows: token ids of each; none means the beginning of a text.

        Returns:
            float32[n, vocabulary], minus the binary logarithm of each next token's probability.
        """
        import torch

        ids = torch.tensor([[self.start, *row] for row in rows])
        with torch.inference_mode():
            costs: NDArray[np.float32] = self._forward(ids, None)[0].cpu().numpy()
        return costs

    def _forward(self, ids: Any, cache: Any, last: int = 1) -> tuple[Any, Any]:
        """The cost in bits of every token after each of the last tokens of each row (one: without that axis)."""
        import torch

        given = {
            self._cache_name: cache,
            "use_cache": True,
            **({"logits_to_keep": last} if self._keeps else {}),
        }
        found = self._model(input_ids=ids.to(self._model.device), **given)
        bits = torch.log_softmax(found.logits[:, -last:].float(), -1) / -math.log(2)
        return (bits[:, -1] if last == 1 else bits), getattr(found, self._cache_name)


class _Walk:
    """One pass over a tree of tokens, from its root to its leaves."""

    def __init__(self, model: CanaryModel, tree: TokenTree) -> None:
        self._model, self._tree = model, tree
        self._bits = np.zeros(len(tree))

    def totals(self) -> Floats:
        """Add up the costs of each sequence, in the order in which they were given."""
        import torch

        shared = self._tree.tokens[0, : self._tree.shared]
        ids = torch.tensor([[self._model.start, *shared.tolist()]])
        costs, cache = self._model._forward(ids, None, len(shared) + 1)
        costs = costs.reshape(-1, costs.shape[-1])
        self._bits += costs[torch.arange(len(shared)), torch.from_numpy(shared)].double().sum().item()
        rows = np.arange(len(self._tree))
        self._count(rows, len(shared), costs[-1:])
        self._below(rows, len(shared), cache)
        return self._tree.in_given_order(self._bits)

    def _below(self, rows: Ints, depth: int, cache: Any) -> None:
        """Walk on from nodes at some depth: all of their sequences, and the nodes' keys and values."""
        import torch

        parents, children = self._tree.children(rows, depth)
        for at in range(0, len(children), self._model.rows):
            chunk = children[at : at + self._model.rows]
            first = np.array([child[0] for child in chunk])
            branch = _branch(cache, torch.from_numpy(parents[at : at + self._model.rows]))
            tokens = torch.from_numpy(self._tree.tokens[first, depth])[:, None]
            costs, branch = self._model._forward(tokens, branch)
            below = np.concatenate(chunk)
            self._count(below, depth + 1, costs)
            del costs  # it is the largest thing here, and is not needed while the walk goes deeper
            self._below(below, depth + 1, branch)

    def _count(self, rows: Ints, depth: int, costs: Any) -> None:
        """Add what the token at a depth costs to every sequence that has one there."""
        import torch

        node = self._tree.node_of(rows, depth)
        going_on = self._tree.lengths[rows] > depth
        tokens = self._tree.tokens[rows[going_on], depth]
        chosen = costs[torch.from_numpy(node[going_on]), torch.from_numpy(tokens)]
        self._bits[rows[going_on]] += chosen.double().cpu().numpy()


def _branch(cache: Any, nodes: Any) -> Any:
    """Keys and values of chosen nodes, a copy of their own; the cache they come from stays as it is."""
    branch = copy.copy(cache)
    branch.layers = [copy.copy(layer) for layer in cache.layers]
    branch.batch_select_indices(nodes.to(cache.layers[0].keys.device))
    return branch
