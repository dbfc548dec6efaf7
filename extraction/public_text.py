"""Prompts from public text: a few tokens from a uniformly drawn place, whole words only.

The text is tokenised once; a prompt is then a slice of it, so ten million of them are drawn in seconds.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.families import PromptFamilies
from extraction.token_bytes import TokenBytes

_PIECE = 1 << 16
_BATCH = 256


@dataclass(frozen=True)
class PublicTokens:
    """Public text as tokens.

    Attributes:
        ids: int32, all pieces of text one after another.
        edges: int64, positions at which a prompt may start or end (a word starts there, or a piece of
            text ends).
        pieces: int64, positions at which pieces of text start, and the end of the last.
    """

    ids: NDArray[np.int32]
    edges: NDArray[np.int64]
    pieces: NDArray[np.int64]

    def starts(self, fewest: int, most: int) -> NDArray[np.int64]:
        """Find where a prompt of `fewest` to `most` tokens of whole words can start.

        Returns:
            Positions of `ids`, int64, possibly none.
        """
        starts = self.edges[:-1]
        ends = self.edges[np.searchsorted(self.edges, starts + fewest).clip(max=len(self.edges) - 1)]
        piece_ends = self.pieces[
            np.searchsorted(self.pieces, starts, side="right").clip(max=len(self.pieces) - 1)
        ]
        length = ends - starts
        possible: NDArray[np.int64] = starts[(length >= fewest) & (length <= most) & (ends <= piece_ends)]
        return possible

    def ends(self, starts: NDArray[np.int64], wanted: NDArray[np.int64], fewest: int) -> NDArray[np.int64]:
        """End each prompt at a word: the last edge within the wanted length, else the first past `fewest`."""
        piece_ends = self.pieces[np.searchsorted(self.pieces, starts, side="right")]
        limit = np.minimum(starts + wanted, piece_ends)
        last = self.edges[np.searchsorted(self.edges, limit, side="right") - 1]
        first = self.edges[np.searchsorted(self.edges, starts + fewest).clip(max=len(self.edges) - 1)]
        ends: NDArray[np.int64] = np.where(last - starts >= fewest, last, first)
        return ends


def read_public_text(settings: PromptFamilies) -> list[str]:
    """Read the public text, up to `public_bytes` of it.

    Returns:
        Pieces of at most about 64,000 characters, in the order of the files.

    Raises:
        InputError: a file is missing, no text, or has no such column; or there is no text at all.
    """
    pieces: list[str] = []
    size = 0
    for file in _files(settings.public_text):
        for text in _texts(file, settings.public_column):
            for piece in _pieces(text):
                size += len(piece.encode())
                if size > settings.public_bytes:
                    return _some(pieces, "within prompts.public_bytes", settings)
                pieces.append(piece)
    return _some(pieces, "in there", settings)


def _some(pieces: list[str], where: str, settings: PromptFamilies) -> list[str]:
    if not pieces:
        raise InputError(f"prompts.public_text: {', '.join(settings.public_text)}: no text {where}")
    return pieces


def text_hash(pieces: Iterable[str]) -> str:
    """Hash the text that prompts are drawn from, SHA-256 in hex."""
    digest = hashlib.sha256()
    for piece in pieces:
        data = piece.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def tokenise(pieces: Sequence[str], tokenizer: Any) -> PublicTokens:
    """Tokenise public text and find the places where its words start."""
    encoder = tokenizer.backend_tokenizer
    encoded: list[NDArray[np.int32]] = []
    for start in range(0, len(pieces), _BATCH):
        batch = encoder.encode_batch(list(pieces[start : start + _BATCH]), add_special_tokens=False)
        encoded += [np.array(e.ids, np.int32) for e in batch]
    ids = np.concatenate([*encoded, np.zeros(0, np.int32)])
    bounds = np.concatenate(([0], np.cumsum([len(e) for e in encoded]))).astype(np.int64)
    return PublicTokens(ids, _edges(ids, bounds, TokenBytes.from_tokenizer(tokenizer)), np.unique(bounds))


def _edges(ids: NDArray[np.int32], bounds: NDArray[np.int64], token_bytes: TokenBytes) -> NDArray[np.int64]:
    """A word starts where a blank stands at the front of a token, or at the end of the one before it."""
    blank_first, blank_last, has_text = _blanks(token_bytes, int(ids.max(initial=0)) + 1)
    at_edge = np.zeros(len(ids) + 1, np.bool_)
    at_edge[:-1] = blank_first[ids]
    at_edge[1:] |= blank_last[ids]
    at_edge[:-1] &= has_text[ids]
    at_edge[bounds] = True
    return np.flatnonzero(at_edge)


def _blanks(
    token_bytes: TokenBytes, size: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    table = token_bytes.bytes_of(range(size))
    first = np.array([data[:1].isspace() for data in table])
    last = np.array([data[-1:].isspace() for data in table])
    text = np.array([bool(data.strip()) for data in table])
    return first, last, text


def _files(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name).expanduser()
        if not path.exists():
            raise InputError(f"prompts.public_text: {name}: no such file or folder")
        yield from sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _texts(file: Path, column: str) -> Iterator[str]:
    if file.suffix == ".parquet":
        yield from _parquet_texts(file, column)
        return
    if file.suffix in (".jsonl", ".ndjson"):  # its braces and keys would become prompts
        raise InputError(
            f"prompts.public_text: {file}: JSON lines are not read as text; make a text file or Parquet of them, or "
            "leave it out"
        )
    try:
        yield file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"prompts.public_text: {file}: not readable as UTF-8 text; leave it out") from error


def _parquet_texts(file: Path, column: str) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(file)
        names = table.schema_arrow.names
        if column not in names:
            raise InputError(
                f"prompts.public_column: {file}: no column {column}; there are {', '.join(names)}"
            )
        for batch in table.iter_batches(columns=[column]):
            yield from (str(text) for text in batch.column(0).to_pylist() if text)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"prompts.public_text: {file}: not readable as Parquet; replace it") from error


def _pieces(text: str) -> Iterator[str]:
    """Cut long texts at line ends, and longer lines at blanks: encoders slow down on huge strings."""
    start = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            cuts = (text.rfind(blank, start, end) + 1 for blank in "\n ")
            end = next((cut for cut in cuts if cut > start), end)
        yield text[start:end]
        start = end
