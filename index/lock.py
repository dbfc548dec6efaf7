"""One writer at a time: a lock on an index folder that the system drops when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.errors import SourceError
from index.private import FOLDER, owner_only


@contextmanager
def folder_lock(directory: Path) -> Iterator[None]:
    """Hold the lock of an index folder, which is made (readable by its owner alone) where it is missing.

    Raises:
        SourceError: somebody else writes to the folder.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=FOLDER)
    with open(directory / ".lock", "w", encoding="utf-8", opener=owner_only) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SourceError(
                f"{directory}: another build is writing to it; wait for it or choose another folder"
            ) from error
        try:
            yield
        finally:
            # Where nothing came of it, nothing is left behind.
            if directory.exists() and os.listdir(directory) == [".lock"]:
                os.unlink(directory / ".lock")
                directory.rmdir()
