"""No text costs more than its length: each hostile text is measured against itself in sixteen pieces.

What grows with the square of the length takes sixteen times as long in one piece; what is linear, as long.
"""

import time
from itertools import islice

import pytest

from extraction.identifiers import IdentifierSettings
from extraction.identifiers.folding import fold
from extraction.identifiers.lookup import CorpusLookup
from extraction.identifiers.matching import Matcher, resolve
from extraction.identifiers.names import names_in_columns
from extraction.identifiers.normalise import Locale
from extraction.identifiers.pieces import name_runs
from extraction.identifiers.recognisers import recognisers_for
from extraction.identifiers.settings import UserRecogniser
from tests.extraction.identifiers.hostile import UNITS, random_units, repeated

PIECES, LENGTH, ROUNDS = 16, 16_000, 3
MOST, NOISE_SECONDS = 5.0, 0.004


@pytest.fixture(scope="module")
def matcher():
    return Matcher(recognisers_for(IdentifierSettings()), Locale())


def growth(work, text):
    """How many times as long the whole text takes as its pieces, the quickest of some rounds each."""
    size = len(text) // PIECES
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    whole = min(seconds(work, [text]) for _ in range(ROUNDS))
    parts = min(seconds(work, pieces) for _ in range(ROUNDS))
    return (whole + NOISE_SECONDS) / (parts + NOISE_SECONDS)


def seconds(work, texts):
    started = time.process_time()
    for text in texts:
        work(text)
    return time.process_time() - started


def tag(matcher):
    def work(text):
        folded = fold(text)
        found = resolve([*matcher.candidates(folded), *names_in_columns(folded, Locale())])
        name_runs(text, ((one.start, one.end) for one in found))

    return work


def test_growth_that_is_not_linear_is_seen():
    def quadratic(text):
        for start in range(0, len(text), 20):
            text[start:].count("ab")

    assert growth(quadratic, "ba" * (LENGTH // 2) * 4) > MOST


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_beginnings_without_an_end(matcher, unit):
    assert growth(tag(matcher), repeated(unit, LENGTH)) < MOST


@pytest.mark.parametrize("seed", range(8))
def test_random_repetitions(matcher, seed):
    for unit in islice(random_units(seed), 8):
        assert growth(tag(matcher), repeated(unit, LENGTH)) < MOST, unit


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "a.*b|a", "a*a*a*a*b", "(?:a{0,100}){0,10}b"])
def test_no_pattern_of_a_user(pattern):
    rules = (UserRecogniser(name="X", pattern=pattern),)
    own = Matcher(recognisers_for(IdentifierSettings(types=("EMAIL",), recognisers=rules)), Locale())
    # Their work is done in pieces of 4,096 characters: longer texts show whether the pieces are linear.
    assert growth(tag(own), "a" * PIECES * 1_500) < MOST


@pytest.mark.parametrize("unit", ["1 ", "1", "a\n", "\0", "\u00e9", "(", "a a ", "1111 1111 "])
def test_no_document_that_is_searched(unit):
    values = [("ACCOUNT_NUMBER", "1" * 8), ("PERSON", "a a"), ("PHONE", "+442079460958")]
    lookup = CorpusLookup(values)
    lookup.scan([(["warm"], b"a"), (["up"], "\u00e9".encode())])
    assert growth(lambda text: lookup.scan([(["a"], text.encode())]), repeated(unit, 200_000)) < MOST
