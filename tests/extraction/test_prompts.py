"""Planned requests: each family's prompts, their seeds, and that any request can be planned again by itself."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from extraction.errors import InputError
from extraction.families import PromptFamilies
from extraction.model import ModelSettings, load_tokenizer
from extraction.prompts import Prompts, load_prompts
from extraction.public_text import read_public_text
from extraction.records import REQUEST_SCHEMA, requests_of
from tests.extraction.tiny_models import TEXT, byte_level_tokenizer, sentencepiece_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    byte_level_tokenizer(path)
    (path / "public.txt").write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return load_tokenizer(ModelSettings(tokenizer=str(folder)))


def prompts_of(tokenizer: Any, family: dict[str, Any], seed: int = 0, **more: Any) -> Prompts:
    families = PromptFamilies.model_validate({"families": {"x": {"share": 1, **family}}, **more})
    return load_prompts(families, tokenizer, seed, 256)


def texts(tokenizer: Any, table: pa.Table) -> list[str]:
    return [tokenizer.decode(r.prompt_token_ids) for r in requests_of(table)]


def test_a_request_is_a_function_of_seed_family_and_number(tokenizer: Any, folder: Path) -> None:
    sections = {
        "families": {
            "empty": {"share": 0.25},
            "public": {"share": 0.25},
            "repeat": {"share": 0.25, "max_tokens": 600},
            "talk": {"kind": "public", "share": 0.25, "chat": True},
        },
        "public_text": [str(folder / "public.txt")],
    }
    families = PromptFamilies.model_validate(sections)
    prompts = load_prompts(families, tokenizer, 5, 256)
    seeds: list[int] = []
    for family in families.families:
        table = prompts.plan(family, 0, 500)
        assert table.schema == REQUEST_SCHEMA
        again = load_prompts(families, tokenizer, 5, 256).plan(family, 137, 11)
        assert table.slice(137, 11).to_pylist() == again.to_pylist()
        assert table["request_id"][137].as_py() == f"{family}-000000137"
        assert set(table["max_tokens"].to_pylist()) == {600 if family == "repeat" else 256}
        seeds += table["seed"].to_pylist()
    assert len(set(seeds)) == len(seeds) and min(seeds) >= 0 and max(seeds) < 2**63
    other = load_prompts(families, tokenizer, 6, 256).plan("empty", 0, 500)
    assert not set(other["seed"].to_pylist()) & set(seeds)


def test_empty_is_the_beginning_of_sequence_token_alone(tokenizer: Any) -> None:
    table = prompts_of(tokenizer, {"kind": "empty"}).plan("x", 0, 3)
    assert table["prompt_token_ids"].to_pylist() == [[tokenizer.bos_token_id]] * 3


def test_empty_without_a_beginning_of_sequence_token_says_what_to_do(tmp_path: Path) -> None:
    bare = byte_level_tokenizer(tmp_path, bos=False)
    with pytest.raises(InputError, match=r"prompts.families.x: .*set start_token"):
        prompts_of(bare, {"kind": "empty"})
    table = prompts_of(bare, {"kind": "empty", "start_token": "</s>"}).plan("x", 0, 1)
    assert table["prompt_token_ids"].to_pylist() == [[bare.eos_token_id]]
    with pytest.raises(InputError, match="start_token: <nope> is no token"):
        prompts_of(bare, {"kind": "empty", "start_token": "<nope>"})


def test_public_prompts_are_whole_words_of_the_text(tokenizer: Any, folder: Path) -> None:
    family = {"kind": "public", "min_prompt_tokens": 4, "max_prompt_tokens": 9}
    prompts = prompts_of(tokenizer, family, public_text=[str(folder / "public.txt")])
    words = set(TEXT.split())
    found = set()
    for request in requests_of(prompts.plan("x", 0, 400)):
        bos, *body = request.prompt_token_ids
        text = tokenizer.decode(body)
        assert bos == tokenizer.bos_token_id and tokenizer.bos_token_id not in body
        assert 4 <= len(body) <= 9 and text in TEXT and set(text.split()) <= words
        found.add(text)
    assert len(found) > 150


def test_public_starts_are_uniform_over_the_text(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the branch opens " * 300)
    (tmp_path / "b.txt").write_text("an account pays " * 100)
    prompts = prompts_of(tokenizer, {"kind": "public"}, public_text=[str(tmp_path)])
    drawn = texts(tokenizer, prompts.plan("x", 0, 4000))
    assert 0.70 < sum("branch" in text for text in drawn) / 4000 < 0.80


def test_public_text_can_be_a_parquet_column(tokenizer: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": [TEXT, None, TEXT]}), tmp_path / "p.parquet")
    source = {"public_text": [str(tmp_path / "p.parquet")]}
    table = prompts_of(tokenizer, {"kind": "public"}, public_column="body", **source).plan("x", 0, 2)
    assert table.num_rows == 2
    with pytest.raises(InputError, match=r"no column text; there are body"):
        prompts_of(tokenizer, {"kind": "public"}, **source)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"\xff\xfe"),
        ("a.parquet", b"PAR1 no"),
        ("a.txt", b""),
        ("a.jsonl", b'{"text": "one two three"}\n'),
    ],
)
def test_public_text_that_cannot_be_used_is_named(
    tokenizer: Any, tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match="prompts.public_text"):
        prompts_of(tokenizer, {"kind": "public"}, public_text=[str(tmp_path / name)])
    with pytest.raises(InputError, match="no such file or folder"):
        prompts_of(tokenizer, {"kind": "public"}, public_text=[str(tmp_path / "nowhere")])


def test_text_too_short_for_a_prompt_is_refused(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("two")
    with pytest.raises(InputError, match="no place holds 5 to 10 tokens"):
        prompts_of(tokenizer, {"kind": "public"}, public_text=[str(tmp_path / "a.txt")])


@pytest.mark.parametrize("make", [byte_level_tokenizer, sentencepiece_tokenizer])
def test_repeat_asks_for_words_that_are_one_token(make: Any, tmp_path: Path) -> None:
    tokenizer = make(tmp_path)
    prompts = prompts_of(tokenizer, {"kind": "repeat", "times": 30})
    asked = set()
    for text in texts(tokenizer, prompts.plan("x", 0, 300)):
        words = text.replace('"', " ").replace(":", "").split()
        word = words[-2] if words[-1] == "forever" else words[-1]
        assert text.startswith(("<s>Repeat th", "<s> Repeat th", f"<s>{word} {word}", f"<s> {word} {word}"))
        assert len(tokenizer(f"a {word}", add_special_tokens=False)["input_ids"]) == 2
        asked.add((word, words.count(word) > 1))
    assert len({word for word, _ in asked}) > 5 and {many for _, many in asked} == {True, False}


def test_chat_uses_the_template_and_doubles_no_special_token(tokenizer: Any, folder: Path) -> None:
    family = {"kind": "public", "chat": True, "system": "Be brief."}
    prompts = prompts_of(tokenizer, family, public_text=[str(folder / "public.txt")])
    for request in requests_of(prompts.plan("x", 0, 50)):
        assert request.prompt_token_ids.count(tokenizer.bos_token_id) == 1
        text = tokenizer.decode(request.prompt_token_ids)
        assert text.startswith("<s>[system] Be brief.\n[user] ") and text.endswith("\n[assistant] ")
        said = text.removeprefix("<s>[system] Be brief.\n[user] ").removesuffix("\n[assistant] ")
        assert said and said in TEXT and said == said.strip()
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": said}]
        own = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert request.prompt_token_ids == own


def test_an_empty_chat_is_an_empty_message(tokenizer: Any) -> None:
    assert texts(tokenizer, prompts_of(tokenizer, {"kind": "empty", "chat": True}).plan("x", 0, 1)) == [
        "<s>[user] \n[assistant] "
    ]


def test_chat_without_a_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"prompts.families.x.chat: the chat template cannot be used"):
        prompts_of(byte_level_tokenizer(tmp_path, chat=False), {"kind": "repeat", "chat": True}).plan(
            "x", 0, 1
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"families": {}}, "at least 1"),
        ({"families": {"empty": {"share": 0.5}}}, "shares add up to 0.5"),
        ({"families": {"public": {"share": 1}}}, "needs text"),
        ({"families": {"empty": {"share": 1, "system": "x"}}}, "needs chat"),
        ({"families": {"Empty!": {"kind": "empty", "share": 1}}}, "pattern"),
        ({"families": {"empty": {"share": 1, "shar": 2}}}, "Extra inputs"),
    ],
)
def test_wrong_families_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PromptFamilies.model_validate(wrong)


def test_the_fingerprint_follows_text_and_settings_not_places(
    tokenizer: Any, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy.txt").write_text(TEXT)
    (tmp_path / "other.txt").write_text(TEXT + " More.")

    def fingerprint(file: Path, **family: Any) -> str:
        return prompts_of(tokenizer, {"kind": "public", **family}, public_text=[str(file)]).fingerprint

    first = fingerprint(folder / "public.txt")
    assert fingerprint(tmp_path / "copy.txt") == first
    assert (
        len({first, fingerprint(tmp_path / "other.txt"), fingerprint(tmp_path / "copy.txt", chat=True)}) == 3
    )


def test_public_text_is_read_up_to_a_bound(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the branch opens " * 100)
    (tmp_path / "b.txt").write_text("an account pays " * 100)
    prompts = prompts_of(tokenizer, {"kind": "public"}, public_text=[str(tmp_path)], public_bytes=2000)
    assert not any("account" in text for text in texts(tokenizer, prompts.plan("x", 0, 200)))


@pytest.mark.slow
def test_a_billion_tokens_plan_in_minutes(tokenizer: Any, folder: Path) -> None:
    import time

    prompts = prompts_of(tokenizer, {"kind": "public"}, public_text=[str(folder / "public.txt")])
    start = time.monotonic()
    for first in range(0, 10_000_000, 100_000):
        assert prompts.plan("x", first, 100_000).num_rows == 100_000
    assert time.monotonic() - start < 120


def test_a_text_of_one_line_is_cut_between_words(tmp_path: Path) -> None:
    text = "antidisestablishmentarianism " * 8000
    (tmp_path / "a.txt").write_text(text)
    settings = PromptFamilies.model_validate(
        {"families": {"public": {"share": 1}}, "public_text": [str(tmp_path)], "public_bytes": 10**6}
    )
    pieces = read_public_text(settings)
    assert "".join(pieces) == text and len(pieces) > 3
    assert all(piece.startswith("anti") and piece.endswith("ism ") for piece in pieces)
    with pytest.raises(InputError, match="no text within prompts.public_bytes"):
        read_public_text(settings.model_copy(update={"public_bytes": 100}))
