"""Log-perplexities through a tree of cached prefixes, beside a plain forward pass; searches beside enumerations."""

import math

import numpy as np
import pytest

from extraction.canaries.exposure import exact
from extraction.canaries.formats import Format, parse_format
from extraction.canaries.key import Canary
from extraction.canaries.measure import Limits, measure, score_all
from extraction.canaries.model import CanaryModel
from extraction.canaries.search import search, shared_tokens
from extraction.canaries.spelling import Spelling
from extraction.errors import InputError
from extraction.model import ModelSettings
from extraction.scoring import Scorer, Text
from extraction.token_bytes import TokenBytes
from tests.extraction.tiny_models import byte_level_tokenizer, gpt2, llama, sentencepiece_tokenizer

# The tiny tokenizer has learnt whole words, so that words are cut into tokens of many lengths.
WORDS = ("account", "accounts", "at", "arrive", "market", "marks", "interest", "in", "7", "ab")
PHRASE = parse_format("phrase", "Interest on {words:2} day", WORDS)
ACCOUNT = parse_format("account", "the account {digits:3}.", ())


@pytest.fixture(scope="module", params=["llama", "gpt2", "sentencepiece"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CanaryModel:
    folder = tmp_path_factory.mktemp("model")
    if request.param == "sentencepiece":
        tokenizer = sentencepiece_tokenizer(folder)
    else:
        tokenizer = byte_level_tokenizer(folder)
    make = gpt2 if request.param == "gpt2" else llama
    make(folder, vocabulary=len(tokenizer))
    return CanaryModel.load(ModelSettings(path=str(folder)))


def plain(model: CanaryModel, texts: list[str]) -> list[float]:
    rows = [Text([model.start], tokens) for tokens in model.encode(texts)]
    return [-float(one.log_probs.sum()) / math.log(2) for one in Scorer(model._model).score(rows)]


@pytest.mark.parametrize("form", [PHRASE, ACCOUNT], ids=lambda form: form.name)
@pytest.mark.parametrize("rows", [3, 512])
def test_every_filling_has_the_score_of_a_plain_pass(model: CanaryModel, form: Format, rows: int) -> None:
    model.rows = rows
    some = np.random.default_rng(0).permutation(form.size)[:60]
    texts = [form.text(int(filling)) for filling in some]
    found = model.log_perplexities(model.encode(texts))
    assert found == pytest.approx(plain(model, texts), rel=1e-4)
    assert score_all(model, form)[some] == pytest.approx(found, rel=1e-5)


def test_one_text_and_texts_that_begin_another(model: CanaryModel) -> None:
    texts = ["the market", "the market opens", "a", "the market opens"]
    found = model.log_perplexities(model.encode(texts))
    assert found == pytest.approx(plain(model, texts), rel=1e-4)
    assert model.log_perplexities(model.encode(texts[:1])) == pytest.approx(found[:1], rel=1e-5)


@pytest.mark.parametrize("form", [PHRASE, ACCOUNT], ids=lambda form: form.name)
def test_a_search_gives_the_lowest_in_their_order(model: CanaryModel, form: Format) -> None:
    scores = score_all(model, form)
    order = np.argsort(scores)[:12]
    texts = [form.text(int(filling)) for filling in order]
    found = search(model, form, shared_tokens(model, form), texts[:10], 20_000)
    assert [one.text for one in found.found[:10]] == texts[:10]
    assert [one.log_perplexity for one in found.found[:10]] == pytest.approx(scores[order[:10]], rel=1e-4)
    assert found.bound > found.found[9].log_perplexity


def test_a_search_ends_at_its_limit_and_says_what_it_knows(model: CanaryModel) -> None:
    scores = score_all(model, ACCOUNT)
    last = ACCOUNT.text(int(np.argmax(scores)))
    found = search(model, ACCOUNT, shared_tokens(model, ACCOUNT), [last], 30)
    assert found.evaluations == 30
    assert [one.log_perplexity for one in found.found] == pytest.approx(
        np.sort(scores)[: len(found.found)], rel=1e-4
    )
    assert last not in {one.text for one in found.found}


def test_the_ranks_of_a_search_are_those_of_an_enumeration(model: CanaryModel) -> None:
    scores = score_all(model, ACCOUNT)
    order = np.argsort(scores)
    canaries = [Canary(f"c{n}", "account", int(order[n]), 1) for n in (0, 1, 5, 700)]
    every = measure(model, ACCOUNT, canaries, Limits())
    sixth = search(model, ACCOUNT, shared_tokens(model, ACCOUNT), [ACCOUNT.text(int(order[5]))], 20_000)
    some = measure(model, ACCOUNT, canaries, Limits(enumerated=0, evaluations=sixth.evaluations))
    assert [one.exposure.rank for one in every.canaries] == [1, 1, 4, 698]  # other canaries are left out
    assert every.canaries[0].exposure.exposure == pytest.approx(math.log2(997))
    assert [one.extracted for one in every.canaries] == [True, True, False, False]
    assert [one.method for one in some.canaries] == ["search", "search", "search", "extrapolation"]
    for exact_one, found in zip(every.canaries[:3], some.canaries[:3], strict=True):
        assert found.exposure.exposure == pytest.approx(exact_one.exposure.exposure)
        assert found.extracted == exact_one.extracted
    deep = some.canaries[3].exposure
    assert deep.low <= every.canaries[3].exposure.exposure + 0.5 and deep.high < 2
    assert some.fit is not None and every.fit is None
    assert (some.space, every.space) == (997, 997)


def test_an_extrapolated_exposure_stays_below_what_the_search_leaves(model: CanaryModel) -> None:
    scores = score_all(model, ACCOUNT)
    lowest = Canary("c", "account", int(np.argmin(scores)), 1)
    found = measure(model, ACCOUNT, [lowest], Limits(enumerated=0, evaluations=1)).canaries[0]
    assert found.method == "extrapolation"
    assert found.exposure.high <= math.log2(1000)


def test_what_is_no_number_is_an_error(model: CanaryModel) -> None:
    import torch

    weight = next(model._model.parameters())
    before = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(float("nan"))
    try:
        with pytest.raises(ValueError, match="no finite number"):
            measure(model, ACCOUNT, [Canary("c", "account", 1, 1)], Limits())
    finally:
        with torch.no_grad():
            weight.copy_(before)


def test_a_canary_that_is_too_long_is_refused(model: CanaryModel) -> None:
    with pytest.raises(InputError, match="longer than the 128 tokens"):
        model.encode(["interest " * 200])


def test_spellings_of_symbols_that_begin_alike() -> None:
    form = parse_format("f", "x {words:2}", ("in", "inn", "n"))
    table = [b"", b"x", b" ", b"i", b"n", b"in", b"nn", b" in", b"x i", b"q", b"n n"]
    spelling = Spelling(form, TokenBytes(table), len(table))
    assert {token for token, _ in spelling.next_tokens(spelling.start)} == {1, 8}
    assert spelling.after([9]) == frozenset()
    whole = spelling.after([1, 7, 7])  # "x in in" is a filling, and the beginning of "x in inn"
    assert spelling.is_whole(whole)
    assert {token for token, _ in spelling.next_tokens(whole)} == {4}
    assert not spelling.is_whole(spelling.after([1, 7]))
    assert spelling.is_whole(spelling.after([1, 7, 10]))  # "x inn n", cut in the middle of a word


def test_a_rank_by_enumeration_is_that_of_its_definition(model: CanaryModel) -> None:
    scores = score_all(model, ACCOUNT)
    canaries = [Canary(f"c{n}", "account", n, 1) for n in (3, 400, 999)]
    found = measure(model, ACCOUNT, canaries, Limits())
    others = np.delete(scores, [3, 400, 999])
    expected = exact(["c3", "c400", "c999"], scores[[3, 400, 999]], others)
    assert [one.exposure.rank for one in found.canaries] == [one.rank for one in expected]
