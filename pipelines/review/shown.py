"""Hostile text made inert for people: nothing in it steers a page, a terminal, or the direction of reading.

Markup is the template's to escape, which it always does. This shows what cannot be seen otherwise.
"""

import unicodedata

from pipelines.progress import inert

_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """Show control characters, overrides of direction, NUL and lone surrogates as escapes; lines and blanks stay."""
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or unicodedata.category(c) == "Zs" else inert(c) for c in text)


def cut(text: str, most: int) -> str:
    """The first `most` characters; how many were left out is said in their place."""
    return text if len(text) <= most else f"{text[:most]} {left_out(len(text) - most)}"


def left_out(count: int) -> str:
    """What stands in the place of so many characters."""
    return f"[{count:,} characters left out]"
