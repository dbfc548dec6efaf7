"""Everything that truly follows a prompt: each continuation with the documents that hold it."""

from typing import Any

import pytest

from extraction.discoverable.continuations import Continuations, Followed
from extraction.model import token_ids
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import byte_level_tokenizer

OPENING = "Please bring a letter"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return byte_level_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def found(tokenizer: Any, documents: dict[str, str], most: int = 10, tokens: int = 6) -> list[Followed]:
    search = Continuations([OPENING.encode(), b"statement comes"], tokenizer, tokens, most)
    return list(search.search([([name], text.encode()) for name, text in documents.items()]))


def text_of(tokenizer: Any, one: Followed) -> str:
    return TokenBytes.from_tokenizer(tokenizer).decode(one.tokens)


def test_one_prompt_goes_on_in_several_ways(tokenizer: Any) -> None:
    documents = {
        "a": f"{OPENING} with your address when you open an account.",
        "b": f"So: {OPENING} with your address when you open an account. {OPENING} in the new year, at the branch.",
        "c": f"{OPENING} in the new year, at the branch.",
        "d": f"{OPENING} in",  # too short for a continuation
        "e": "The first statement comes in the new year, not before.",
    }
    rows = found(tokenizer, documents)
    own = {text_of(tokenizer, one): one.documents for one in rows if one.prompt == 0}
    assert len(own) == 2
    assert set(own.values()) == {2}
    for text, _ in own.items():
        assert any(f"{OPENING}{text}" in document for document in documents.values())
    assert [one.documents for one in rows if one.prompt == 1] == [1]


def test_a_continuation_has_the_tokens_that_it_has_in_the_document(tokenizer: Any) -> None:
    text = f"{OPENING} with your address when you open an account."
    ids = token_ids(tokenizer, text)
    (one,) = found(tokenizer, {"a": text})
    start = len(token_ids(tokenizer, OPENING))
    assert list(one.tokens) == ids[start : start + 6]


def test_the_most_frequent_are_kept(tokenizer: Any) -> None:
    texts = [f"{OPENING} with your address when you open"] * 3 + [f"{OPENING} in the new year, at the branch"]
    documents = [([f"d{n}"], text.encode()) for n, text in enumerate(texts)]
    search = Continuations([OPENING.encode()] * 2, tokenizer, 6, 1)
    rows = list(search.search(documents))
    assert [(one.prompt, one.documents) for one in rows] == [(0, 3), (1, 3)]  # a prompt may stand there twice
