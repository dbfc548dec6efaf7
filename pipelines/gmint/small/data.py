"""Makes text classification data: three databases of one language that does not exist, with topics and wrong labels.

A text's words are drawn from three lists: common ones by Zipf's law, the database's own, and its topic's. What a model
knows of a text's label beyond its topic it has learnt by heart. Nothing here is about anybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOPICS = 4
WRONG_LABELS = 0.15
COMMON, OWN, OF_TOPIC = 8000, 2000, 200  # words of each list
SHARE_OWN, SHARE_TOPIC = 0.25, 0.2
SPREAD = 0.4  # of the logarithm of a text's length
SHORTEST, LONGEST = 6, 60
LENGTHS: Mapping[str, int] = {"news": 24, "reviews": 30, "posts": 12}
"""The databases, and the median number of words of their texts."""

ONSETS = ("b", "br", "d", "dr", "f", "g", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")
SYLLABLES = tuple(onset + vowel for onset in ONSETS for vowel in VOWELS)
SPECIAL = ("<pad>", "<cls>", "<sep>")
CLS, SEP = 1, 2


@dataclass(frozen=True)
class Text:
    """One text.

    Attributes:
        words: its words, numbers in the vocabulary.
        label: its topic, or a wrong one.
    """

    words: tuple[int, ...]
    label: int


def vocabulary() -> list[str]:
    """Every word of the language; a word's number is its place. The first are no words."""
    count = COMMON + len(LENGTHS) * (OWN + TOPICS * OF_TOPIC)
    rng = np.random.default_rng(0)
    found: dict[str, None] = dict.fromkeys(SPECIAL)
    while len(found) < count + len(SPECIAL):
        found["".join(rng.choice(SYLLABLES, rng.integers(2, 5)))] = None
    return list(found)


def make_texts(database: str, count: int, seed: int) -> list[Text]:
    """Draw texts of one database.

    Args:
        database: one of `LENGTHS`.
        count: how many.
        seed: of this draw; others are independent of it.
    """
    rng = np.random.default_rng([seed, list(LENGTHS).index(database)])
    return [_text(database, rng) for _ in range(count)]


def in_words(texts: Sequence[Text]) -> list[str]:
    """The texts as people would read them."""
    known = vocabulary()
    return [" ".join(known[word] for word in text.words) for text in texts]


def _text(database: str, rng: np.random.Generator) -> Text:
    topic = int(rng.integers(TOPICS))
    length = int(np.clip(LENGTHS[database] * np.exp(SPREAD * rng.normal()), SHORTEST, LONGEST))
    first = len(SPECIAL) + COMMON + list(LENGTHS).index(database) * (OWN + TOPICS * OF_TOPIC)
    kind = rng.random(length)
    words = len(SPECIAL) + rng.choice(COMMON, length, p=_ZIPF)
    words = np.where(kind < SHARE_OWN, first + rng.integers(OWN, size=length), words)
    of_topic = first + OWN + topic * OF_TOPIC + rng.integers(OF_TOPIC, size=length)
    words = np.where(kind > 1 - SHARE_TOPIC, of_topic, words)
    wrong = rng.random() < WRONG_LABELS
    label = (topic + int(rng.integers(1, TOPICS))) % TOPICS if wrong else topic
    return Text(tuple(words.tolist()), label)


def _zipf(count: int) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = 1 / np.arange(10.0, count + 10)
    return weights / float(weights.sum())


_ZIPF = _zipf(COMMON)
