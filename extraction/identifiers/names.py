"""What the named-entity model takes for a name, cleaned or refused; and what stands in a column of names."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from extraction.identifiers.folding import lower
from extraction.identifiers.matching import Candidate
from extraction.identifiers.normalise import TITLES, Locale, name
from extraction.identifiers.tables import Tables
from extraction.identifiers.words import FIRMS, FORM_LABELS, PARTICLES

_TYPES = {"PERSON": "PERSON", "ORG": "ORGANISATION", "GPE": "PLACE", "LOC": "PLACE"}
_EDGE = " \t\r\n.,;:!?'\"()[]{}<>*_/\\|-\u2013\u2014\u2018\u2019\u201c\u201d"
_WORD = r"[^\W\d_][^\W\d_]*(?:['\u2019.-][^\W\d_]+)*\.?"
# Words of letters alone, on one line or across one line break: the model takes tables and code for names.
_NAME = re.compile(rf"{_WORD}(?:[^\S\n]{{1,3}}(?:\n[^\S\n]{{0,8}})?{_WORD}|\n[^\S\n]{{0,8}}{_WORD}){{0,5}}")
_POSSESSIVE = re.compile(r"['\u2019]s$")
# The model takes a greeting or a role into the name that follows, and firms for people.
_FORERUNNERS = re.compile(
    r"(?:(?:dear|hello|hi|hey|thanks|regards|cheers|sincerely|patient|pt|customer|client|agent|caller|name)[ ,:]{1,2})+"
)
_FIRMS = frozenset(
    "bank ltd limited inc plc llc llp gmbh ag hospital clinic university council department".split()
)
_PARTICLE_AT_END = re.compile(rf"(?: (?:{'|'.join(PARTICLES)}))+$")
_GOES_ON = re.compile(rf"(?: (?:{'|'.join(PARTICLES)})){{1,3}} [^\W\d_a-z][\w'-]{{1,30}}")
_NAME_HEADER = re.compile(
    r"(?:(?:full|patient|customer|client|employee|agent|caller|contact|(?:card|account)? ?holder)[ _]?)?name"
    r"|patient|customer|client|employee|agent|caller|(?:(?:card|account)[ _]?)?holder"
)
_QUOTES = " \t\r\"'"
# Names lose every tie against a number whose format is known.
_RANK = 1_000


def names_in(entities: Iterable[Any], types: frozenset[str], locale: Locale) -> list[Candidate]:
    """Turn a document's entities into candidates.

    Args:
        entities: spaCy spans with character offsets.
        types: the types that are asked for.
        locale: passed on to the normaliser.
    """
    found = []
    for entity in entities:
        type_ = _TYPES.get(entity.label_)
        if type_ in types:
            candidate = _candidate(str(type_), _whole(entity), entity.start_char, locale)
            if candidate is not None:
                found.append(candidate)
    return found


def _whole(entity: Any) -> str:
    """The entity's text, and what follows it to the end of `Esmee van den Velden`, which the model may cut."""
    text = _PARTICLE_AT_END.sub("", entity.text)
    rest = _GOES_ON.match(entity.doc.text, entity.start_char + len(text))
    return text + rest.group() if rest and entity.label_ == "PERSON" else str(entity.text)


def names_in_columns(text: str, locale: Locale) -> Iterator[Candidate]:
    """Find full names under a header that says so: the model reads sentences, not tables.

    Args:
        text: the folded text.
        locale: passed on to the normaliser.
    """
    for cell in Tables(text).cells():
        header = text[slice(*cell.header)]
        start, end = cell.span
        kept = text[start:end].strip(_QUOTES)
        if _NAME_HEADER.fullmatch(lower(header.strip(_QUOTES))) and kept[:1].isupper() and " " in kept:
            named = _candidate("PERSON", kept, text.index(kept, start, end), locale)
            if named is not None and " " in named.value:
                yield replace(named, context=lower(header.strip(_QUOTES)), recogniser="name-column")


def _candidate(type_: str, text: str, start: int, locale: Locale) -> Candidate | None:
    kept = text.lstrip(_EDGE)
    start += len(text) - len(kept)
    kept = _POSSESSIVE.sub("", kept.rstrip(_EDGE))
    first_line, line_break, rest = kept.partition("\n")
    if line_break and first_line.strip(_EDGE).lower() in FORM_LABELS:
        start, kept = start + len(first_line) + 1, rest
    # A whole name at the end of a line does not go on in the next one, where the next label stands.
    elif line_break and " " in first_line.strip():
        kept = first_line.rstrip(_EDGE)
    title = ""
    if type_ == "PERSON":
        if match := _FORERUNNERS.match(lower(kept)):
            start, kept = start + match.end(), kept[match.end() :]
        if match := TITLES.match(lower(kept)):
            title, start, kept = match.group().strip(), start + match.end(), kept[match.end() :]
    if len(kept) < 2 or len(kept) > 120 or not _NAME.fullmatch(kept):
        return None
    value = name(kept, locale)
    if value is None or value in FORM_LABELS or (type_ == "PERSON" and value.split()[-1] in FIRMS):
        return None
    return Candidate(type_, value, start, start + len(kept), False, title, "spacy", len(title), _RANK)
