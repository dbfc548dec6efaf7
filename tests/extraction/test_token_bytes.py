"""Bytes of tokens: they must be the text's own, whatever the text, and special tokens must have none."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from extraction.errors import InputError
from extraction.model import BYTE_TOKENIZER, ModelSettings, load_tokenizer
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, sentencepiece_tokenizer

TEXTS = [
    *SENTENCES,
    "  two blanks",
    "tab\tand\nline\r\n",
    "Zoë paid 5 € at the café",
    "日本語 😀",
    "\u2581under",
]


@pytest.fixture(scope="module", params=["byte_level", "sentencepiece", "bytes"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tokenizer")
    if request.param == "bytes":
        return load_tokenizer(ModelSettings(tokenizer=BYTE_TOKENIZER))
    make = byte_level_tokenizer if request.param == "byte_level" else sentencepiece_tokenizer
    make(folder)
    return load_tokenizer(ModelSettings(tokenizer=str(folder)))


def test_tokens_give_back_the_texts_bytes(tokenizer: Any) -> None:
    table = TokenBytes.from_tokenizer(tokenizer)
    texts = (
        TEXTS if not table.pads_text else TEXTS[:-1]
    )  # the blank's own sign does not survive SentencePiece
    assert table.round_trip_share(texts, tokenizer) == 1.0
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        (run,) = table.runs(ids, starts_text=True)
        assert run.data == text.encode()
        assert [run.data[a:b] for a, b in zip(run.offsets, run.offsets[1:], strict=False)][1:] == (
            table.bytes_of(ids)[1 + run.first_token :]
        )


def test_special_tokens_and_ids_outside_have_no_bytes(tokenizer: Any) -> None:
    table = TokenBytes.from_tokenizer(tokenizer)
    outside = [tokenizer.bos_token_id, tokenizer.eos_token_id, len(tokenizer), 10**9, -1]
    assert table.bytes_of(outside) == [b""] * 5


def test_a_token_without_bytes_ends_a_run(tokenizer: Any) -> None:
    table = TokenBytes.from_tokenizer(tokenizer)
    text = tokenizer("the branch", add_special_tokens=False)["input_ids"]
    eos = tokenizer.eos_token_id
    runs = list(table.runs([eos, *text, eos, eos, *text[:1], eos]))
    assert [(r.first_token, len(r.offsets) - 1) for r in runs] == [(1, len(text)), (len(text) + 3, 1)]
    assert list(table.runs([])) == [] and list(table.runs([eos])) == []


def test_a_text_that_starts_in_the_middle_keeps_its_blank(tmp_path: Path) -> None:
    tokenizer = sentencepiece_tokenizer(tmp_path)
    table = TokenBytes.from_tokenizer(tokenizer)
    ids = tokenizer("the branch", add_special_tokens=False)["input_ids"]
    assert next(table.runs(ids)).data == b" the branch"
    assert next(table.runs(ids, starts_text=True)).data == b"the branch"


def test_bytes_that_are_not_utf8_are_kept_and_shown_replaced(tmp_path: Path) -> None:
    table = TokenBytes.from_tokenizer(byte_level_tokenizer(tmp_path))
    first_half = [i for i, data in enumerate(table.bytes_of(range(420))) if data == "é".encode()[:1]]
    assert next(table.runs(first_half)).data == b"\xc3"
    assert table.decode(first_half) == "\ufffd"


def test_added_tokens_that_are_not_special_are_text(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer(tmp_path)
    tokenizer.add_tokens(["naïve word"])
    table = TokenBytes.from_tokenizer(tokenizer)
    assert table.bytes_of(tokenizer("naïve word", add_special_tokens=False)["input_ids"]) == [
        "naïve word".encode()
    ]


def test_a_tokenizer_that_changes_text_does_not_round_trip(tmp_path: Path) -> None:
    from tokenizers import normalizers

    tokenizer = byte_level_tokenizer(tmp_path)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    share = TokenBytes.from_tokenizer(tokenizer).round_trip_share(
        ["all low", "Not Low", "", "low too"], tokenizer
    )
    assert share == pytest.approx(2 / 3)


def test_a_vocabulary_that_does_not_say_its_bytes_is_refused() -> None:
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    backend.decoder = decoders.WordPiece()
    with pytest.raises(InputError, match="cannot tell which bytes"):
        TokenBytes.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]"))


def test_a_table_can_be_sent_to_workers(tokenizer: Any) -> None:
    table = TokenBytes.from_tokenizer(tokenizer)
    ids = tokenizer("the branch")["input_ids"]
    assert pickle.loads(pickle.dumps(table)).bytes_of(ids) == table.bytes_of(ids)


@settings(max_examples=200, deadline=None)
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_round_trips_through_bytes(text: str) -> None:
    tokenizer = load_tokenizer(ModelSettings(tokenizer=BYTE_TOKENIZER))
    assert TokenBytes.from_tokenizer(tokenizer).round_trip_share([text], tokenizer) == 1.0
