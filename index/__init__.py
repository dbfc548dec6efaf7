"""The training corpus: reading it, the n-gram index, exact matching, strings. Knows nothing of models."""

from index.build import BuildOptions, add_to_index, build_index
from index.corpus import Counts, Index, IndexInfo, Range, Shard, open_index
from index.errors import SourceError

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
