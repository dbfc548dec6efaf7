"""Everything that truly follows a prompt in a corpus: one prompt can stand in many places and go on in many ways.

A model that gives any of the true continuations gives training text, so all of them count. Prompts are looked for as
bytes, in whole documents, by one pass for all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from extraction.discoverable.cutting import pieces_of
from extraction.model import token_ids
from extraction.token_bytes import TokenBytes

BYTES_A_TOKEN = 16
"""A continuation of more bytes a token than this on average is not read: it is a run of blanks or the like."""

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Followed:
    """One true continuation of a prompt.

    Attributes:
        prompt: its number.
        tokens: token ids of what follows.
        documents: records that hold the prompt with this continuation.
    """

    prompt: int
    tokens: Tokens
    documents: int


class Continuations:
    """Looks for prompts in documents and tokenises what follows them."""

    def __init__(self, prompts: Sequence[bytes], tokenizer: Any, tokens: int, most: int) -> None:
        """Compile the prompts.

        Args:
            prompts: none empty; one may stand there several times.
            tokenizer: the model's own.
            tokens: of a continuation.
            most: continuations that are kept of one prompt, the most frequent ones.
        """
        from ahocorasick_rs import BytesAhoCorasick

        self._prompts, self._tokenizer = prompts, tokenizer
        self._table = TokenBytes.from_tokenizer(tokenizer)
        self._tokens, self._most = tokens, most
        self._numbers: dict[bytes, list[int]] = {}
        for number, prompt in enumerate(prompts):
            self._numbers.setdefault(prompt, []).append(number)
        self._distinct = list(self._numbers)
        self._automaton = BytesAhoCorasick(self._distinct)

    def search(self, documents: Iterable[tuple[list[str], bytes]]) -> Iterator[Followed]:
        """Find the continuations of every prompt in (ids, text) of some documents, prompt by prompt."""
        following: list[Counter[bytes]] = [Counter() for _ in self._distinct]
        for ids, text in documents:
            for place, after in self._places(text):
                following[place][after] += len(ids)
        for place, found in enumerate(following):
            for number in self._numbers[self._distinct[place]]:
                yield from keep_most(number, self._tokenised(place, found), self._most)

    def _places(self, text: bytes) -> set[tuple[int, bytes]]:
        """Each prompt of a document with what follows it; the same twice counts once, as documents are counted."""
        reach = BYTES_A_TOKEN * self._tokens
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return {(place, text[end : end + reach]) for place, _, end in found}

    def _tokenised(self, place: int, found: Counter[bytes]) -> Counter[Tokens]:
        counted: Counter[Tokens] = Counter()
        for after, documents in found.items():
            if (tokens := self._after(self._distinct[place], after)) is not None:
                counted[tokens] += documents
        return counted

    def _after(self, prompt: bytes, after: bytes) -> Tokens | None:
        """The tokens of what follows, as they are in one text with the prompt; None: it is too short."""
        ids = token_ids(self._tokenizer, (prompt + after).decode("utf-8", "ignore"))
        ends = np.cumsum([len(piece) for piece in pieces_of(self._table, ids)])
        at = int(np.searchsorted(ends, len(prompt)))
        if at < len(ends) and ends[at] == len(prompt):
            own = ids[at + 1 :]
        else:  # a token would lie across the prompt's end, where the model has to begin anew
            own = token_ids(self._tokenizer, after.decode("utf-8", "ignore"))
        kept = own[: self._tokens]
        pieces = self._table.bytes_of(kept)
        whole = len(kept) == self._tokens and all(pieces) and after.startswith(b"".join(pieces))
        return tuple(kept) if whole else None


def keep_most(prompt: int, counted: Counter[Tokens], most: int) -> list[Followed]:
    """The most frequent continuations of a prompt; of equally frequent ones those with the smaller token ids."""
    order = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [Followed(prompt, tokens, documents) for tokens, documents in order[:most]]
