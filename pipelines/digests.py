"""Names files by what they hold: one that was replaced is another, one that was moved is the same."""

import hashlib
from pathlib import Path

from extraction.errors import InputError


def file_digest(path: Path) -> str:
    """SHA-256 in hex of a file's bytes.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a file of records") from None
