"""The files of a source: what a folder holds, and the refusal of what cannot be read. A file left out is said."""

import os
import stat
from pathlib import Path

from index.errors import SourceError


def files_below(folder: Path) -> list[Path]:
    """List every file below a folder, those behind links too, each folder once.

    Args:
        folder: an existing folder.

    Returns:
        Paths in order of their names.

    Raises:
        SourceError: a folder below cannot be listed, a link leads nowhere, or something is neither file nor folder.
    """
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for root, folders, names in os.walk(folder, followlinks=True, onerror=_unreadable):
        status = os.stat(root)
        if (status.st_dev, status.st_ino) in seen:  # a link back to where the walk has been
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        found += [Path(root) / name for name in names]
    for path in found:
        refuse_special(path)
    return sorted(found)


def refuse_special(path: Path) -> None:
    """Refuse what is no regular file: reading a pipe could wait for ever.

    Raises:
        SourceError: it is a pipe, a device, a socket or a link that leads nowhere.
    """
    try:
        kind = os.stat(path).st_mode
    except OSError:
        raise SourceError(f"{path}: a link that leads nowhere; remove it or name the files to read") from None
    if not stat.S_ISREG(kind):
        raise SourceError(f"{path}: neither a file nor a folder; remove it or name the files to read")


def _unreadable(error: OSError) -> None:
    raise SourceError(f"{error.filename}: cannot be listed ({error.strerror}); grant access or leave it out")
