"""Long strings that make a careless pattern slow: beginnings that match over and over, and random ones."""

import random
from collections.abc import Iterator

# The beginnings and middles of what the recognisers look for, each repeated without its end.
UNITS = {
    "digits": "1",
    "spaced digits": "1 ",
    "dashed digits": "12-",
    "dotted digits": "1.",
    "colons": "a:",
    "letters": "A",
    "mail names": "a.",
    "mail hosts": "@a.",
    "mails": "a@a.",
    "signs": "(",
    "sentence ends": "!",
    "capitals and digits": "A1",
    "plus": "+1",
    "brackets": "(1)",
    "streets": "1 A ",
    "places": "1 A Street, A",
    "keys": "eyJ",
    "slack": "xoxb-",
    "key beginnings": "-----BEGIN ",
    "hexadecimal": "0f",
    "labelled keys": "secret key aB3/",
    "long keys": "sk-a-",
    "money": "$1 ",
    "iban": "GB82",
    "iban blanks": "GB82 A ",
    "dates": "born 1/",
    "months": "born 1 may ",
    "labels": "account ",
    "labels and digits": "phone 1234567 ",
    "cards": "card 4111 ",
    "nul": "\0",
    "surrogates": "\ud800",
    "marks": "e\u0301",
    "emoji": "\U0001f469\u200d\U0001f4bb",
    "arabic": "\u0661",
    "newlines": "\n",
    "blanks": " ",
    "blocked": "order account 12345678 ",
    "particles": "Dear Ann van de ",
    "titles": "Mr. Dr. ",
    "greetings": "Hello Mr A",
    "headers": "name;card\n",
    "rows": "a,b,c\n",
    "quotation marks": 'a,"b,c\n',
    "bars": "| a ",
    "sign-offs": "regards,\nAnn ",
}
_PIECES = (
    *"0123456789aAzZ.,-+/()@:;_= '\"|#&%\n\t",
    *("born ", "card ", "account ", "NHS ", "ssn ", "tel ", "Name: ", "Dear ", "Mr ", "van ", "of "),
    *("GB82", "DE89", "eyJ", "AKIA", "ghp_", "xoxb-", "sk-", "-----BEGIN ", "PRIVATE KEY", "::", "192.0.2."),
    *(
        "4111 ",
        "12/",
        "May ",
        "1st ",
        " Street",
        "EX1 2AB",
        ", ",
        "\u0661",
        "\uff11",
        "\u00e9",
        "\u200d",
        "\0",
    ),
)


def random_units(seed: int) -> Iterator[str]:
    """Draw units without end: one to four pieces each."""
    draw = random.Random(seed)
    while True:
        yield "".join(draw.choices(_PIECES, k=draw.randint(1, 4)))


def repeated(unit: str, length: int) -> str:
    """Repeat a unit to a text of `length` characters."""
    return (unit * (length // len(unit) + 1))[:length]
