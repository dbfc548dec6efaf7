"""How numbers are written: pages and the checks of pages use these, so that they cannot drift apart."""

import math
from collections.abc import Sequence

from pipelines.report.records import CurvePoint, Estimate, Rate

SINGLE_NAME = "PERSON_SINGLE"  # a first name or surname by itself, which says little
_IDENTIFIERS = {
    "PERSON": "full name",
    SINGLE_NAME: "single name",
    "EMAIL": "email address",
    "PHONE": "phone number",
    "CREDIT_CARD": "card number",
    "ACCOUNT_NUMBER": "account number",
    "SORT_CODE": "sort code",
    "NHS_NUMBER": "NHS number",
    "US_SSN": "US social security number",
    "DATE_OF_BIRTH": "date of birth",
    "IP_ADDRESS": "IP address",
    "POSTAL_ADDRESS": "postal address",
    "SECRET": "password or key",
    "ORGANISATION": "organisation",
    "PLACE": "place",
}
_SCORES = {
    "perplexity": "probability alone",
    "reference": "beside the reference model",
    "lowercase": "beside lower case",
    "zlib": "beside compression",
}
NARROW = "\u202f"  # a narrow space that does not break, before a unit
DASH = "\u2013"


def count(value: int) -> str:
    """Write a whole number: `1,234`."""
    return f"{value:,}"


def decimal(value: float) -> str:
    """Write a number that need not be whole: whole from 100 on, else with one decimal."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.1f}"


def percent(share: float) -> str:
    """Write a share (1.0 is all) in per cent with three figures: `1.23 %`, `0.000420 %`; wholes as `50 %`."""
    return f"{_hundredths(share)}{NARROW}%"


def points(difference: float, unit: bool = True) -> str:
    """Write a difference of shares in percentage points, with its sign: `+1.23 points`."""
    sign = "+" if difference > 0 else "\u2212" if difference < 0 else ""
    return f"{sign}{_hundredths(abs(difference))}{' points' if unit else ''}"


def signed(value: float) -> str:
    """Write a difference with its sign: `+3`, a true minus sign, `0`."""
    sign = "+" if value > 0 else "\u2212" if value < 0 else ""
    return f"{sign}{decimal(abs(value))}"


def _hundredths(share: float) -> str:
    value = share * 100
    if 0 < abs(value) < 1:
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"
    if 99.95 <= value < 100:
        return "more than 99.9"  # three figures would round it up to all
    if abs(value - round(value)) < 1e-9:
        return f"{value:.0f}"
    return f"{value:.{2 if abs(value) < 9.995 else 1}f}"


def times(ratio: float) -> str:
    """Write how many times as much something is: `1.6 times`."""
    return f"{decimal(ratio)} times"


def size(value: int) -> str:
    """Write a number of bytes in units of 1,000: `1.2 GB`."""
    amount = float(value)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f}{NARROW}{unit}" if unit == "bytes" else f"{amount:.1f}{NARROW}{unit}"
        amount /= 1000
    return f"{amount:,.1f}{NARROW}TB"


def duration(seconds: float) -> str:
    """Write a duration: `0.4 s`, `35 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f}{NARROW}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NARROW}s"
    if whole < 3600:
        return f"{whole // 60}{NARROW}min {whole % 60}{NARROW}s"
    return f"{whole // 3600}{NARROW}h {whole % 3600 // 60}{NARROW}min"


def listing(words: Sequence[str]) -> str:
    """Join words as a sentence does: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def noun(value: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 passage`, `12 passages`."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def interval(estimate: Estimate | CurvePoint | Rate, as_share: bool = False) -> str:
    """Write an estimate's interval, shares in per cent if asked: `3.1-4.0`, `at least 3.1`, or nothing."""
    write = _hundredths if as_share else decimal
    unit = f"{NARROW}%" if as_share else ""
    if estimate.low is not None and estimate.high is not None:
        return f"{write(estimate.low)}{DASH}{write(estimate.high)}{unit}"
    if estimate.high is not None:
        return f"at most {write(estimate.high)}{unit}"
    return f"at least {write(estimate.low)}{unit}" if estimate.low is not None else ""


def bin_label(first: int, last: int | None) -> str:
    """Name a bin of document counts: `1`, `3-5`, `more than 1,000`."""
    if last is None:
        return f"{count(first)} or more"
    return count(first) if first == last else f"{count(first)}{DASH}{count(last)}"


def setting(value: object) -> str:
    """Write a setting's value: `none`, `yes`, `no`, a number or the words as they are."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_visible(item) for item in value) or "none"
    return count(value) if isinstance(value, int) else str(value)


def _visible(item: object) -> str:
    """A stop string can be blanks and line ends alone; those are written as escapes."""
    text = str(item)
    return text if text.isprintable() and text.strip() else repr(text)


def label(name: str) -> str:
    """Turn a field's name into words: `account_number` becomes `account number`."""
    return name.replace("_", " ")


def identifier(kind: str) -> str:
    """Name a type of identifier for people; a user's own type is shown as it is named."""
    return _IDENTIFIERS.get(kind, label(kind))


def score(name: str) -> str:
    """Name a score of the ranking for people: `beside compression, best stretch`."""
    whole = name.removeprefix("window_")
    return f"{_SCORES.get(whole, label(whole))}{', best stretch' if whole != name else ''}"
