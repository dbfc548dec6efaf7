"""The ways in which a normalised value may be written, as far as letters and digits go.

Blanks, dashes and case need no spelling of their own: the scan does not see them.
"""

import datetime
from collections.abc import Callable, Iterator

_MONTHS = "january february march april may june july august september october november december".split()
_MOST_SHARP_S = 2


def spellings(type_: str, normalise: str, value: str) -> set[str]:
    """List the spellings of a value.

    Args:
        type_: the identifier's type.
        normalise: the key of its normaliser in `normalise.NORMALISERS`.
        value: the normalised value.
    """
    maker = _MAKERS.get(normalise)
    return {spelling for spelling in maker(value) if spelling} if maker else {value}


def phone_parts(value: str) -> tuple[str, str]:
    """Split an E.164 number into its country code and its national number."""
    import phonenumbers

    number = phonenumbers.parse(value)
    return str(number.country_code), str(phonenumbers.national_significant_number(number))


def _phone(value: str) -> Iterator[str]:
    import phonenumbers

    country, national = phone_parts(value)
    region = phonenumbers.region_code_for_country_code(int(country))
    prefix = phonenumbers.ndd_prefix_for_region(region, True) or ""
    yield country + national
    yield from (dialled + country + national for dialled in ("00", "011"))
    yield country + "0" + national  # +44 (0)20 ...
    yield prefix + national
    # Where a prefix is dialled, a number is never written without it, save behind its country code; one that no plan
    # knows keeps its own zero.
    if prefix != "0" or national.startswith("0"):
        yield national


def _date(value: str) -> Iterator[str]:
    try:
        date = datetime.date.fromisoformat(value)
    except ValueError:
        yield value
        return
    day, padded_day, month = str(date.day), f"{date.day:02}", f"{date.month:02}"
    year, short = f"{date.year:04}", f"{date.year % 100:02}"
    yield year + month + padded_day
    yield year + month + padded_day + "t00"
    for d in {day, padded_day}:
        for m in {str(date.month), month}:
            yield year + m + d
            yield from (first + then + y for first, then in ((d, m), (m, d)) for y in (year, short))
        full = _MONTHS[date.month - 1]
        for m in {full, full[:3], full[:4] if full == "september" else full}:
            for ordinal in (d, *(d + ending for ending in ("st", "nd", "rd", "th"))):
                yield from (ordinal + of + m + y for of in ("", "of") for y in (year, short))
                yield m + ordinal + year


def _ip(value: str) -> Iterator[str]:
    import ipaddress

    address = ipaddress.ip_address(value)
    yield value
    yield address.exploded
    if address.version == 6:
        groups = [group.lstrip("0") or "0" for group in address.exploded.split(":")]
        yield ":".join(groups)
        yield ":".join(group for group in groups if group != "0")


def _name(value: str) -> Iterator[str]:
    yield value
    # Case-folding writes the sharp s as two letters; the corpus may have it as one.
    if 0 < value.count("ss") <= _MOST_SHARP_S:
        yield value.replace("ss", "\u00df")
        yield value.replace("ss", "\u00df", 1)
        yield "\u00df".join(value.rsplit("ss", 1))


_MAKERS: dict[str, Callable[[str], Iterator[str]]] = {
    "phone": _phone,
    "date": _date,
    "ip": _ip,
    "name": _name,
    "email": _name,
    "address": _name,
}
