"""Runs recognisers over a text: candidates by pattern, then value, validity, context; one for each place."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from extraction.identifiers.context import ContextIndex, Vocabulary, Words
from extraction.identifiers.normalise import NORMALISERS, Locale, Normaliser
from extraction.identifiers.recognisers import Recogniser
from extraction.identifiers.validators import Validator, Verdict, validator_named

_DIGIT = re.compile("[0-9]")
_MONEY = r"[$\u00a3\u20ac\u00a5\u20b9]"
_BOUNDS = {
    # The value must not go on: not as a word, not as a decimal, not as a further group of a dashed number. It is no
    # sum of money.
    "number": (
        rf"(?<!\w)(?<![0-9][.-])(?<!\+)(?<!{_MONEY})(?<!{_MONEY} )",
        r"(?!(?!x[0-9]|ext)\w)(?![.-][0-9])",
    ),
    "word": (r"(?<!\w)", r"(?!\w)"),
    "none": (r"(?<![\w@])", r""),
}
# A user's pattern is matched in pieces: even one that rescans what it has read stays linear in the text.
_PIECE, _LONGEST = 4096, 256
_GROUPS_GIVEN_UP = 4


@dataclass(frozen=True)
class Candidate:
    """A finding before offsets in bytes are known; `distance` and `rank` break ties, smaller first."""

    type: str
    value: str
    start: int
    end: int
    validated: bool
    context: str
    recogniser: str
    distance: int
    rank: int


@dataclass(frozen=True)
class _Rule:
    recogniser: Recogniser
    pattern: Any
    normalise: Normaliser
    validate: Validator
    words: Words
    rank: int


class Matcher:
    """Compiled recognisers."""

    def __init__(self, recognisers: Sequence[Recogniser], locale: Locale) -> None:
        """Compile.

        Args:
            recognisers: in order of preference.
            locale: how national phone numbers and dates are read.
        """
        self._locale = locale
        self._vocabulary = Vocabulary(
            word for rule in recognisers for word in (*rule.context, *rule.blockers)
        )
        self._rules = [self._compile(rule, rank) for rank, rule in enumerate(recognisers)]

    def _compile(self, recogniser: Recogniser, rank: int) -> _Rule:
        words = self._vocabulary.words_of(recogniser.context, recogniser.blockers)
        normalise = NORMALISERS[recogniser.normalise]
        validate = validator_named(recogniser.validator)
        return _Rule(recogniser, _pattern(recogniser), normalise, validate, words, rank)

    def candidates(self, folded: str) -> list[Candidate]:
        """Find all candidates in a folded text; they may overlap."""
        reader = _Reader(folded, self._vocabulary)
        has_digit = _DIGIT.search(folded) is not None
        found: list[Candidate] = []
        for rule in self._rules:
            trigger = rule.recogniser.trigger
            if has_digit if trigger == "0" else trigger in folded:
                judged = (one for place in _places(rule, folded) for one in self._judge(rule, reader, *place))
                found.extend(_first_behind_each_word(judged) if rule.recogniser.one_for_a_word else judged)
        return found

    def _judge(self, rule: _Rule, reader: "_Reader", start: int, end: int) -> Iterator[Candidate]:
        recogniser = rule.recogniser
        if recogniser.context_rule == "always" and not reader.context.nearest(rule.words, start, end)[0]:
            return  # before the value is read: reading it is the dear part
        read = self._value(rule, reader.text, start, end)
        if read is None:
            return
        value, verdict, end = read
        valid = verdict is Verdict.VALID
        word, distance = reader.context.nearest(rule.words, start, end)
        if word or not (_needs_context(recogniser, valid) or reader.context.blocked(rule.words, start, end)):
            yield Candidate(
                recogniser.type, value, start, end, valid, word, recogniser.name, distance, rule.rank
            )

    def _value(self, rule: _Rule, text: str, start: int, end: int) -> tuple[str, Verdict, int] | None:
        """Read a candidate's value; where its last groups may be another number's, try without them too."""
        possible: tuple[str, Verdict, int] | None = None
        for stop in _ends(rule.recogniser, text, start, end):
            value = rule.normalise(text[start:stop], self._locale)
            verdict = rule.validate(value) if value is not None else Verdict.INVALID
            if value is not None and verdict is Verdict.VALID:
                return value, verdict, stop
            if value is not None and verdict is Verdict.POSSIBLE and possible is None:
                possible = value, verdict, stop
        return possible


def _first_behind_each_word(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Pass over what stands behind the value that a word has labelled already; candidates ascend."""
    labelled: dict[int, int] = {}
    for one in candidates:
        word_end = one.start - one.distance
        if one.start < labelled.setdefault(word_end, one.end):
            yield one


class _Reader:
    """A folded text and, once a candidate asks, the context words in it."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self._vocabulary = vocabulary
        self._context: ContextIndex | None = None

    @property
    def context(self) -> ContextIndex:
        if self._context is None:
            self._context = self._vocabulary.read(self.text)
        return self._context


def _needs_context(recogniser: Recogniser, valid: bool) -> bool:
    return recogniser.context_rule == "always" or (recogniser.context_rule == "unless_valid" and not valid)


def _pattern(recogniser: Recogniser) -> Any:
    if recogniser.linear:
        import re2

        from extraction.identifiers.settings import quiet_options

        return re2.compile(recogniser.pattern, quiet_options())
    left, right = _BOUNDS[recogniser.bounds]
    flags = re.IGNORECASE if recogniser.ignore_case else 0
    # The look-ahead lets candidates overlap: a year in front of a card must not swallow its first groups.
    return re.compile(f"{left}{recogniser.lead}(?=(?P<value>{recogniser.pattern}){right})", flags)


def _places(rule: _Rule, text: str) -> Iterable[tuple[int, int]]:
    if rule.recogniser.linear:
        return _places_of_own(rule.pattern, text)
    return (match.span("value") for match in rule.pattern.finditer(text))


def _places_of_own(pattern: Any, text: str) -> Iterator[tuple[int, int]]:
    """Match a user's pattern on whole words, piece by piece; no match is longer than their overlap."""
    for low in range(0, len(text), _PIECE):
        piece = text[low : low + _PIECE + _LONGEST]
        for match in pattern.finditer(piece):
            start, end = low + match.start(), low + match.end()
            if match.start() < _PIECE and end - start <= _LONGEST and _is_whole(text, start, end):
                yield start, end


def _is_whole(text: str, start: int, end: int) -> bool:
    before = start > 0 and _wordy(text[start - 1]) and _wordy(text[start])
    after = end < len(text) and _wordy(text[end - 1]) and _wordy(text[end])
    return not before and not after


def _wordy(char: str) -> bool:
    return char.isalnum() or char == "_"


def _ends(recogniser: Recogniser, text: str, start: int, end: int) -> Iterator[int]:
    yield end
    for _ in range(_GROUPS_GIVEN_UP if recogniser.may_end_early else 0):
        end = max(text.rfind(" ", start, end), text.rfind("-", start, end), text.rfind(".", start, end))
        if end <= start:
            return
        yield end


def resolve(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep one of several that overlap: validated first, then longest, then nearest to its context word."""
    order = sorted(
        candidates,
        key=lambda one: (not one.validated, one.start - one.end, one.distance, one.rank, one.start),
    )
    taken = bytearray(max((one.end for one in order), default=0))
    kept = []
    for one in order:
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)
