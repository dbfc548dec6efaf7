"""Sentences with one identifier masked: what an attacker of the reconstruction and inference games is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extraction.identifiers.records import SINGLE_NAME, Finding, group_of

CONTEXT = 300  # characters on either side that a sentence has at most


@dataclass(frozen=True)
class Masked:
    """A sentence with its identifier masked.

    Attributes:
        type: the identifier's.
        value: its normalised form.
        text: as it stands in the sentence.
        left: the sentence in front of it.
        right: the sentence behind it.
    """

    type: str
    value: str
    text: str
    left: str
    right: str


def masked_sentences(text: str, findings: Sequence[Finding]) -> Iterator[Masked]:
    """Mask each identifier of a text in the line that it stands in.

    Single names are left out, as in every count of identifiers, and so are those that stand in the rest of the
    sentence once more, which gives them away.

    Args:
        text: the text.
        findings: what the tagger found in it.
    """
    for one in findings:
        low, high = _line(text, one)
        others = (
            other for other in findings if other is not one and low <= other.start and other.end <= high
        )
        given_away = any((other.type, other.value) == (one.type, one.value) for other in others)
        if group_of(one.type, one.value) != SINGLE_NAME and not given_away:
            yield Masked(one.type, one.value, one.text, text[low : one.start], text[one.end : high])


def _line(text: str, one: Finding) -> tuple[int, int]:
    """Where the identifier's line begins and ends, no more than `CONTEXT` away."""
    begin, end = text.rfind("\n", 0, one.start) + 1, text.find("\n", one.end)
    high = one.end + CONTEXT
    return max(begin, one.start - CONTEXT), min(len(text) if end < 0 else end, high)


def candidate_in(text: str, start: int, wanted: str, findings: Sequence[Finding]) -> Finding | None:
    """The identifier of the wanted type that a model wrote where the masked one stood.

    Args:
        text: the sentence in front of the mask, gone on with by a model.
        start: where the mask was.
        wanted: the identifier's type.
        findings: what the tagger found in it.

    Returns:
        The finding that begins there, white space aside; None where there is none.
    """
    first = start + len(text[start:]) - len(text[start:].lstrip())
    return next((one for one in findings if one.start in (start, first) and one.type == wanted), None)
