"""The training corpus: reading it, the n-gram index, exact matching, strings. Knows nothing of models.

Nothing heavy is imported until it is used: every command reads this package for its errors.
"""

from typing import TYPE_CHECKING, Any

from index.errors import SourceError

if TYPE_CHECKING:
    from index.build import BuildOptions, add_to_index, build_index
    from index.corpus import Counts, Index, IndexInfo, Range, Shard, open_index

__all__ = [
    "BuildOptions",
    "Counts",
    "Index",
    "IndexInfo",
    "Range",
    "Shard",
    "SourceError",
    "add_to_index",
    "build_index",
    "open_index",
]

_BUILDING = {"BuildOptions", "add_to_index", "build_index"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("index.build" if name in _BUILDING else "index.corpus"), name)
