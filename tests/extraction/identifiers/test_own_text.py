"""What is tagged in a text is found when that same text is searched: tagger and look-up read it alike."""

from itertools import chain

import pytest

from extraction.identifiers import Tagger
from extraction.identifiers.lookup import CorpusLookup
from tests.benchmarks.identifier_text import samples
from tests.extraction.identifiers.test_cases import CASES, EXPECTED

WRAPPED = [
    "'{}'",
    '"{}"',
    "`{}`",
    "**{}**",
    "<{}>",
    "({})",
    "[{}]",
    "{{{}}}",
    "x={}; y",
    "{}, and so on",
    "{}.",
    "\u201c{}\u201d",
    "\u2014{}\u2014",
    "/{}/",
    "|{}|",
    "{}\n",
    "\t{}\t",
]
VALUES = ["j.alder@example.com", "Margaret Thornbury", "GB82 WEST 1234 5698 7654 32", "4111 1111 1111 1111"]
TEXTS = [*(case["text"] for case in CASES), *(text for text, _, _ in EXPECTED)]
GLUED = "phone 212-555-0147x12"  # an extension glued to a number makes one word of both, and whole words are looked for


@pytest.fixture(scope="session")
def tagger():
    return Tagger()


def lost(tagger, text):
    """What is tagged in a text and not found there."""
    (findings,) = tagger.tag([text])
    values = sorted({(one.type, one.value) for one in findings})
    counts = CorpusLookup(values).scan([(["a"], text.encode())])
    return [value for value, places in zip(values, counts.occurrences.tolist(), strict=True) if not places]


@pytest.mark.parametrize("text", [text for text in TEXTS if text != GLUED])
def test_every_case(tagger, text):
    assert lost(tagger, text) == []


def test_texts_of_every_kind(tagger):
    assert list(chain.from_iterable(lost(tagger, sample.text) for sample in samples(140, 4))) == []


@pytest.mark.parametrize("around", WRAPPED)
@pytest.mark.parametrize("value", VALUES)
def test_whatever_stands_around(tagger, value, around):
    assert lost(tagger, f"See {around.format(value)}") == []
