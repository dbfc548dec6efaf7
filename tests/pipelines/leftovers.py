"""Searches a run directory for texts: raw bytes of every file, every column decoded, token ids detokenised."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from extraction.token_bytes import TokenBytes


def leftovers(run: Path, texts: list[str], table: TokenBytes) -> list[str]:
    """The files that still say one of the texts, or a run of 20 characters of it."""
    pieces = {text[at : at + 20] for text in texts for at in range(0, len(text) - 19, 5)}
    pieces |= {text for text in texts if len(text) < 20}
    found = []
    for path in sorted(run.rglob("*")):
        if not path.is_file():
            continue
        said = path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            said += _words_in(pq.read_table(path).to_pylist(), table)
        found += [path.name for piece in pieces if piece in said][:1]
    return found


def _words_in(value: Any, table: TokenBytes) -> str:
    """Everything that a value says: strings, bytes, numbers as tokens."""
    if isinstance(value, dict):
        return "".join(_words_in(v, table) for v in value.values())
    if isinstance(value, list):
        if value and all(isinstance(v, int) for v in value):
            return table.decode(value)
        return "".join(_words_in(v, table) for v in value)
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
