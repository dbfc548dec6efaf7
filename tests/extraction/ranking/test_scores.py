import math
import zlib

import numpy as np
import pytest

from extraction.ranking.scores import LEAST, WINDOW, Scored, scores_of, zlib_bytes


def scored(losses: list[float], width: int = 4) -> Scored:
    return Scored(np.array(losses), [bytes([97 + n % 26]) * width for n in range(len(losses))])


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 8), ("A" * 23, 11), ("poem " * 51, 16), (" ".join(map(str, range(1, 101))), 147)],
)
def test_worked_zlib_sizes(text: str, size: int) -> None:
    assert zlib_bytes(text.encode()) == size


def test_every_formula_by_hand() -> None:
    model, reference, lowercase = scored([1.0, 2.0, 3.0]), scored([4.0, 4.0]), scored([6.0])
    found = scores_of(model, reference, lowercase)
    assert (found.perplexity, found.reference, found.lowercase) == (-2.0, 2.0, 3.0)
    assert found.zlib == len(zlib.compress(b"aaaabbbbcccc")) / 2.0
    assert found.window_perplexity is None


def test_windows_are_the_highest_of_all() -> None:
    rng = np.random.default_rng(1)
    losses, other = rng.uniform(0.1, 5, 120).tolist(), rng.uniform(0.1, 5, 120).tolist()
    model, reference = scored(losses), scored(other)
    found = scores_of(model, reference, None)
    means = [np.mean(losses[n : n + WINDOW]) for n in range(120 - WINDOW + 1)]
    theirs = [np.mean(other[n : n + WINDOW]) for n in range(120 - WINDOW + 1)]
    text = b"".join(model.pieces)
    sizes = [len(zlib.compress(text[4 * n : 4 * (n + WINDOW)])) for n in range(len(means))]
    assert found.window_perplexity == pytest.approx(-min(means))
    assert found.window_reference == pytest.approx(max(b / a for a, b in zip(means, theirs, strict=True)))
    assert found.window_zlib == pytest.approx(max(size / a for a, size in zip(means, sizes, strict=True)))
    assert found.window_lowercase is None


def test_a_reference_with_other_tokens_is_aligned_by_bytes() -> None:
    model = scored([1.0] * 60, width=4)
    coarse = Scored(np.array([8.0] * 30), [b"x" * 8] * 30)  # half as many tokens over the same bytes
    assert scores_of(model, coarse, None).window_reference == pytest.approx(8.0)


def test_a_model_that_is_sure_divides_by_no_zero() -> None:
    found = scores_of(scored([0.0] * 60), scored([1.0] * 60), None)
    assert found.reference == pytest.approx(1 / LEAST)
    assert all(
        math.isfinite(value)
        for value in (found.perplexity, found.zlib, found.window_zlib)
        if value is not None
    )


def test_nothing_generated_has_no_score() -> None:
    found = scores_of(scored([]), scored([1.0]), scored([1.0]))
    assert {getattr(found, name) for name in found.__dataclass_fields__} == {None}


def test_only_windows_that_cannot_be_the_highest_are_left_uncompressed() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        losses = rng.gamma(0.3, 2.0, 130)
        pieces = [
            rng.bytes(int(n)) if rng.random() < 0.5 else b"a" * int(n) for n in rng.integers(0, 12, 130)
        ]
        text, ends = b"".join(pieces), np.cumsum([0, *map(len, pieces)])
        ratios = [
            len(zlib.compress(text[ends[n] : ends[n + WINDOW]])) / max(losses[n : n + WINDOW].mean(), LEAST)
            for n in range(130 - WINDOW + 1)
        ]
        assert scores_of(Scored(losses, pieces), None, None).window_zlib == pytest.approx(max(ratios))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_no_score(value: float) -> None:
    found = scores_of(scored([1.0] * 30 + [value] + [1.0] * 40), scored([1.0] * 71), scored([1.0] * 71))
    assert math.isnan(found.perplexity or 0.0)
    assert math.isnan(found.window_zlib or 0.0)
    other = scores_of(scored([1.0] * 71), scored([value] * 71), None)
    assert math.isnan(other.reference or 0.0)
    assert math.isnan(other.window_reference or 0.0)
    assert other.perplexity == -1.0


def test_an_end_token_alone_is_no_output() -> None:
    sure = Scored(np.array([1e-7]), [b""])  # which would be the most suspicious of all
    found = scores_of(sure, scored([1.0]), scored([1.0]))
    assert {getattr(found, name) for name in found.__dataclass_fields__} == {None}
    assert scores_of(Scored(np.array([0.5, 0.5]), [b"a", b""]), None, None).perplexity == -0.5
