"""What the named-entity model takes for a name, cleaned or refused."""

import re
from collections.abc import Iterable
from typing import Any

from extraction.identifiers.matching import Candidate
from extraction.identifiers.normalise import TITLES, Locale, name

_TYPES = {"PERSON": "PERSON", "ORG": "ORGANISATION", "GPE": "PLACE", "LOC": "PLACE"}
_EDGE = " \t\r\n.,;:!?'\"()[]{}<>*_/\\|-\u2013\u2014\u2018\u2019\u201c\u201d"
_WORD = r"[^\W\d_][^\W\d_]*(?:['\u2019.-][^\W\d_]+)*\.?"
# Words of letters alone, on one line or across one line break: the model takes tables and code for names.
_NAME = re.compile(rf"{_WORD}(?:[^\S\n]{{1,3}}(?:\n[^\S\n]{{0,8}})?{_WORD}|\n[^\S\n]{{0,8}}{_WORD}){{0,5}}")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_FORM_LABELS = frozenset(
    "tel telephone phone mobile email e-mail fax dob date name address iban account card patient customer agent nhs ssn"
    " dear hello hi thanks regards sir madam".split()
)
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
            candidate = _candidate(str(type_), entity.text, entity.start_char, locale)
            if candidate is not None:
                found.append(candidate)
    return found


def _candidate(type_: str, text: str, start: int, locale: Locale) -> Candidate | None:
    kept = text.lstrip(_EDGE)
    start += len(text) - len(kept)
    kept = _POSSESSIVE.sub("", kept.rstrip(_EDGE))
    first_line, line_break, rest = kept.partition("\n")
    if line_break and first_line.strip(_EDGE).lower() in _FORM_LABELS:
        start, kept = start + len(first_line) + 1, rest
    # A whole name at the end of a line does not go on in the next one, where the next label stands.
    elif line_break and " " in first_line.strip():
        kept = first_line.rstrip(_EDGE)
    title = ""
    if type_ == "PERSON" and (match := TITLES.match(kept.lower())):
        title, start, kept = match.group().strip(), start + match.end(), kept[match.end() :]
    if len(kept) < 2 or len(kept) > 120 or not _NAME.fullmatch(kept):
        return None
    value = name(kept, locale)
    if value is None or value in _FORM_LABELS:
        return None
    return Candidate(type_, value, start, start + len(kept), False, title, "spacy", len(title), _RANK)
