"""Cuts a prompt and the text that truly follows it out of a document, or says why that is no target."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from extraction.discoverable.drawing import Drawn
from extraction.entropy import LowEntropyRule
from extraction.model import token_ids
from extraction.token_bytes import TokenBytes

Opening = Literal["first", "random"]

TOO_SHORT = "the document is too short"
NO_BYTES = "a special token stands in it"
NOT_VERBATIM = "the tokenizer does not give back its bytes"
IN_PROMPT = "the target stands in its own prompt"
REASONS = (TOO_SHORT, NO_BYTES, NOT_VERBATIM, IN_PROMPT)


@dataclass(frozen=True)
class Target:
    """A prompt and what truly follows it.

    Attributes:
        prefix: token ids of the prompt, the special tokens that start a text not among them.
        tokens: token ids of what follows.
        prefix_bytes: the bytes of the prompt.
        target_bytes: the bytes of what follows.
        low_entropy: whether what follows is filler, which is counted apart.
    """

    prefix: list[int]
    tokens: list[int]
    prefix_bytes: bytes
    target_bytes: bytes
    low_entropy: bool


@dataclass(frozen=True)
class Cutter:
    """How targets are cut out of documents.

    Attributes:
        tokenizer: the model's own.
        opening: `first`: the prompt is a document's first tokens; `random`: those before a random place.
        target_tokens: tokens that follow.
        low_entropy: what counts as filler.
    """

    tokenizer: Any
    opening: Opening
    target_tokens: int
    low_entropy: LowEntropyRule

    @cached_property
    def table(self) -> TokenBytes:
        """The bytes of the tokenizer's tokens."""
        return TokenBytes.from_tokenizer(self.tokenizer)

    def cut(self, document: Drawn, lengths: Sequence[int]) -> list[Target | str]:
        """Cut one target for each length of the prompt; a string of `REASONS` says why there is none."""
        ids = token_ids(self.tokenizer, document.text.decode("utf-8", "ignore"))
        pieces = pieces_of(self.table, ids)
        return [self._one(document, ids, pieces, length) for length in lengths]

    def _one(self, document: Drawn, ids: list[int], pieces: list[bytes], length: int) -> Target | str:
        start = self.start(len(ids), length, document.fraction)
        if start is None:
            return TOO_SHORT
        middle = start + length
        end = middle + self.target_tokens
        if not all(pieces[start:end]):
            return NO_BYTES
        before, after = b"".join(pieces[start:middle]), b"".join(pieces[middle:end])
        if before + after not in document.text:
            return NOT_VERBATIM
        if after in before:
            return IN_PROMPT
        return Target(ids[start:middle], ids[middle:end], before, after, self.low_entropy.is_low(after))

    def start(self, tokens: int, length: int, fraction: float) -> int | None:
        """Where the prompt begins in a document of so many tokens; None where it has too few."""
        room = tokens - length - self.target_tokens
        if room < 0:
            return None
        return 0 if self.opening == "first" else int(fraction * (room + 1))


def pieces_of(table: TokenBytes, ids: Sequence[int]) -> list[bytes]:
    """The bytes of each token of a text, without the blank that some tokenizers put in front of every text."""
    pieces = table.bytes_of(ids)
    if table.pads_text and pieces:
        pieces[0] = pieces[0].removeprefix(b" ")
    return pieces
