"""Cutting a prompt and what follows it out of a document, and the reasons why there is none."""

from pathlib import Path
from typing import Any

import pytest

from extraction.discoverable.cutting import IN_PROMPT, NO_BYTES, TOO_SHORT, Cutter, Target
from extraction.discoverable.drawing import Drawn
from extraction.entropy import LowEntropyRule
from extraction.model import token_ids
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, sentencepiece_tokenizer


def drawn(text: str, fraction: float = 0.0) -> Drawn:
    return Drawn(0.5, fraction, 1, text.encode(), True)


def cutter(tokenizer: Any, opening: str = "first", tokens: int = 16) -> Cutter:
    return Cutter(tokenizer, opening, tokens, LowEntropyRule())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_the_first_tokens_are_the_prompt(tokenizer: Any) -> None:
    text = " ".join(SENTENCES)
    ids = token_ids(tokenizer, text)
    for length, found in zip((4, 20), cutter(tokenizer).cut(drawn(text), (4, 20)), strict=True):
        assert isinstance(found, Target)
        assert (found.prefix, found.tokens) == (ids[:length], ids[length : length + 16])
        assert text.encode().startswith(found.prefix_bytes + found.target_bytes)
        assert not found.low_entropy


def test_a_random_place_lies_anywhere_and_never_beyond_the_end(tokenizer: Any) -> None:
    text = " ".join(SENTENCES)
    tokens = len(token_ids(tokenizer, text))
    random = cutter(tokenizer, "random")
    assert random.start(tokens, 20, 0.0) == 0
    assert random.start(tokens, 20, 1 - 2**-53) == tokens - 36
    assert random.start(36, 20, 0.9) == 0
    (found,) = random.cut(drawn(text, 0.5), (20,))
    assert isinstance(found, Target)
    assert found.prefix_bytes + found.target_bytes in text.encode()


def test_what_is_no_target_says_why(tokenizer: Any) -> None:
    own = cutter(tokenizer)
    assert own.cut(drawn("The branch opens."), (4, 200)) == [TOO_SHORT, TOO_SHORT]
    assert own.cut(drawn("</s>" + " ".join(SENTENCES)), (4,)) == [NO_BYTES]
    assert own.cut(drawn("The branch opens at nine. " * 20), (60,)) == [IN_PROMPT]
    words = "one two three four "
    (filler,) = own.cut(drawn(words + "-" * 200), (len(token_ids(tokenizer, words)),))
    assert isinstance(filler, Target)
    assert filler.low_entropy


def test_stretches_follow_each_other_and_hold_each_token_once(tokenizer: Any) -> None:
    text = " ".join(SENTENCES)
    ids = token_ids(tokenizer, text)
    found = cutter(tokenizer).stretches(drawn(text), 4)
    assert len(found) == len(ids) // 20 >= 2
    for number, one in enumerate(found):
        assert isinstance(one, Target)
        assert [*one.prefix, *one.tokens] == ids[20 * number : 20 * number + 20]
    assert cutter(tokenizer).stretches(drawn("The branch opens."), 4) == []


def test_a_stretch_has_the_same_rules_as_a_target(tokenizer: Any) -> None:
    again = cutter(tokenizer).stretches(drawn("The branch opens at nine. " * 20), 60)
    assert set(again) == {IN_PROMPT}
    (special, *_) = cutter(tokenizer).stretches(drawn("</s>" + " ".join(SENTENCES)), 4)
    assert special == NO_BYTES


def test_a_tokenizer_that_pads_every_text_gives_the_document_s_own_bytes(tmp_path: Path) -> None:
    tokenizer = sentencepiece_tokenizer(tmp_path)
    text = " ".join(SENTENCES)
    (found,) = cutter(tokenizer).cut(drawn(text), (8,))
    assert isinstance(found, Target)
    assert text.encode().startswith(found.prefix_bytes + found.target_bytes)
