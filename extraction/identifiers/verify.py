"""Whether a hit of the scan is the value itself, whole, in some formatting."""

import re
from collections.abc import Callable

from extraction.identifiers.folding import fold
from extraction.identifiers.normalise import NORMALISERS, Locale
from extraction.identifiers.spellings import phone_parts

Verify = Callable[[str, str, str], bool]
"""(text of the hit, a few characters in front, a few behind) -> whether it is the value."""

AROUND = 24

_GROUPED = re.compile(r"[0-9]+|[0-9]{2,}(?:([ .-])[0-9]{2,}(?:\1[0-9]{2,})*)")
_PHONE = re.compile(r"[0-9]+(?:[ ./()-]{1,3}[0-9]+)*")
_GOES_ON_LEFT = re.compile(r"[0-9][.-]$|\+$")
_PHONE_GOES_ON_LEFT = re.compile(r"[0-9][.-]$")
_GOES_ON_RIGHT = re.compile(r"[.-][0-9]")
_GROUP_LEFT = re.compile(r"(?<![0-9])(?<![0-9]-)([0-9]+)[ ]$")
_GROUP_RIGHT = re.compile(r"[ ]([0-9]+)(?![0-9]|-[0-9])")
_CODE = re.compile(r"\w+(?:[ ./-]?\w+)*")
_NAME_GOES_ON_LEFT = re.compile(r"\w['\u2019-]$")
_NAME_GOES_ON_RIGHT = re.compile(r"['\u2019-](?!s(?!\w))\w")
# As the tagger reads them: quotation marks and the like around an address are no part of it.
_MAIL_LEFT = re.compile(r"(?:\w[\w.!#$%'*+^`{|}~-]*|@)$")
_MAIL_RIGHT = re.compile(r"\w|@|\.\w|-[\w-]*\.\w")
_IP_ENDS = {
    4: (re.compile(r"[0-9]\.$"), re.compile(r"\.[0-9]")),
    6: (re.compile(r"[0-9A-Fa-f:.]$"), re.compile(r":[0-9A-Fa-f]|::|\.[0-9]")),
}

# A checksum vouches for these: groups of digits next to them are other numbers.
_CHECKED = frozenset({"CREDIT_CARD", "NHS_NUMBER"})


def verifier(type_: str, normalise: str, value: str, locale: Locale) -> Verify:
    """Make the judge of one value.

    Args:
        type_: the identifier's type.
        normalise: the key of its normaliser.
        value: the normalised value.
        locale: how dates are read.
    """
    if normalise == "phone":
        return _phone(*phone_parts(value))
    if normalise == "digits":
        return _digits(value, type_ in _CHECKED)
    if normalise == "text":
        return _verbatim(value)
    if normalise == "ip":
        return _ip(value, locale)
    return _normalised(normalise, value, locale)


def _digits(value: str, checked: bool) -> Verify:
    def verify(text: str, left: str, right: str) -> bool:
        text, left, right = fold(text), fold(left), fold(right)
        match = _GROUPED.fullmatch(text)
        if match is None or _GOES_ON_LEFT.search(left) or _GOES_ON_RIGHT.match(right):
            return False
        return checked or " " not in text or not _in_longer_row(text.split(" "), left, right)

    return verify


def _in_longer_row(groups: list[str], left: str, right: str) -> bool:
    """Whether `1234 5678` is part of `1234 5678 9012 3456`: groups as long as its own go on."""
    before, after = _GROUP_LEFT.search(left), _GROUP_RIGHT.match(right)
    goes_on_before = before is not None and len(before[1]) == len(groups[0])
    return goes_on_before or (after is not None and len(after[1]) == len(groups[-1]))


_FURTHER_DIGITS = re.compile(r"[ .-]?[0-9]")


def _phone(country: str, national: str) -> Verify:
    def verify(text: str, left: str, right: str) -> bool:
        text, left, right = fold(text), fold(left), fold(right)
        if _PHONE.fullmatch(text) is None or _GOES_ON_RIGHT.match(right) or _PHONE_GOES_ON_LEFT.search(left):
            return False
        if national.startswith("0") and _FURTHER_DIGITS.match(right):
            return (
                False  # cut short: no plan knows it, and here it is the beginning of a number that one does
            )
        digits = re.sub("[^0-9]", "", text)
        return not left.endswith("+") or digits in (country + national, country + "0" + national)

    return verify


def _verbatim(value: str) -> Verify:
    """Case counts; what is no letter or digit at the value's ends is looked for around the hit."""
    inner = value.strip("".join({char for char in value if not (char.isalnum() or char == "_")}))
    lead = value.index(inner)
    head, tail = value[:lead], value[lead + len(inner) :]

    def verify(text: str, left: str, right: str) -> bool:
        return text == inner and left.endswith(head) and right.startswith(tail)

    return verify


def _ip(value: str, locale: Locale) -> Verify:
    left_end, right_end = _IP_ENDS[6 if ":" in value else 4]

    def verify(text: str, left: str, right: str) -> bool:
        for head in ("", "::"):
            for tail in ("", "::"):
                whole = left.endswith(head) and right.startswith(tail)
                if whole and NORMALISERS["ip"](head + text + tail, locale) == value:
                    before, behind = left[: len(left) - len(head)], right[len(tail) :]
                    return not left_end.search(before) and not right_end.match(behind)
        return False

    return verify


def _normalised(normalise: str, value: str, locale: Locale) -> Verify:
    left_end, right_end = _ENDS.get(normalise, (_GOES_ON_LEFT, _GOES_ON_RIGHT))
    form = NORMALISERS[normalise]
    wanted = _undotted(value) if normalise == "name" else value

    def verify(text: str, left: str, right: str) -> bool:
        folded = fold(text)
        if normalise in ("upper", "lower") and _CODE.fullmatch(folded) is None:
            return False
        found = form(folded, locale)
        if found is None or (_undotted(found) if normalise == "name" else found) != wanted:
            return False
        return not left_end.search(fold(left)) and not right_end.match(fold(right))

    return verify


def _undotted(name: str) -> str:
    """`J. Smith` and `J Smith` are one name."""
    return name.replace(".", "")


_NEVER = re.compile(r"(?!)")
_ENDS = {
    "name": (_NAME_GOES_ON_LEFT, _NAME_GOES_ON_RIGHT),
    "address": (_NEVER, _NEVER),
    "email": (_MAIL_LEFT, _MAIL_RIGHT),
    "date": (re.compile(r"[0-9][./-]$"), re.compile(r"[./-][0-9]")),
}
