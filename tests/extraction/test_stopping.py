"""Where a stop string ends a generation: the token that completes it is the last, whatever its own bounds are."""

from pathlib import Path

import pytest

from extraction.engines.stopping import StopStrings, StopWatch
from extraction.model import ModelSettings
from extraction.sampling import Sampling, resolve_sampling
from tests.extraction.tiny_models import byte_level_tokenizer

TABLE = (b"a", b"bc", b"d", b"", b"\xc3", b"\xa9", b"xyz")


def stops(*strings: str) -> StopStrings:
    return StopStrings(tuple(s.encode() for s in strings), TABLE)


@pytest.mark.parametrize(
    ("strings", "tokens", "end"),
    [
        (("bcd",), [0, 1, 2, 0], 3),  # over two tokens
        (("y",), [0, 6, 0], 2),  # inside one: the whole token counts
        (("d", "bc"), [0, 1, 2], 2),  # the first to be complete, in whatever order they are named
        (("bcda", "cd"), [1, 2, 0], 2),
        (("é",), [4, 0, 4, 5, 0], 4),  # over the bytes of one character
        (("ad",), [0, 3, 3, 2], 4),  # tokens without bytes do not part it
        (("q",), [0, 1, 2, 3], None),
        (("a",), [], None),
        ((), [0, 1, 2], None),
        (("a",), [99, 0], 2),  # an id outside the vocabulary has no bytes
    ],
)
def test_the_token_that_completes_the_first_stop_string_is_the_last(
    strings: tuple[str, ...], tokens: list[int], end: int | None
) -> None:
    own = stops(*strings)
    assert own.end(tokens) == end
    watch = StopWatch(own, 1)
    seen = [i + 1 for i, token in enumerate(tokens) if watch.add([token])[0]]
    assert (seen[0] if seen else None) == end


def test_rows_are_watched_apart() -> None:
    watch = StopWatch(stops("ad", "xyz"), 3)
    assert watch.add([0, 2, 0]) == [False, False, False]
    assert watch.add([2, 0, 6]) == [True, False, True]


def test_a_special_token_can_be_a_stop_string(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer(tmp_path)
    sampling = resolve_sampling(Sampling(stop_strings=("</s>",)), None)
    own = StopStrings.load(sampling, ModelSettings(tokenizer=str(tmp_path)))
    ids = tokenizer("the branch", add_special_tokens=False)["input_ids"]
    assert own.end([*ids, tokenizer.eos_token_id, *ids]) == len(ids) + 1
    assert own.end(tokenizer("written out: </s", add_special_tokens=False)["input_ids"]) is None


def test_no_tokenizer_is_read_without_stop_strings() -> None:
    none = StopStrings.load(resolve_sampling(Sampling(), None), ModelSettings(tokenizer="/nowhere"))
    assert none.end([1, 2, 3]) is None
