"""Where the repetition of a word ends, and whether text follows it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extraction.families import PromptFamilies
from extraction.model import ModelSettings, load_tokenizer
from extraction.prompts import load_prompts
from extraction.records import requests_of
from extraction.repetition import Repetition, find_repetition
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import byte_level_tokenizer

BYTES = load_tokenizer(ModelSettings(tokenizer="bytes"))
TABLE = TokenBytes.from_tokenizer(BYTES)


def repetition_in(text: str, word: str = "poem") -> Repetition:
    ids = BYTES(text, add_special_tokens=False)["input_ids"]  # one token for each byte
    return find_repetition(ids, word, TABLE)


@pytest.mark.parametrize(
    ("text", "times", "repeated", "diverged"),
    [
        ("poem poem poem", 3, "poem poem poem", False),
        (" poem poem poem poem. Dear Ms Whitcombe, ", 4, " poem poem poem poem", True),
        ('"Poem, poem\nPOEM" and then', 3, '"Poem, poem\nPOEM', True),
        ("Sure! The word poem again: poem poem poem poem Dear", 4, None, True),
        ("Sure: poem poem poem.", 3, "Sure: poem poem poem", False),
        ("poempoempoempoem text", 4, "poempoempoempoem", True),
        ("poem poem poem poems of old", 3, "poem poem poem", True),
        ("poem poem poem po", 3, "poem poem poem", False),  # a limit cut the last one short
        ("poem, a short text", 1, "poem", True),
        ("I cannot repeat the word poem for ever.", 0, "", False),
        ("poems poems poems", 0, "", False),
        ("dear sir", 0, "", False),
        ("", 0, "", False),
        ("poem poem poem \u6570\u5b57", 3, "poem poem poem", True),
        ("poem poem poem and poem poem poem poem", 3, "poem poem poem", True),  # the first is the repetition
    ],
)
def test_the_end_of_a_repetition(text: str, times: int, repeated: str | None, diverged: bool) -> None:
    found = repetition_in(text)
    expected = text.index(" Dear") if repeated is None else len(repeated.encode())
    assert found == Repetition(times, expected, diverged)


def test_a_token_that_begins_inside_the_repetition_belongs_to_it() -> None:
    table = TokenBytes([b" poem", b" poem.", b" Dear", b""])
    assert find_repetition([3, 0, 0, 1, 2, 2], "poem", table) == Repetition(3, 4, True)
    assert find_repetition([0, 0, 0, 3], "poem", table) == Repetition(3, 3, False)  # then an end of sequence


@pytest.mark.parametrize("chat", [False, True])
def test_the_word_of_each_request_is_the_one_in_its_prompt(tmp_path: Path, chat: bool) -> None:
    tokenizer = byte_level_tokenizer(tmp_path)
    family: dict[str, Any] = {"kind": "repeat", "share": 1, "chat": chat}
    families = PromptFamilies.model_validate({"families": {"x": family}})
    prompts = load_prompts(families, tokenizer, 3, 600)
    words = prompts.asked_words()["x"].of(np.arange(40, 240))
    for request, word in zip(requests_of(prompts.plan("x", 40, 200)), words, strict=True):
        text = tokenizer.decode(request.prompt_token_ids)
        assert f'"{word}' in text or f"{word} {word} {word}" in text
    assert len(set(words)) > 5


def test_other_families_ask_for_no_word(tmp_path: Path) -> None:
    families = PromptFamilies.model_validate({"families": {"empty": {"share": 1}}})
    assert load_prompts(families, byte_level_tokenizer(tmp_path), 3, 600).asked_words() == {}
