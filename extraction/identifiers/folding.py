"""Text folded character by character, so that an offset in the folded text is an offset in the text.

Digits of every script become ASCII digits, full-width forms their ASCII twins, blanks, dashes and apostrophes
one form each. Patterns are then written for `[0-9]`, a blank and `-`.
"""

import functools
import sys
import unicodedata

_APOSTROPHES = "\u2018\u2019\u02bc\u2032\uff07"
_OTHER_DASHES = (
    "\u2212\u00ad"  # the minus sign and the soft hyphen are dashes to a reader, though not of category Pd
)
_LONE_SURROGATES = range(0xD800, 0xE000)


@functools.cache
def _table() -> dict[int, str]:
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for code in range(0x80, min(sys.maxunicode, 0x1FFFF) + 1):
        char = chr(code)
        category = unicodedata.category(char)
        if category == "Nd":
            table[code] = str(unicodedata.decimal(char))
        elif category == "Zs":
            table[code] = " "
        elif category == "Pd" or char in _OTHER_DASHES:
            table[code] = "-"
    table |= {ord(char): "'" for char in _APOSTROPHES}
    # A lone surrogate has no UTF-8 form and would make every library that wants one raise.
    return table | {code: "\ufffd" for code in _LONE_SURROGATES}


def fold(text: str) -> str:
    """Fold `text`; the result has as many characters, each the fold of the one in its place."""
    return text if text.isascii() else text.translate(_table())


def encodable(text: str) -> str:
    """Return `text` with each lone surrogate replaced by U+FFFD, character for character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in text)
    return text


def lower(text: str) -> str:
    """Lower-case `text` character by character, leaving alone what would change its length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
