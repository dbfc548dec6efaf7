"""Files that hold corpus text are their owner's alone, whatever the process's umask says."""

import os

FOLDER = 0o700


def owner_only(path: str, flags: int) -> int:
    """Open a file readable and writable by its owner alone; pass it to `open` as `opener`."""
    return os.open(path, flags, 0o600)
