"""Names and numbers in text: tagging them (`Tagger`), finding them in a corpus (`lookup.CorpusLookup`).

Nothing heavy is imported until it is used: this package is read by every config.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extraction.identifiers.records import Finding
    from extraction.identifiers.settings import IdentifierSettings
    from extraction.identifiers.tagger import Tagger

__all__ = ["Finding", "IdentifierSettings", "Tagger"]

_HOMES = {"Finding": "records", "IdentifierSettings": "settings", "Tagger": "tagger"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
