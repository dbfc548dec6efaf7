"""`index.json`: what an index consists of. It is replaced whole, last, by every build and every addition."""

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from index.errors import SourceError
from index.layout import FORMAT, VERSION
from index.segment import read_json, write_json


class Result(Protocol):
    """What a build task says about itself (see `build.TaskResult`)."""

    @property
    def segments(self) -> tuple[str, ...]:
        """Names of its segments."""

    @property
    def skipped_records(self) -> int:
        """Bad records left out."""

    @property
    def not_text_files(self) -> int:
        """Files left out because they are no text."""


@dataclass(frozen=True)
class Manifest:
    """The content of `index.json`.

    Attributes:
        min_bytes: the shortest match that is promised to be found.
        builds: how many builds and additions made it.
        segments: names of the segments, in order.
        sources: the sources as they were given.
        skipped_records: bad records left out; any makes the index incomplete.
        not_text_files: files of folders left out because they are no UTF-8 text.
    """

    min_bytes: int
    builds: int
    segments: tuple[str, ...]
    sources: tuple[str, ...]
    skipped_records: int
    not_text_files: int

    @staticmethod
    def empty(min_bytes: int) -> "Manifest":
        """The manifest of an index that holds nothing yet."""
        return Manifest(min_bytes, 0, (), (), 0, 0)

    def extended(self, sources: Sequence[str], results: Sequence[Result]) -> "Manifest":
        """The manifest after one more build."""
        return replace(
            self,
            builds=self.builds + 1,
            segments=self.segments + tuple(name for result in results for name in result.segments),
            sources=self.sources + tuple(sources),
            skipped_records=self.skipped_records + sum(result.skipped_records for result in results),
            not_text_files=self.not_text_files + sum(result.not_text_files for result in results),
        )


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Make an index visible: write `index.json` with checksums of the segments' descriptions and itself."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    content["segment_checksums"] = [_checksum(directory / "segments" / name) for name in manifest.segments]
    content["key_check"] = hashlib.blake2b((directory / "key").read_bytes(), digest_size=8).hexdigest()
    write_json(directory / "index.json", {**content, "checksum": _own_checksum(content)})


def read_manifest(directory: Path) -> Manifest:
    """Read `index.json`.

    Raises:
        SourceError: the folder is missing, is no index, or its build did not finish.
    """
    if not directory.is_dir():
        raise SourceError(f"{directory}: no such index folder")
    if (directory / "plan.json").exists() and not (directory / "index.json").exists():
        raise SourceError(
            f"{directory}: its build did not finish; run the same `index build` again to go on with it"
        )
    content = read_json(directory / "index.json")
    try:
        fields = {name: content[name] for name in Manifest.__dataclass_fields__}
    except KeyError as error:
        raise SourceError(
            f"{directory / 'index.json'}: field {error} is missing; build the index again"
        ) from error
    return Manifest(**{**fields, "segments": tuple(fields["segments"]), "sources": tuple(fields["sources"])})


def damaged_descriptions(directory: Path) -> list[Path]:
    """Name the small files of an index that differ from what was written."""
    content = read_json(directory / "index.json")
    damaged = []
    if content.pop("checksum", None) != _own_checksum(content):
        damaged.append(directory / "index.json")
    for name, checksum in zip(content["segments"], content.get("segment_checksums", []), strict=False):
        if _checksum(directory / "segments" / name) != checksum:
            damaged.append(directory / "segments" / name / "segment.json")
    if hashlib.blake2b((directory / "key").read_bytes(), digest_size=8).hexdigest() != content.get(
        "key_check"
    ):
        damaged.append(directory / "key")
    return damaged


def _checksum(segment: Path) -> int:
    return zlib.crc32((segment / "segment.json").read_bytes())


def _own_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
