"""A chat template written around a user's message, once, and then millions of messages in it.

The tokenizer cuts a text at its special tokens before anything else. So what stands before the last special token
in front of the message, and behind the first one after it, has the same tokens whatever the message is: only what
lies between is tokenised for each message, and the result is that of the whole text.
"""

from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from extraction.errors import InputError
from extraction.families import Family
from extraction.token_lists import framed_slices

_MESSAGE = "TEXT\u2e3bOF\u2e3bTHE\u2e3bUSER"  # stands for the message while the template is written


class Chat:
    """Puts messages into the chat template of one family."""

    def __init__(self, tokenizer: Any, name: str, family: Family) -> None:
        """Write the template as the deployed system does; it brings its own special tokens.

        Args:
            tokenizer: the model's own.
            name: the family's name, for errors.
            family: its settings; `system` becomes the system prompt.

        Raises:
            InputError: the tokenizer has no chat template, or one that cannot write this chat.
        """
        self._backend = tokenizer.backend_tokenizer
        written = _written(tokenizer, name, family)
        if written.count(_MESSAGE) != 1:
            raise InputError(
                f"prompts.families.{name}.chat: the chat template does not write the user's message just once"
            )
        encoded = self._backend.encode(written, add_special_tokens=False)
        start = written.index(_MESSAGE)
        first, last = _anchors(tokenizer, written, encoded, start)
        self._head = np.array([] if first is None else encoded.ids[:first], np.int32)
        self._tail = np.array([] if last is None else encoded.ids[last + 1 :], np.int32)
        self._opening = written[0 if first is None else encoded.offsets[first][0] : start]
        end = None if last is None else encoded.offsets[last][1]
        self._closing = written[start + len(_MESSAGE) : end]

    def encode(self, messages: list[str]) -> pa.ListArray:
        """Tokenise the whole chat with each of these messages; a list of int32 for each."""
        texts = [self._opening + message + self._closing for message in messages]
        ids = [e.ids for e in self._backend.encode_batch_fast(texts, add_special_tokens=False)]
        lengths = np.array([len(own) for own in ids], np.int64)
        values = np.fromiter(chain.from_iterable(ids), np.int32, int(lengths.sum()))
        ends = lengths.cumsum()
        return framed_slices(values, ends - lengths, ends, self._head, self._tail)


def _anchors(tokenizer: Any, written: str, encoded: Any, start: int) -> tuple[int | None, int | None]:
    """The last special token before the message and the first one after it, as places in `encoded`."""
    added = {
        i: token.content
        for i, token in tokenizer.added_tokens_decoder.items()
        if not token.normalized and not token.single_word
    }
    spans = zip(encoded.ids, encoded.offsets, strict=True)
    # Written out: an unknown character can have a special token's id too, and is not cut at.
    places = [n for n, (i, (a, b)) in enumerate(spans) if i in added and added[i] == written[a:b].strip()]
    before = [n for n in places if encoded.offsets[n][1] <= start]
    after = [n for n in places if encoded.offsets[n][0] >= start + len(_MESSAGE)]
    return before[-1] if before else None, after[0] if after else None


def _written(tokenizer: Any, name: str, family: Family) -> str:
    system = [] if family.system is None else [{"role": "system", "content": family.system}]
    try:
        written: str = tokenizer.apply_chat_template(
            [*system, {"role": "user", "content": _MESSAGE}], tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # templates raise what they like
        reason = next(iter(str(error).splitlines()), "")[:120]
        raise InputError(
            f"prompts.families.{name}.chat: the chat template cannot be used: {reason}"
        ) from error
    return written
