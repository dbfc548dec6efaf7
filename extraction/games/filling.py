"""Fills the gap in a sentence with a masked language model, which reads what stands behind the gap too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from extraction.errors import InputError
from extraction.model import ModelSettings, load_masked_model, load_tokenizer

LONGEST = 12
"""Tokens of a gap at most; each length is tried as often."""


@dataclass(frozen=True)
class Filler:
    """A masked language model with its tokenizer."""

    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, settings: ModelSettings, device: str = "cpu") -> "Filler":
        """Load both.

        Raises:
            InputError: one cannot be loaded, or the tokenizer has no mask.
        """
        tokenizer = load_masked_tokenizer(settings)
        return cls(load_masked_model(settings, device), tokenizer)

    def fill(self, left: str, right: str, count: int, seed: int) -> list[str]:
        """Draw texts for the gap between two pieces of a sentence, token by token from the left.

        Args:
            left: the sentence in front of the gap.
            right: the sentence behind it.
            count: texts to draw; gaps of 1 to `LONGEST` tokens take turns.
            seed: of the draws.

        Returns:
            The texts, one may stand there several times; none where the sentence does not fit the model.
        """
        import torch

        chance = torch.Generator().manual_seed(seed)
        lengths = [1 + number % LONGEST for number in range(count)]
        return [
            text for length in sorted(set(lengths)) for text in self._of(left, right, length, lengths, chance)
        ]

    def _of(self, left: str, right: str, length: int, lengths: Sequence[int], chance: Any) -> Iterator[str]:
        import torch

        gap = self.tokenizer.mask_token * length
        ids = torch.tensor([self.tokenizer(f"{left}{gap}{right}")["input_ids"]] * lengths.count(length))
        places = (ids[0] == self.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
        if (
            ids.shape[1] > self.model.config.max_position_embeddings - 2
        ):  # some kinds number positions from 2 on
            return
        with torch.inference_mode():
            for place in places:
                logits = self.model(input_ids=ids.to(self.model.device)).logits[:, place].float().cpu()
                logits[:, self.tokenizer.all_special_ids] = -torch.inf
                ids[:, place] = torch.multinomial(logits.softmax(-1), 1, generator=chance)[:, 0]
        yield from (self.tokenizer.decode(row[places]).strip() for row in ids)


def load_masked_tokenizer(settings: ModelSettings) -> Any:
    """Load the tokenizer of a masked language model.

    Raises:
        InputError: it cannot be loaded, or has no mask.
    """
    tokenizer = load_tokenizer(settings)
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"games.masked: {settings.path}: its tokenizer has no mask; name a masked language model"
        )
    return tokenizer
