"""Turns texts into samples: tokens as a model is given them, and no more of them than it reads."""

import sys
from dataclasses import dataclass
from typing import Any

from extraction.errors import InputError
from extraction.gmint.samples import Sample


@dataclass(frozen=True)
class Encoder:
    """How texts become samples of one model.

    Attributes:
        tokenizer: the model's.
        vocabulary: tokens that the model knows.
        longest: most tokens of a sample; what comes after them is cut.
        causal: a language model's; else a classifier's.
    """

    tokenizer: Any
    vocabulary: int
    longest: int
    causal: bool

    @classmethod
    def of(cls, model: Any, tokenizer: Any, causal: bool, most: int = sys.maxsize) -> "Encoder":
        """Look up what a `transformers` model reads.

        Args:
            model: the model.
            tokenizer: its tokenizer.
            causal: whether it is a language model.
            most: tokens of a sample, where the model reads as many.
        """
        config = model.config.get_text_config()
        positions = getattr(config, "max_position_embeddings", None) or sys.maxsize
        # XLNet's says -1: it counts positions from each other.
        read = min(positions if positions > 0 else sys.maxsize, int(tokenizer.model_max_length))
        return cls(tokenizer, config.vocab_size, min(read, most), causal)

    def sample(self, text: str, label: int = 0) -> Sample:
        """Encode a text.

        Raises:
            InputError: it has a token that the model does not know.
        """
        found = self._of_language_model(text) if self.causal else self._of_classifier(text, label)
        if max(found.tokens, default=0) >= self.vocabulary:
            raise InputError("model.tokenizer: its tokens are not the model's; is this its tokenizer?")
        return found

    def _of_language_model(self, text: str) -> Sample:
        ids = self.tokenizer.backend_tokenizer.encode(text).ids
        start = self.tokenizer.bos_token_id
        whole = ids if start is None or ids[:1] == [start] else [start, *ids]
        return Sample(whole[: self.longest])

    def _of_classifier(self, text: str, label: int) -> Sample:
        # Cut by the tokenizer, which leaves the last special token where it belongs.
        encoded = self.tokenizer(text, truncation=True, max_length=self.longest)
        types = encoded.get("token_type_ids") or ()
        return Sample(encoded["input_ids"], label, types if any(types) else ())
