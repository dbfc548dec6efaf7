"""The bytes that each token stands for.

Windows are matched as bytes, and their bytes come from their tokens, never from decoded text: decoding
replaces what is not UTF-8, tidies blanks and drops special tokens. Serves byte-level BPE (GPT-2, Llama 3,
Qwen) and SentencePiece vocabularies with byte fallback (Llama 2, Mistral, Gemma). Other kinds are refused,
not guessed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError

_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPACE = "\u2581"


@dataclass(frozen=True)
class TokenRun:
    """A maximal run of tokens that have bytes.

    Attributes:
        first_token: position of the run's first token in the generation.
        data: the bytes of the run.
        offsets: token i of the run is `data[offsets[i]:offsets[i + 1]]`; int64, one longer than the run
            has tokens.
    """

    first_token: int
    data: bytes
    offsets: NDArray[np.int64]


class TokenBytes:
    """The bytes of every token of one vocabulary. Small enough to be sent to workers."""

    def __init__(self, table: Sequence[bytes], pads_text: bool = False) -> None:
        """Hold a table.

        Args:
            table: bytes by token id; empty for special tokens.
            pads_text: the tokenizer puts a blank in front of every text that it encodes.
        """
        self._table = list(table)
        self.pads_text = pads_text

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> "TokenBytes":
        """Read the vocabulary of a `transformers` tokenizer.

        Raises:
            InputError: its tokens do not say which bytes they stand for.
        """
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise InputError(
                "model.tokenizer: a tokenizer without tokenizer.json is not supported; convert it"
            )
        spec = json.loads(backend.to_str())
        to_bytes = _reader(spec)
        vocabulary = backend.get_vocab(with_added_tokens=True)
        added = {token["id"]: token for token in spec["added_tokens"]}
        special = set(tokenizer.all_special_ids) | {i for i, token in added.items() if token["special"]}
        table = [b""] * (max(vocabulary.values(), default=-1) + 1)
        for token, i in vocabulary.items():
            if i not in special:
                table[i] = added[i]["content"].encode() if i in added else to_bytes(token)
        return cls(table, _pads_text(spec))

    def bytes_of(self, ids: Iterable[int]) -> list[bytes]:
        """Give the bytes of each token; none for special tokens and for ids outside the vocabulary."""
        table, size = self._table, len(self._table)
        return [table[i] if 0 <= i < size else b"" for i in ids]

    def runs(self, ids: Sequence[int], starts_text: bool = False) -> Iterator[TokenRun]:
        """Split a generation where a token has no bytes.

        Args:
            ids: token ids.
            starts_text: nothing but special tokens stands before `ids`. A tokenizer that pads texts
                writes their first word with a blank that is not in the text; it is taken off again.

        Yields:
            Maximal runs of tokens that have bytes, in order.
        """
        pieces = self.bytes_of(ids)
        if starts_text and self.pads_text and pieces:
            pieces[0] = pieces[0].removeprefix(b" ")
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], lengths > 0, [0]))))
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            offsets = np.concatenate((np.zeros(1, np.int64), lengths[first:end].cumsum()))
            yield TokenRun(first, b"".join(pieces[first:end]), offsets)

    def decode(self, ids: Iterable[int]) -> str:
        """Show tokens to people and taggers; bytes that are not UTF-8 are replaced."""
        return b"".join(self.bytes_of(ids)).decode("utf-8", errors="replace")

    def round_trip_share(self, texts: Iterable[str], tokenizer: Any) -> float:
        """Measure how often a text's tokens give back its bytes.

        Args:
            texts: samples of the corpus; empty ones are left out.
            tokenizer: the tokenizer that this table was read from.

        Returns:
            Share of the texts whose bytes come back exactly; 0 where there is none.
        """
        kept = [text for text in texts if text]
        if not kept:
            return 0.0
        encodings = tokenizer.backend_tokenizer.encode_batch(kept, add_special_tokens=False)
        same = [self._text_bytes(e.ids) == text.encode() for e, text in zip(encodings, kept, strict=True)]
        return sum(same) / len(same)

    def _text_bytes(self, ids: Sequence[int]) -> bytes:
        data = b"".join(self.bytes_of(ids))
        return data.removeprefix(b" ") if self.pads_text else data


def _reader(spec: dict[str, Any]) -> Any:
    """Choose how a token's string is turned into bytes, by the tokenizer's decoder."""
    steps = _steps(spec.get("decoder"), "decoders")
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return _byte_level
    replaces = any(s["type"] == "Replace" and s.get("pattern", {}).get("String") == _SPACE for s in steps)
    if "Metaspace" in kinds or replaces:
        return _with_fallback if spec["model"].get("byte_fallback") else _without_fallback
    raise InputError(
        f"model.tokenizer: cannot tell which bytes its tokens stand for (decoder {sorted(kinds) or 'none'}); "
        "byte-level BPE and SentencePiece vocabularies are supported"
    )


def _steps(part: dict[str, Any] | None, nested: str) -> list[dict[str, Any]]:
    if part is None:
        return []
    if part["type"] == "Sequence":
        return list(chain.from_iterable(_steps(step, nested) for step in part[nested]))
    return [part]


def _pads_text(spec: dict[str, Any]) -> bool:
    """Whether the tokenizer puts a blank in front of a text."""
    for step in _steps(spec.get("pre_tokenizer"), "pretokenizers"):
        if step["type"] == "Metaspace" and step.get("prepend_scheme", "always") != "never":
            return True
        if step["type"] == "ByteLevel" and step.get("add_prefix_space"):
            return True
    return any(
        step["type"] == "Prepend" and step["prepend"] == _SPACE
        for step in _steps(spec.get("normalizer"), "normalizers")
    )


def _byte_alphabet() -> dict[str, int]:
    """The characters that GPT-2 writes bytes with: printable ones as themselves, others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


_ALPHABET = _byte_alphabet()


def _byte_level(token: str) -> bytes:
    if all(character in _ALPHABET for character in token):
        return bytes(_ALPHABET[character] for character in token)
    return token.encode()


def _with_fallback(token: str) -> bytes:
    byte = _BYTE_FALLBACK.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else _without_fallback(token)


def _without_fallback(token: str) -> bytes:
    return token.replace(_SPACE, " ").encode()
