"""What vouches for a normalised value: a checksum, a numbering plan, a fixed format."""

import enum
import importlib
from collections.abc import Callable


class Verdict(enum.Enum):
    """`VALID`: vouched for. `POSSIBLE`: nothing speaks against it. `INVALID`: it is no such thing."""

    VALID = 2
    POSSIBLE = 1
    INVALID = 0


Validator = Callable[[str], Verdict]

# Issuers' ranges: (first, last) of as many leading digits, and the lengths that cards of it have. Source: the
# public parts of ISO/IEC 7812 registrations as the card brands document them.
_ISSUERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)),
    ("2221", "2720", (16,)),
    ("2200", "2204", (16, 17, 18, 19)),
    ("34", "34", (15,)),
    ("37", "37", (15,)),
    ("300", "305", (14, 16, 19)),
    ("309", "309", (14, 16, 19)),
    ("36", "36", (14, 16, 19)),
    ("38", "39", (14, 16, 19)),
    ("3528", "3589", (16, 17, 18, 19)),
    ("6011", "6011", (16, 17, 18, 19)),
    ("644", "659", (16, 17, 18, 19)),
    ("60", "60", (16,)),
    ("62", "62", (16, 17, 18, 19)),
    ("81", "82", (16, 17, 18, 19)),
    ("5018", "5018", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("5020", "5020", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("5038", "5038", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("56", "58", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("63", "63", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("67", "67", (12, 13, 14, 15, 16, 17, 18, 19)),
    ("50", "50", (16, 19)),
)


def fixed_format(value: str) -> Verdict:
    """Accept: the pattern and the normaliser have already said all there is to say."""
    return Verdict.VALID


def plausible(value: str) -> Verdict:
    """Call it possible, no more: any digits of the right number would do."""
    return Verdict.POSSIBLE


def card(value: str) -> Verdict:
    """Accept a card number: an issuer's range, a length that it uses, and Luhn's check digit."""
    from stdnum import luhn

    known = any(low <= value[: len(low)] <= high and len(value) in lengths for low, high, lengths in _ISSUERS)
    return Verdict.VALID if known and luhn.is_valid(value) else Verdict.INVALID


def iban(value: str) -> Verdict:
    """Accept an IBAN of a known country and length with the right check digits (ISO 13616, mod 97)."""
    from stdnum import iban as stdnum_iban

    # Countries' own inner checks are left out: banks print numbers that python-stdnum's versions refuse.
    return Verdict.VALID if stdnum_iban.is_valid(value, check_country=False) else Verdict.INVALID


def phone(value: str) -> Verdict:
    """Accept an E.164 number that its country's plan knows; what is only possible is `POSSIBLE`."""
    import phonenumbers

    return Verdict.VALID if phonenumbers.is_valid_number(phonenumbers.parse(value)) else Verdict.POSSIBLE


def stdnum_validator(module: str) -> Validator:
    """Make a validator of a module of python-stdnum, e.g. `gb.nhs`."""
    is_valid = importlib.import_module(f"stdnum.{module}").is_valid
    return lambda value: Verdict.VALID if is_valid(value) else Verdict.INVALID


_OWN: dict[str, Validator] = {
    "fixed_format": fixed_format,
    "plausible": plausible,
    "card": card,
    "iban": iban,
    "phone": phone,
}


def validator_named(name: str) -> Validator:
    """Find one of ours, or else python-stdnum's."""
    return _OWN.get(name) or stdnum_validator(name)
