"""The stand-in engine: seeded, fast, and with passages amid filler."""

from pathlib import Path
from typing import Any

import pytest

from extraction.engines import load_engine
from extraction.engines.settings import DeterministicSettings, ModelSettings
from extraction.errors import InputError
from extraction.model import BYTE_TOKENIZER, load_tokenizer
from extraction.sampling import Sampling, resolve_sampling
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import SENTENCES, request

MODEL = ModelSettings(tokenizer=BYTE_TOKENIZER)


def engine(tmp_path: Path, stop_strings: tuple[str, ...] = (), **settings: Any) -> Any:
    passages = tmp_path / "passages.txt"
    passages.write_text("\n\n".join(SENTENCES))
    tokenizer = load_tokenizer(MODEL)
    return load_engine(
        DeterministicSettings(kind="deterministic", passages=passages, **settings),
        MODEL,
        resolve_sampling(Sampling(stop_strings=stop_strings), None, tokenizer.eos_token_id),
    )


def test_the_same_request_gives_the_same_generation_anywhere(tmp_path: Path) -> None:
    requests = [request([0], seed, 300) for seed in range(40)]
    all_at_once = engine(tmp_path).generate(requests)
    assert all_at_once == [engine(tmp_path).generate([r])[0] for r in requests]
    assert len({tuple(g.token_ids) for g in all_at_once}) == 40


def test_passages_stand_amid_filler(tmp_path: Path) -> None:
    table = TokenBytes.from_tokenizer(load_tokenizer(MODEL))
    texts = [
        table.decode(g.token_ids)
        for g in engine(tmp_path).generate([request([0], s, 400) for s in range(60)])
    ]
    assert all(any(sentence in text for text in texts) for sentence in SENTENCES)
    none = engine(tmp_path, passage_share=0.0).generate([request([0], s, 400) for s in range(60)])
    assert not any(sentence in table.decode(g.token_ids) for g in none for sentence in SENTENCES)


def test_generations_end_as_a_models_do(tmp_path: Path) -> None:
    generations = engine(tmp_path).generate([request([0], s, 200) for s in range(200)])
    assert {g.finish_reason for g in generations} == {"stop", "length"}
    for g in generations:
        assert len(g.logprobs) == len(g.token_ids) and (len(g.token_ids) == 200 or g.finish_reason == "stop")
        assert 1 not in g.token_ids[:-1] and (g.token_ids[-1] == 1) == (g.finish_reason == "stop")


def test_a_stop_string_ends_a_generation(tmp_path: Path) -> None:
    table = TokenBytes.from_tokenizer(load_tokenizer(MODEL))
    requests = [request([0], s, 400) for s in range(60)]
    free, stopped = engine(tmp_path).generate(requests), engine(tmp_path, ("branch",)).generate(requests)
    for whole, cut in zip(free, stopped, strict=True):
        data = b"".join(table.bytes_of(whole.token_ids))
        assert len(data) == len(whole.token_ids) - (whole.finish_reason == "stop")  # one token for each byte
        end = data.index(b"branch") + 6 if b"branch" in data else None
        assert cut.token_ids == whole.token_ids[:end]
        assert cut.finish_reason == ("stop" if end else whole.finish_reason)
    assert sum(len(g.token_ids) for g in stopped) < sum(len(g.token_ids) for g in free) / 2


def test_an_empty_prompt_fails_alone(tmp_path: Path) -> None:
    reasons = [g.finish_reason for g in engine(tmp_path).generate([request([], 1), request([0], 2)])]
    assert reasons[0] == "failed" and reasons[1] != "failed"


@pytest.mark.parametrize("content", [b"\xff", b" \n\n "])
def test_passages_that_cannot_be_used_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.txt").write_bytes(content)
    settings = DeterministicSettings(kind="deterministic", passages=tmp_path / "p.txt")
    with pytest.raises(InputError, match="engine.passages"):
        load_engine(settings, MODEL, resolve_sampling(Sampling(), None))
