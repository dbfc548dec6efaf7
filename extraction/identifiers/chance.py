"""The chance level: random values of the same format, looked up beside the real ones.

How many of them stand in the corpus says how many of the real ones would stand there anyway.
"""

import datetime
import random
import re
import string
from collections.abc import Callable, Sequence

Value = tuple[str, str]

_TRIES = 100
_UPPER, _LOWER = string.ascii_uppercase, string.ascii_lowercase


def random_values(values: Sequence[Value], seed: int) -> list[Value]:
    """Make a random value of the same format for each value.

    Digits are drawn anew, and letters where there are none; check digits fit; country codes, hosts, streets and the
    letters of a user's own formats stay. Full names take the first part of one name and the last of another, so
    that they are as common as the run's own; a single name has its letters shuffled, which makes it rarer than a
    name is: its level is a lower bound.

    Args:
        values: (type, normalised value).
        seed: the same seed and values give the same result.

    Returns:
        As many values, none among `values` unless its format has no others.
    """
    known = set(values)
    names = sorted(value for type_, value in known if type_ == "PERSON" and " " in value)
    return [_another(type_, value, names, known, seed) for type_, value in values]


def _another(type_: str, value: str, names: Sequence[str], known: set[Value], seed: int) -> Value:
    # Each value draws for itself, so that a run that grows keeps the random values that it had.
    draw = random.Random(f"{seed} {type_} {value}")  # noqa: S311 - no secret depends on it
    for _ in range(_TRIES):
        made = (type_, _make(type_, value, names, draw))
        if made not in known:
            return made
    return type_, _shuffled(value, draw) if type_ == "PERSON" else made[1]


def _make(type_: str, value: str, names: Sequence[str], draw: random.Random) -> str:
    if type_ == "PERSON" and " " in value:
        return f"{value.split()[0]} {draw.choice(names).split()[-1]}"
    return _MAKERS.get(type_, _renumbered)(value, draw)


def _renumbered(value: str, draw: random.Random) -> str:
    """Draw every digit anew; what has none, letter by letter."""
    if not any(map(str.isdigit, value)):
        return _redrawn(value, draw)
    return "".join(_like(char, draw) if char.isdigit() else char for char in value)


def _redrawn(value: str, draw: random.Random) -> str:
    """Draw every digit and letter anew."""
    return "".join(_like(char, draw) for char in value)


def _like(char: str, draw: random.Random) -> str:
    if char.isdigit():
        return draw.choice(string.digits)
    if char.isalpha():
        return draw.choice(_UPPER if char.isupper() else _LOWER)
    return char


def _shuffled(value: str, draw: random.Random) -> str:
    """Shuffle the letters of each word."""
    return " ".join("".join(draw.sample(word, len(word))) for word in value.split(" "))


def _card(value: str, draw: random.Random) -> str:
    from stdnum import luhn

    body = value[:6] + _redrawn(value[6:-1], draw)
    return body + luhn.calc_check_digit(body)


def _nhs(value: str, draw: random.Random) -> str:
    from stdnum.gb import nhs

    for _ in range(_TRIES):
        body = _redrawn(value[:9], draw)
        for check in string.digits:
            if nhs.is_valid(body + check):
                return body + check
    return value  # not reached: only every eleventh body has no check digit


def _iban(value: str, draw: random.Random) -> str:
    from stdnum import iban

    body = _redrawn(value[4:], draw)
    return value[:2] + iban.calc_check_digits(value[:2] + "00" + body) + body


def _phone(value: str, draw: random.Random) -> str:
    """Keep the country and the area, as far as the first third of the number holds them."""
    kept = 1 + (len(value) - 1) // 3
    return value[:kept] + _redrawn(value[kept:], draw)


def _date(value: str, draw: random.Random) -> str:
    """Draw a day within ten years."""
    day = datetime.date.fromisoformat(value) + datetime.timedelta(days=draw.randint(-3650, 3650))
    return day.isoformat()


def _email(value: str, draw: random.Random) -> str:
    local, _, host = value.rpartition("@")
    return f"{_redrawn(local, draw)}@{host}"


def _ip(value: str, draw: random.Random) -> str:
    import ipaddress

    if ":" in value:
        groups = ipaddress.IPv6Address(value).exploded.split(":")
        drawn = [f"{draw.randrange(1 << 16):04x}" if int(group, 16) else group for group in groups[4:]]
        return str(ipaddress.IPv6Address(":".join(groups[:4] + drawn)))
    head = value.split(".")[:2]
    return ".".join(head + [str(draw.randrange(256)) for _ in range(2)])


def _secret(value: str, draw: random.Random) -> str:
    """Keep what marks the key's kind: all that stands in front of the last run of ten or more letters and digits."""
    runs = list(re.finditer(r"[0-9A-Za-z]{10,}", value))
    start = runs[-1].start() + 4 if runs else 0
    return value[:start] + _redrawn(value[start:], draw)


_MAKERS: dict[str, Callable[[str, random.Random], str]] = {
    "PERSON": _shuffled,
    "ORGANISATION": _shuffled,
    "PLACE": _shuffled,
    "CREDIT_CARD": _card,
    "NHS_NUMBER": _nhs,
    "IBAN": _iban,
    "PHONE": _phone,
    "DATE_OF_BIRTH": _date,
    "EMAIL": _email,
    "IP_ADDRESS": _ip,
    "SECRET": _secret,
}
