"""The built-in recognisers, as data: what candidates look like, what vouches for them, which words help.

Patterns are matched on folded text (`folding.fold`). Each repeats a bounded number of times, so that its
cost is linear in the text whatever the text is. A checksum alone is weak evidence: of random digits of
the right number 9 % pass as an NHS number, 10 % pass Luhn's check, 89 % look like a US social security
number. Those count only beside a context word.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from extraction.identifiers.dates import MONTH
from extraction.identifiers.key_formats import LABELLED_KEY, PUBLISHED_KEYS
from extraction.identifiers.settings import IdentifierSettings
from extraction.identifiers.words import (
    A_VERSION,
    ACCOUNT_WORDS,
    ADDRESS_WORDS,
    BIRTH_WORDS,
    CARD_WORDS,
    FIRMS,
    FORM_LABELS,
    IP_WORDS,
    NAMED_THINGS,
    NHS_WORDS,
    NOT_A_BIRTH,
    NOT_A_NAME,
    NOT_A_PHONE,
    NOT_AN_ACCOUNT,
    NOT_AN_SSN,
    PARTICLES,
    PHONE_WORDS,
    SECRET_WORDS,
    SORT_WORDS,
    SSN_WORDS,
)

ContextRule = Literal["always", "unless_valid", "never"]


@dataclass(frozen=True)
class Recogniser:
    """One rule.

    Attributes:
        name: unique; kept with each finding.
        type: what it finds.
        pattern: the value's form, without its surroundings.
        lead: what must stand right in front of the value.
        one_for_a_word: whether a context word in front speaks for the first value behind it alone.
        normalise: a key of `normalise.NORMALISERS`.
        validator: a name for `validators.validator_named`.
        context: words of which one must stand nearby; whether it must, `context_rule` says.
        context_rule: `always`; `unless_valid`: only a value that is not vouched for needs one; `never`.
        blockers: words that void the context where they stand nearer to the value than it does, and void
            a value that needs none.
        bounds: `number`: neither a word, a decimal nor a further `-` group goes on at its ends; `word`:
            no word does; `none`.
        trigger: a character that the text must hold, `0` for any digit; empty for none. For speed alone.
        may_end_early: whether the last groups of digits may belong to something else and are given up
            where that helps.
        ignore_case: whether letters match in both cases.
        linear: matched by RE2 because the pattern is a user's.
    """

    name: str
    type: str
    pattern: str
    normalise: str
    validator: str
    context: tuple[str, ...] = ()
    context_rule: ContextRule = "always"
    blockers: tuple[str, ...] = ()
    bounds: Literal["number", "word", "none"] = "number"
    trigger: str = "0"
    may_end_early: bool = False
    ignore_case: bool = True
    linear: bool = False
    lead: str = ""
    one_for_a_word: bool = False


# A dot parts groups of digits; in front of a single digit it is a decimal point.
_GAP = r"(?:[ /-]|\.(?=[0-9]{2}))?"
_LOCAL = r"[\w.!#$%'*+^`{|}~-]"
_HOST = r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:xn--[\w-]{1,58}[^\W_]|[^\W\d_]{2,63})(?!\w)"
_UK_POSTCODE = r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}"
_PLACE_WORD = rf"(?!{_UK_POSTCODE}|[A-Z]{{2}}\s{{1,3}}[0-9])[A-Z][\w'.-]{{1,30}}"
_STREET = (
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Close|Court|Ct|Crescent|Cres|Place|Pl|Square|Sq|Terrace|Way|Gardens"
    r"|Grove|Hill|Boulevard|Blvd|Parkway|Pkwy|Circle|Highway|Hwy|Row|Mews|Walk|Green|Park)\b\.?"
)
# The model misses names in forms, tables and code; there a label says what they are.
_NO_THING = "".join(rf"(?<!{thing}[ _-]name)(?<!{thing}name)" for thing in NAMED_THINGS)
_NAME_LABEL = (
    rf"(?i:(?:(?:[a-z]{{1,12}}[ _-]?)?name{_NO_THING}"
    r"|patient|customer|client|agent|caller|card ?holder|account ?holder"
    r"|employee|contact)[\"']?\s{0,2}[:=]\s{0,2}[\"']?|dear[ ])"
)
# A title and the end of a letter also stand in front of a single name.
_TITLE = r"(?i:\b(?:mr|mrs|ms|miss|mx|dr|prof)\.?[ ])"
_SIGN_OFF = r"(?i:\b(?:sincerely|faithfully|truly|regards|wishes|cheers|thanks)[,.!]?\s?\n)"
_LINE_ENDS = r"(?=[ ,.]{0,3}(?:\n|\Z))"
_NO_LABEL = rf"(?!(?i:{'|'.join(map(re.escape, (*FORM_LABELS, *FIRMS)))})(?!['\w]))"
_NOT_SPEECH = rf"(?!(?i:{'|'.join(NOT_A_NAME)})(?!['\w]))"
_NAME_WORD = rf"{_NO_LABEL}[^\W\d_a-z][\w'-]{{1,30}}"
_MORE_NAME = rf"(?:(?: (?:{'|'.join(PARTICLES)})){{0,3}} (?:[A-Z]\.|{_NAME_WORD}))"
_NO_FIRM = rf"(?! (?i:{'|'.join(FIRMS)})\b)"
_TAIL = r"[0-9A-Za-z_-]"
_GROUPS_OF_FOUR = r"[2-68][0-9]{3}(?P<a>[ .-])[0-9]{4}(?:(?P=a)[0-9]{4}){2}"


_BUILT_IN = (
    Recogniser(
        "email",
        "EMAIL",
        rf"\w{_LOCAL}{{0,63}}@{_HOST}",
        "email",
        "fixed_format",
        context_rule="never",
        bounds="none",
        trigger="@",
    ),
    # A number set in a card's groups speaks for itself; sixteen digits in a row do not. Three more digits may be
    # the card's own or its security code: those are two rules, so that one does not hide the other.
    *(
        Recogniser(name, "CREDIT_CARD", form, "digits", "card", CARD_WORDS, context_rule="unless_valid")
        for name, form in (
            (
                "card-grouped",
                rf"(?:{_GROUPS_OF_FOUR}"
                r"|3[0-9]{3}(?P<b>[ .-])[0-9]{6}(?P=b)[0-9]{4,5}"
                r"|3[0-9]{3}(?P<c>[ .-])[0-9]{4}(?P=c)[0-9]{4}(?P=c)[0-9]{2,4}"
                r"|[56][0-9]{3}(?P<d>[ .-])[0-9]{4}(?P=d)[0-9]{5})",
            ),
            ("card-grouped-long", rf"{_GROUPS_OF_FOUR}(?P=a)[0-9]{{3}}"),
        )
    ),
    Recogniser(
        "card-plain", "CREDIT_CARD", r"[2-68][0-9]{11,18}", "digits", "card", CARD_WORDS, blockers=NOT_AN_SSN
    ),
    Recogniser(
        "phone-international",
        "PHONE",
        rf"\+[0-9](?:{_GAP}\(?[0-9]\)?){{6,16}}",
        "phone",
        "phone",
        context=PHONE_WORDS,
        context_rule="unless_valid",
        may_end_early=True,
        trigger="+",
    ),
    Recogniser(
        "phone-area-code",
        "PHONE",
        rf"\([0-9]{{2,5}}\) ?[0-9](?:{_GAP}[0-9]){{5,8}}",
        "phone",
        "phone",
        context=PHONE_WORDS,
        context_rule="unless_valid",
        may_end_early=True,
        trigger="(",
    ),
    Recogniser(
        "phone-national",
        "PHONE",
        rf"\(?[0-9](?:\)?{_GAP}\(?[0-9]){{6,16}}",
        "phone",
        "phone",
        context=PHONE_WORDS,
        blockers=NOT_A_PHONE,
        may_end_early=True,
    ),
    Recogniser(
        "nhs-number",
        "NHS_NUMBER",
        r"[0-9]{3}(?P<a>[ -]?)[0-9]{3}(?P=a)[0-9]{4}",
        "digits",
        "gb.nhs",
        context=NHS_WORDS,
        blockers=NOT_AN_SSN,
    ),
    Recogniser(
        "us-ssn",
        "US_SSN",
        r"[0-9]{3}(?P<a>[ -]?)[0-9]{2}(?P=a)[0-9]{4}",
        "digits",
        "us.ssn",
        context=SSN_WORDS,
        blockers=NOT_AN_SSN,
    ),
    Recogniser(
        "sort-code",
        "SORT_CODE",
        r"[0-9]{2}(?P<a>[ -]?)[0-9]{2}(?P=a)[0-9]{2}",
        "digits",
        "plausible",
        context=SORT_WORDS,
        blockers=NOT_AN_SSN,
    ),
    Recogniser(
        "account-number",
        "ACCOUNT_NUMBER",
        r"(?:[0-9]{4}(?P<a>[ -])[0-9]{4}(?:(?P=a)[0-9]{4}){0,3}"
        r"|[0-9]{3}(?P<b>[ -])[0-9]{3}(?:(?P=b)[0-9]{3}){0,3}"
        r"|[0-9]{2}(?P<c>[ -])[0-9]{2}(?:(?P=c)[0-9]{2}){1,6}|[0-9]{2,9}(?:-[0-9]{2,9}){1,3}|[0-9]{6,17})",
        "account",
        "plausible",
        context=ACCOUNT_WORDS,
        blockers=NOT_AN_ACCOUNT,
    ),
    Recogniser(
        "date-of-birth",
        "DATE_OF_BIRTH",
        rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th)?[ ./-]{{0,2}}(?:of )?{MONTH}[ .,/-]{{0,2}}(?:[0-9]{{4}}|[0-9]{{2}})"
        rf"|{MONTH}[ .]{{0,2}}[0-9]{{1,2}}(?:st|nd|rd|th)?[ ,]{{1,2}}[0-9]{{4}}"
        r"|[0-9]{1,2}(?P<a>[ ./-])[0-9]{1,2}(?P=a)(?:[0-9]{4}|[0-9]{2})"
        r"|[0-9]{4}(?P<b>[ ./-])[0-9]{1,2}(?P=b)[0-9]{1,2}(?:T00:00(?::00(?:\.0{1,9})?)?Z?)?|[0-9]{8})",
        "date",
        "fixed_format",
        context=BIRTH_WORDS,
        blockers=NOT_A_BIRTH,
        one_for_a_word=True,
    ),
    Recogniser(
        "ipv4",
        "IP_ADDRESS",
        r"(?<![0-9]\.)(?<![A-Za-z_][/-])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.[0-9])(?!-[A-Za-z])",
        "ip",
        "fixed_format",
        context=IP_WORDS,
        context_rule="unless_valid",
        blockers=A_VERSION,
        bounds="word",
        trigger=".",
    ),
    Recogniser(
        "ipv6",
        "IP_ADDRESS",
        r"(?<![:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4})(?![:.]?\w|::)",
        "ip",
        "fixed_format",
        context=IP_WORDS,
        context_rule="unless_valid",
        bounds="word",
        trigger=":",
    ),
    Recogniser(
        "address",
        "POSTAL_ADDRESS",
        rf"(?!(?:19|20)[0-9]{{2}},)[0-9]{{1,5}}[A-Za-z]?,? (?:[A-Z][\w'.-]{{0,30}} ){{1,4}}{_STREET}"
        rf"(?:,\s?{_PLACE_WORD}(?: {_PLACE_WORD}){{0,2}}){{0,3}}"
        rf"(?:,?\s(?:{_UK_POSTCODE}|[A-Z]{{2}}\s{{1,3}}[0-9]{{5}}(?:-[0-9]{{4}})?))?",
        "address",
        "plausible",
        context=ADDRESS_WORDS,
        context_rule="never",
        bounds="word",
        ignore_case=False,
    ),
    *(
        Recogniser(
            name,
            "PERSON",
            rf"{_NOT_SPEECH}{_NAME_WORD}{_MORE_NAME}{{{fewest},3}}{_NO_FIRM}{behind}",
            "name",
            "plausible",
            context_rule="never",
            bounds="word",
            trigger="",
            ignore_case=False,
            lead=lead,
        )
        for name, lead, fewest, behind in (
            ("name-labelled", _NAME_LABEL, 1, ""),
            ("name-titled", _TITLE, 0, ""),
            ("name-signed", _SIGN_OFF, 0, _LINE_ENDS),
        )
    ),
    Recogniser(
        "secret",
        "SECRET",
        "(?:" + "|".join(PUBLISHED_KEYS) + rf")(?!{_TAIL})",
        "text",
        "fixed_format",
        context_rule="never",
        bounds="word",
        trigger="",
        ignore_case=False,
    ),
    Recogniser(
        "secret-labelled",
        "SECRET",
        LABELLED_KEY,
        "text",
        "plausible",
        context=SECRET_WORDS,
        bounds="none",
        trigger="",
        ignore_case=False,
    ),
)


def _iban() -> Recogniser:
    """Build the IBAN pattern from python-stdnum's registry: each country's number has one length."""
    from stdnum import numdb

    countries: dict[int, list[str]] = defaultdict(list)
    for _, country, _, properties, _ in numdb.get("iban").prefixes:
        countries[sum(map(int, re.findall("[0-9]+", properties["bban"])))].append(country)
    forms = [
        rf"(?:{'|'.join(sorted(names))})(?:[ -]?[0-9]){{2}}(?:[ -]?[0-9A-Z]){{{length}}}"
        for length, names in sorted(countries.items())
    ]
    return Recogniser(
        "iban",
        "IBAN",
        f"(?=[A-Z]{{2}}[ -]?[0-9])(?:{'|'.join(forms)})",
        "upper",
        "iban",
        context_rule="never",
        bounds="number",
    )


def recognisers_for(settings: IdentifierSettings) -> Sequence[Recogniser]:
    """List the rules that `settings` asks for, in order of preference: the user's own formats first."""
    built_in = [rule for rule in (*_BUILT_IN[:2], _iban(), *_BUILT_IN[2:]) if rule.type in settings.types]
    own = [
        Recogniser(
            name=f"{rule.name}:{number}",
            type=rule.name,
            pattern=rule.pattern,
            normalise=rule.normalise,
            validator=rule.validator or "plausible",
            context=rule.context,
            context_rule="always" if rule.context else "never",
            bounds="word",
            trigger="",
            linear=True,
        )
        for number, rule in enumerate(settings.recognisers)
    ]
    return [*own, *built_in]
