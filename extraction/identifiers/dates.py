"""Dates as people write them, read into YYYY-MM-DD."""

import datetime
import re

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PARTS = re.compile(r"[0-9]+|[a-z]+")
# A birth date stored as a moment has its time at midnight.
_MIDNIGHT = re.compile(r"(?<=[0-9])t00.*")
# Two-digit years turn here and not at today's date: the same text must give the same value next year.
_PIVOT = 30
_FIRST_YEAR, _LAST_YEAR = 1880, 2039


def iso_date(text: str, day_first: bool) -> str | None:
    """Read a date.

    Args:
        text: `17 April 1961`, `April 17th, 1961`, `17/04/1961`, `17-Apr-61`, `1961-04-17`, `19610417`, ...
        day_first: how `04/05/1961` is read; where only the other order is possible, that one is taken.

    Returns:
        The date as YYYY-MM-DD, or None where it is none or no one alive can be tied to its year.
    """
    parts = [
        part
        for part in _PARTS.findall(_MIDNIGHT.sub("", text.lower()))
        if part not in ("st", "nd", "rd", "th", "of")
    ]
    if len(parts) == 1 and len(parts[0]) == 8:
        return _packed(parts[0])
    if len(parts) != 3:
        return None
    month = next((index for index, part in enumerate(parts) if part[0].isalpha()), None)
    if month is not None:
        rest = [part for index, part in enumerate(parts) if index != month]
        number = _MONTHS.index(parts[month][:3]) + 1 if parts[month][:3] in _MONTHS else 0
        return _day(rest[1], number, rest[0]) if len(rest[0]) < 4 else _day(rest[0], number, rest[1])
    if len(parts[0]) == 4:
        return _day(parts[0], int(parts[1]), parts[2])
    first, second = (parts[0], parts[1]) if day_first else (parts[1], parts[0])
    return _day(parts[2], int(second), first) or _day(parts[2], int(first), second)


def _packed(text: str) -> str | None:
    return _day(text[:4], int(text[4:6]), text[6:]) or _day(text[4:], int(text[2:4]), text[:2])


def _day(year: str, month: int, day: str) -> str | None:
    if not (year.isdigit() and day.isdigit()) or len(year) not in (2, 4):
        return None
    full = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < _PIVOT else 1900)
    if not _FIRST_YEAR <= full <= _LAST_YEAR:
        return None
    try:
        return datetime.date(full, month, int(day)).isoformat()
    except ValueError:
        return None
