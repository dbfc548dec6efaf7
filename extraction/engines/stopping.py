"""Where a generation ends by its text: one rule for every engine, whatever the engine itself looks for.

The text is the bytes of the sampled tokens, with special tokens written out, so that a stop string may be
`<|im_end|>` whether or not the tokenizer has it as one token. The token that completes the first stop string is
the generation's last, and counts, as an end-of-sequence token does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from extraction.model import ModelSettings, load_tokenizer
from extraction.sampling import ResolvedSampling
from extraction.token_bytes import TokenBytes


@dataclass(frozen=True)
class StopStrings:
    """The stop strings of one sampling, over the vocabulary of one tokenizer.

    Attributes:
        strings: what ends a generation; may be empty.
        table: the bytes of each token by its id; empty where there are no strings.
    """

    strings: tuple[bytes, ...]
    table: Sequence[bytes] = field(repr=False)

    @classmethod
    def load(cls, sampling: ResolvedSampling, model: ModelSettings) -> "StopStrings":
        """Read the tokenizer, if there are stop strings at all.

        Raises:
            InputError: the tokenizer cannot be read.
        """
        if not sampling.stop_strings:
            return cls((), ())
        tokenizer = load_tokenizer(model)
        ids = range(len(tokenizer))
        plain = TokenBytes.from_tokenizer(tokenizer).bytes_of(ids)
        written = tokenizer.convert_ids_to_tokens(list(ids))
        table = [data or (token or "").encode() for data, token in zip(plain, written, strict=True)]
        return cls(tuple(string.encode() for string in sampling.stop_strings), table)

    def end(self, token_ids: Sequence[int]) -> int | None:
        """Count the tokens up to and with the one that completes the first stop string; None: there is none."""
        if not self.strings:
            return None
        pieces = [self.bytes_of(token) for token in token_ids]
        data = b"".join(pieces)
        ends = [at + len(string) for string in self.strings if (at := data.find(string)) >= 0]
        if not ends:
            return None
        return int(np.searchsorted(np.cumsum([len(piece) for piece in pieces]), min(ends))) + 1

    def bytes_of(self, token: int) -> bytes:
        """The bytes of one token; none for an id outside the vocabulary."""
        return self.table[token] if token < len(self.table) else b""


class StopWatch:
    """Follows the rows of a batch while they grow, and says which have come to a stop string."""

    def __init__(self, stops: StopStrings, rows: int) -> None:
        """Start a batch of `rows` empty texts."""
        self._stops = stops
        self._kept = max(map(len, stops.strings), default=1) - 1
        self._tails = [b""] * rows

    def add(self, tokens: Sequence[int]) -> list[bool]:
        """Add a token to each row, and say for each whether it completes a stop string."""
        texts = [tail + self._stops.bytes_of(t) for tail, t in zip(self._tails, tokens, strict=True)]
        self._tails = [text[max(len(text) - self._kept, 0) :] for text in texts]
        return [any(string in text for string in self._stops.strings) for text in texts]
