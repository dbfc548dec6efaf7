"""Drawing documents: the same sample however the corpus is cut up, and the probabilities that it promises."""

from collections import Counter

from extraction.discoverable.drawing import Draw

TEXTS = [f"document {n}: ".encode() + b"x" * (n * 7 % 50) for n in range(200)]
CORPUS = [([f"d{n}"], text) for n, text in enumerate(TEXTS)]


def test_the_sample_does_not_depend_on_how_the_corpus_is_cut_up() -> None:
    draw = Draw(seed=3, by="documents", count=20, most=1000)
    whole = draw.smallest(CORPUS)
    parts = [one for start in range(0, 200, 37) for one in draw.smallest(CORPUS[start : start + 37])]
    assert sorted(parts, key=lambda one: one.key)[:20] == whole
    assert draw.smallest(CORPUS[::-1]) == whole
    assert len({one.text for one in whole}) == 20
    assert Draw(seed=4, by="documents", count=20, most=1000).smallest(CORPUS) != whole


def test_documents_are_drawn_uniformly_or_by_their_length() -> None:
    corpus = [(["short"], b"s" * 10), (["long"], b"l" * 90)]
    for by, share in (("documents", 0.5), ("tokens", 0.9)):
        drawn = Counter(
            Draw(seed, by, 1, 1000).smallest(corpus)[0].text[:1]  # type: ignore[arg-type]
            for seed in range(2000)
        )
        assert abs(drawn[b"l"] / 2000 - share) < 5 * (share * (1 - share) / 2000) ** 0.5


def test_a_long_document_is_cut_and_copies_are_counted() -> None:
    (drawn,) = Draw(0, "documents", 5, 8).smallest([(["a", "b", "c"], b"0123456789"), (["empty"], b"")])
    assert (drawn.text, drawn.whole, drawn.copies) == (b"01234567", False, 3)
    assert 0 <= drawn.fraction < 1
