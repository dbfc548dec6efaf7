"""Best-first search: the fillings of a format in the order of their log-perplexity, the lowest first.

What a prefix costs only grows with each token, so once every open prefix costs more than a filling, nothing that is
still unknown comes before that filling. The search knows the format alone, not the canaries: it is an attack.
"""

import heapq
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from extraction.canaries.formats import Format
from extraction.canaries.model import CanaryModel
from extraction.canaries.spelling import Spelling, State
from extraction.token_bytes import TokenBytes

_SAMPLE = 1000
_AT_ONCE = 256


@dataclass(frozen=True, order=True)
class Found:
    """A filling that the search came upon.

    Attributes:
        log_perplexity: in bits.
        text: the whole text.
        evaluations: prefixes that the model had been asked about by then.
    """

    log_perplexity: float
    text: str
    evaluations: int


@dataclass(frozen=True)
class SearchResult:
    """What is known after a search.

    Attributes:
        found: every filling with a lower log-perplexity than `bound`, the lowest first.
        bound: no other filling has a lower one.
        evaluations: prefixes that the model was asked about.
    """

    found: list[Found]
    bound: float
    evaluations: int


@dataclass(frozen=True, order=True)
class _Open:
    """A prefix to go on from: what it costs so far, its tokens, and where in the format it stands."""

    cost: float
    tokens: tuple[int, ...]
    state: State


def search(
    model: CanaryModel, form: Format, shared: Sequence[int], wanted: Collection[str], evaluations: int
) -> SearchResult:
    """Search until some texts are found and nothing unknown can come before them.

    Args:
        model: the model under test.
        form: what is searched.
        shared: tokens that all fillings begin with.
        wanted: texts; they only say when to stop.
        evaluations: most prefixes to ask the model about.
    """
    return _Search(model, form, shared).run(set(wanted), evaluations)


def shared_tokens(model: CanaryModel, form: Format) -> list[int]:
    """The tokens that all fillings of a format begin with, judged by some of them."""
    rng = random.Random(form.name)  # noqa: S311 - a sample, no secret
    rows = model.encode([form.text(rng.randrange(form.size)) for _ in range(_SAMPLE)])
    same = [tokens for tokens in zip(*rows, strict=False)]
    differ = next((place for place, tokens in enumerate(same) if len(set(tokens)) > 1), len(same))
    return rows[0][:differ]


class _Search:
    """One search: open prefixes and finished fillings, each a heap by cost."""

    def __init__(self, model: CanaryModel, form: Format, shared: Sequence[int]) -> None:
        token_bytes = TokenBytes.from_tokenizer(model.tokenizer)
        self._model = model
        self._spelling = Spelling(form, token_bytes, min(len(model.tokenizer), model.vocabulary))
        self._pads = token_bytes.pads_text
        self._decode = token_bytes.decode
        cost = float(model.log_perplexities([shared])[0]) if shared else 0.0
        self._open = [_Open(cost, tuple(shared), self._spelling.after(shared))]
        self._finished: list[Found] = []
        self.evaluations = 0

    def run(self, wanted: set[str], most: int) -> SearchResult:
        """Go on from the cheapest prefixes, many at once."""
        missing = set(wanted)
        last = 0.0  # the highest cost among the wanted that were found
        while self._open and self.evaluations < most and (missing or self.bound <= last):
            room = min(_AT_ONCE, most - self.evaluations)
            for found in self._expand([heapq.heappop(self._open) for _ in range(min(room, len(self._open)))]):
                if found.text in missing:
                    missing.remove(found.text)
                    last = max(last, found.log_perplexity)
        known = sorted(found for found in self._finished if found.log_perplexity < self.bound)
        return SearchResult(known, self.bound, self.evaluations)

    @property
    def bound(self) -> float:
        """What the cheapest open prefix costs."""
        return self._open[0].cost if self._open else float("inf")

    def _expand(self, prefixes: Sequence[_Open]) -> Iterator[Found]:
        self.evaluations += len(prefixes)
        for _, group in groupby(sorted(prefixes, key=_length), key=_length):
            alike = list(group)
            for at in range(0, len(alike), self._model.rows):
                chunk = alike[at : at + self._model.rows]
                costs = self._model.predict([prefix.tokens for prefix in chunk])
                for prefix, own in zip(chunk, costs, strict=True):
                    yield from self._follow(prefix, own)

    def _follow(self, prefix: _Open, costs: NDArray[np.float32]) -> Iterator[Found]:
        """Open every prefix that is one token longer; give back the fillings that end with that token."""
        for token, state in self._spelling.next_tokens(prefix.state):
            tokens, cost = (*prefix.tokens, token), prefix.cost + float(costs[token])
            if self._spelling.is_whole(state) and (text := self._canonical(tokens)) is not None:
                found = Found(cost, text, self.evaluations)
                self._finished.append(found)
                yield found
            if self._spelling.next_tokens(state):
                heapq.heappush(self._open, _Open(cost, tokens, state))

    def _canonical(self, tokens: tuple[int, ...]) -> str | None:
        """The text of these tokens; None where the tokenizer cuts it in another way, which is scored elsewhere."""
        text = self._decode(tokens)
        if self._pads:
            text = text.removeprefix(" ")
        return text if tuple(self._model.encode([text])[0]) == tokens else None


def _length(prefix: _Open) -> int:
    return len(prefix.tokens)
