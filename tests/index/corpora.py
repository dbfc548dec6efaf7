"""Hypothesis strategies: corpora with everything that makes matching hard, and texts spliced from them."""

from hypothesis import strategies as st

WORDS = ["alpha ", "beta ", "gamma ", "é", "пд ", "🙂", "\n", "x", "  ", "\x00", "0, "]
FILLER = ["-", " ", "ab", "abc", "=+", "0, ", "é"]


def filler() -> st.SearchStrategy[str]:
    return st.builds(lambda unit, n: (unit * n)[:n], st.sampled_from(FILLER), st.integers(1, 400))


def phrase() -> st.SearchStrategy[str]:
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map("".join)
    return st.one_of(words, words, filler())


@st.composite
def corpus(draw: st.DrawFn) -> list[str]:
    shared = draw(st.lists(phrase(), min_size=1, max_size=6))
    piece = st.one_of(st.sampled_from(shared), phrase())
    documents = draw(st.lists(st.lists(piece, max_size=6).map("".join), min_size=1, max_size=12))
    documents += draw(st.lists(st.sampled_from(documents), max_size=4))
    whole = draw(st.sampled_from(documents))
    step, size = draw(st.integers(5, 60)), draw(st.integers(20, 120))
    documents += [whole[at : at + size] for at in range(0, len(whole), step)][:20]
    return draw(st.permutations(documents))


@st.composite
def splices(draw: st.DrawFn, documents: list[str]) -> list[bytes]:
    """Texts cut from the documents at byte offsets, with foreign bytes between."""
    texts = []
    for _ in range(draw(st.integers(1, 3))):
        text = b""
        for _ in range(draw(st.integers(1, 5))):
            source = draw(st.sampled_from(documents)).encode()
            start = draw(st.integers(0, len(source)))
            text += source[start : start + draw(st.integers(1, 300))]
            text += draw(st.sampled_from([b"", b"", b"~", b"\xff", b"\xfe", b"ab" * 30, b"-" * 70]))
        texts.append(text)
    return texts


@st.composite
def template_corpus(draw: st.DrawFn) -> list[str]:
    """Many documents around one text, with few different characters on both sides: crowded seeds."""
    common = draw(st.text("abcdefgh ", min_size=20, max_size=90)) + draw(st.sampled_from(["", "-" * 60]))
    sides = st.text("01", max_size=24)
    documents = draw(
        st.lists(st.builds("{}{}{}".format, sides, st.just(common), sides), min_size=12, max_size=60)
    )
    return documents + draw(st.lists(phrase(), max_size=3))
