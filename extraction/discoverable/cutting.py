"""Cuts prompts and the text that truly follows them out of a document, or says why one is no target."""

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
        tokens = self._tokenised(document)
        starts = [self.start(len(tokens.ids), length, document.fraction) for length in lengths]
        return [
            TOO_SHORT if start is None else tokens.cut(start, length)
            for start, length in zip(starts, lengths, strict=True)
        ]

    def stretches(self, document: Drawn, length: int) -> list[Target | str]:
        """Cut a whole document into targets that follow each other; what is left at its end is none.

        Args:
            document: what is cut.
            length: tokens of each prompt.
        """
        tokens = self._tokenised(document)
        step = length + self.target_tokens
        return [tokens.cut(start, length) for start in range(0, len(tokens.ids) - step + 1, step)]

    def _tokenised(self, document: Drawn) -> "_Tokenised":
        ids = token_ids(self.tokenizer, document.text.decode("utf-8", "ignore"))
        return _Tokenised(self, document.text, ids, pieces_of(self.table, ids))

    def start(self, tokens: int, length: int, fraction: float) -> int | None:
        """Where the prompt begins in a document of so many tokens; None where it has too few."""
        room = tokens - length - self.target_tokens
        if room < 0:
            return None
        return 0 if self.opening == "first" else int(fraction * (room + 1))


@dataclass(frozen=True)
class _Tokenised:
    """A document with its token ids and the bytes of each token."""

    cutter: Cutter
    text: bytes
    ids: list[int]
    pieces: list[bytes]

    def cut(self, start: int, length: int) -> Target | str:
        """Cut the target whose prompt of some tokens begins at a place."""
        middle = start + length
        end = middle + self.cutter.target_tokens
        if not all(self.pieces[start:end]):
            return NO_BYTES
        before, after = b"".join(self.pieces[start:middle]), b"".join(self.pieces[middle:end])
        if before + after not in self.text:
            return NOT_VERBATIM
        if after in before:
            return IN_PROMPT
        low = self.cutter.low_entropy.is_low(after)
        return Target(self.ids[start:middle], self.ids[middle:end], before, after, low)


def pieces_of(table: TokenBytes, ids: Sequence[int]) -> list[bytes]:
    """The bytes of each token of a text, without the blank that some tokenizers put in front of every text."""
    pieces = table.bytes_of(ids)
    if table.pads_text and pieces:
        pieces[0] = pieces[0].removeprefix(b" ")
    return pieces
