"""The index that a run is matched against: opened where it exists, built where it does not."""

from pathlib import Path
from typing import TYPE_CHECKING

from extraction.errors import InputError
from pipelines.config import Corpus

if TYPE_CHECKING:
    from index import Index


def ensure_index(corpus: Corpus, default: Path, min_bytes: int, skip_bad_records: bool) -> "Index":
    """Open the index of a corpus, or build it first.

    Args:
        corpus: the section of the configuration.
        default: where the index is built if the configuration names no place.
        min_bytes: the shortest match that the run asks for.
        skip_bad_records: count records that cannot be read instead of refusing the corpus.

    Raises:
        InputError: the index was built for longer matches, or of other sources than the configuration names.
        SourceError: the corpus or the index cannot be read.
    """
    from index import open_index

    path = corpus.index or default
    if not (path / "index.json").exists():
        _build(corpus, path, min_bytes, skip_bad_records)
    index = open_index(path)
    if index.info.min_bytes > min_bytes:
        raise InputError(
            f"{path}: built for matches of {index.info.min_bytes} bytes, the run asks for {min_bytes}; "
            "build an index with --min-bytes or raise `min_bytes`"
        )
    if corpus.sources and list(corpus.sources) != list(index.info.sources):
        raise InputError(
            f"{path}: built from other sources than `corpus.sources` names; leave `sources` out to use it as it is, "
            "or name another `corpus.index`"
        )
    if corpus.sources:
        _refuse_changed(corpus, path, skip_bad_records)
    return index


def _refuse_changed(corpus: Corpus, path: Path, skip_bad_records: bool) -> None:
    """Refuse an index that is older than a file of its sources: it would be searched in place of what stands there."""
    from index.pieces import ReadOptions
    from index.sources import list_pieces

    built = (path / "index.json").stat().st_mtime_ns
    reading = ReadOptions(corpus.text_column, corpus.id_column, skip_bad_records)
    for piece in list_pieces(corpus.sources, reading):
        if Path(piece.path).stat().st_mtime_ns > built:
            raise InputError(
                f"{piece.path}: changed since the index {path} was built; build it anew, or leave "
                "`corpus.sources` out to use it as it is"
            )


def _build(corpus: Corpus, path: Path, min_bytes: int, skip_bad_records: bool) -> None:
    from index import BuildOptions
    from pipelines.index_build import build, with_workers

    if not corpus.sources:
        raise InputError(f"corpus.index: {path}: no such index, and no `corpus.sources` to build it from")
    options = BuildOptions(
        min_bytes=min_bytes,
        text_column=corpus.text_column,
        id_column=corpus.id_column,
        skip_bad_records=skip_bad_records,
    )
    build(corpus.sources, path, with_workers(options, None))
