"""The one form in which values are compared, so that formatting never hides a match.

A normaliser takes the folded text of a candidate and gives its value, or None where it is no such thing.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from extraction.identifiers.dates import iso_date
from extraction.identifiers.folding import fold


@dataclass(frozen=True)
class Locale:
    """What reading a number depends on: countries whose national phone formats count, the order of dates."""

    regions: tuple[str, ...] = ("GB", "US")
    day_first: bool = True


Normaliser = Callable[[str, Locale], str | None]

TITLES = re.compile(
    r"(?:(?:mr|mrs|ms|miss|mx|dr|prof|professor|sir|lady|lord|dame|rev|herr|frau|m|mme|hon|capt|sgt)\.? )+"
)
_WHITE = re.compile(r"\s+")
_NOT_ALNUM = re.compile(r"[\W_]+")
_NOT_DIGIT = re.compile(r"[^0-9]+")
_DATE_SHAPED = re.compile(
    r"\(?(?:[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4}|[0-9]{3}-[0-9]{2}-[0-9]{4})(?![0-9])"
)
_DASHED_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}")
_NANP = re.compile(r"[2-9][0-9]{2}[2-9][0-9]{6}")


def digits(text: str, locale: Locale) -> str | None:
    """Keep the digits."""
    return _NOT_DIGIT.sub("", text) or None


def account(text: str, locale: Locale) -> str | None:
    """Keep the digits; None for a date, whose parts dashes part too."""
    is_date = _DASHED_DATE.fullmatch(text) and iso_date(text, locale.day_first)
    return None if is_date else digits(text, locale)


def upper(text: str, locale: Locale) -> str | None:
    """Keep letters and digits, in upper case."""
    return _NOT_ALNUM.sub("", text).upper() or None


def lower(text: str, locale: Locale) -> str | None:
    """Keep letters and digits, in lower case."""
    return _NOT_ALNUM.sub("", text).lower() or None


def verbatim(text: str, locale: Locale) -> str | None:
    """Keep the text as it is."""
    return text


def name(text: str, locale: Locale) -> str | None:
    """Case-fold a name, make white space single blanks, drop titles and a possessive ending."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", fold(text)).casefold())
    words = _WHITE.sub(" ", folded).strip(" .,;:'\"()[]<>*_-")
    words = words.removesuffix("'s")
    return TITLES.sub("", words, count=1) if TITLES.match(words) else words or None


def address(text: str, locale: Locale) -> str | None:
    """Case-fold an address and keep its words, apart by single blanks."""
    return _NOT_ALNUM.sub(" ", text.casefold()).strip() or None


def email(text: str, locale: Locale) -> str | None:
    """Case-fold an e-mail address."""
    return text.casefold()


def date(text: str, locale: Locale) -> str | None:
    """Write a date as YYYY-MM-DD; None where the calendar has no such day."""
    return iso_date(text, locale.day_first)


def ip(text: str, locale: Locale) -> str | None:
    """Write an IP address in its canonical form; None for what is none, or only looks like one in code."""
    try:
        value = ipaddress.ip_address(text)
    except ValueError:
        return None
    if value.version == 4:
        return str(value)
    groups = [group for group in text.split(":") if group]
    # `abc::def` is code, eight pairs of digits are a hardware address, and `::` stands for nobody.
    hardware = len(groups) == 8 and all(len(group) == 2 for group in groups)
    return None if hardware or not any(char.isdigit() for char in text) else str(value)


def phone(text: str, locale: Locale) -> str | None:
    """Write a phone number in E.164; None where no plan allows its length, or it is a date or such."""
    import phonenumbers

    if _DATE_SHAPED.match(text):
        return None
    best: str | None = None
    for region in locale.regions:
        try:
            number = phonenumbers.parse(text, region)
        except phonenumbers.NumberParseException:
            continue
        if not _written_in_full(text, number, region):
            continue
        value = str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
        if phonenumbers.is_valid_number(number):
            return value
        best = best or value
    return best


def _written_in_full(text: str, number: Any, region: str) -> bool:
    """Whether the length is possible and a national format has the prefix that its country dials."""
    import phonenumbers

    if phonenumbers.is_possible_number_with_reason(number) != phonenumbers.ValidationResult.IS_POSSIBLE:
        return False
    national = phonenumbers.national_significant_number(number)
    if number.country_code == 1 and not _NANP.fullmatch(national):
        return False
    if text.lstrip("(").startswith(("+", "00")):
        return True
    prefix = phonenumbers.ndd_prefix_for_region(region, True)
    return prefix != "0" or _NOT_DIGIT.sub("", text).startswith("0")


NORMALISERS: dict[str, Normaliser] = {
    "digits": digits,
    "account": account,
    "upper": upper,
    "lower": lower,
    "text": verbatim,
    "name": name,
    "address": address,
    "email": email,
    "date": date,
    "ip": ip,
    "phone": phone,
}
