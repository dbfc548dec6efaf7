"""Parts of a stage: Parquet files that count only once their completion marker stands beside them.

A part is written under a temporary name, made visible, and marked last. What is left to do comes from listing the
markers. Local paths and fsspec URIs (`s3://`, `gs://`) work alike; nothing relies on a rename between objects.
"""

import json
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.errors import InputError

MARKER = ".done"


@dataclass(frozen=True)
class PartStore:
    """A folder of parts.

    Attributes:
        root: local path or fsspec URI of the folder; made, readable by its owner alone, at the first part.
    """

    root: str

    @cached_property
    def _location(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        filesystem, path = url_to_fs(self.root)
        return filesystem, str(path)

    def __getstate__(self) -> dict[str, str]:
        """Carry the root alone: a filesystem is opened inside each worker."""
        return {"root": self.root}

    def complete(self) -> list[str]:
        """Names of the parts that are complete, in order. A part whose file was cut short is not."""
        return sorted(self.markers())

    def markers(self) -> dict[str, dict[str, Any]]:
        """The facts of every complete part, by name.

        One listing of the folder and one small read for each part.
        """
        return {name: marker["facts"] for name, (marker, whole) in self._marked().items() if whole}

    def damaged(self) -> list[str]:
        """Names of the parts that were complete once and whose file or marker was cut short since, in order."""
        return sorted(name for name, (_, whole) in self._marked().items() if not whole)

    def facts(self, name: str) -> dict[str, Any] | None:
        """The facts of one part as it stands at this moment; None where it is not complete."""
        filesystem, path = self._location
        filesystem.invalidate_cache(path)
        try:
            marker, size = self._marker(name), filesystem.size(f"{path}/{name}.parquet")
        except FileNotFoundError:
            return None
        facts: dict[str, Any] = marker["facts"]
        return facts if size == marker["bytes"] else None

    def _marked(self) -> dict[str, tuple[dict[str, Any], bool]]:
        """Every marker by the name of its part, and whether the part's file is as long as the marker says."""
        filesystem, path = self._location
        filesystem.invalidate_cache(path)
        if not filesystem.exists(path):
            return {}
        sizes = {os.path.basename(e["name"]): e["size"] for e in filesystem.ls(path, detail=True)}
        markers = {n: self._marker(n) for n in (s.removesuffix(MARKER) for s in sizes if s.endswith(MARKER))}
        return {name: (m, sizes.get(f"{name}.parquet") == m["bytes"]) for name, m in markers.items()}

    def _marker(self, name: str) -> dict[str, Any]:
        filesystem, path = self._location
        try:
            marker: dict[str, Any] = json.loads(filesystem.cat_file(f"{path}/{name}{MARKER}"))
        except ValueError:  # cut short: no file is as long as it says
            return {"bytes": -1, "facts": {}}
        return marker

    def publish(self, name: str, table: pa.Table, facts: dict[str, Any]) -> None:
        """Write a part, make it visible, then mark it complete with its facts.

        Args:
            name: without an ending, `part-00000`.
            table: the rows, of a declared schema.
            facts: small JSON values that later stages need without reading the part.
        """
        self.publish_groups(name, [table], table.schema, facts)

    def publish_groups(
        self, name: str, tables: Iterable[pa.Table], schema: pa.Schema, facts: dict[str, Any]
    ) -> None:
        """The same for several tables, each a row group that can be read alone."""
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=max(table.num_rows, 1))
        data = sink.getvalue()
        self._write(f"{name}.parquet", data)
        self._write(f"{name}{MARKER}", json.dumps({"bytes": data.size, "facts": facts}).encode())

    def _write(self, name: str, data: Any) -> None:
        filesystem, path = self._location
        if "file" not in filesystem.protocol:
            filesystem.pipe_file(f"{path}/{name}", bytes(data))  # an object appears whole or not at all
            return
        os.makedirs(path, mode=0o700, exist_ok=True)
        write_file(f"{path}/{name}", data)

    def read(self, name: str, columns: list[str] | None = None, group: int | None = None) -> pa.Table:
        """Read a part, or one row group of it, as a table.

        Raises:
            InputError: the file is damaged: it is no whole Parquet file, or differs from its own checksums.
        """
        filesystem, path = self._location
        file = f"{path}/{name}.parquet"
        try:
            with filesystem.open(file, "rb") as handle:
                return _read_parquet(handle, columns, group)
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, OSError) and error.errno:  # the system's own fault, not the file's
                raise
            raise InputError(
                f"{file}: damaged; restore it from a copy, or delete it and run the same command again"
            ) from None

    def read_all(self, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
        """Read every complete part, in order of their names, as one table."""
        wanted = schema if columns is None else pa.schema([schema.field(c) for c in columns])
        tables = [self.read(name, columns).cast(wanted) for name in self.complete()]
        return pa.concat_tables([wanted.empty_table(), *tables])


def _read_parquet(handle: Any, columns: list[str] | None, group: int | None) -> pa.Table:
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(handle, page_checksum_verification=True)
    groups = range(parquet.num_row_groups) if group is None else [group]
    table = parquet.read_row_groups(groups, columns=columns)
    # Checksums cover a page's content alone: where its header is damaged, rows can be missing without an error.
    if table.num_rows != sum(parquet.metadata.row_group(g).num_rows for g in groups):
        raise pa.ArrowInvalid("rows are missing")
    return table


def write_file(path: str, data: Any) -> None:
    """Write a local file whole or not at all, readable by its owner alone.

    Args:
        path: where the file is to stand.
        data: all of its bytes, or a buffer of them.

    Raises:
        OSError: the disk is full or the folder cannot be written; it names `path`, and the temporary file is removed.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:
        error.filename, error.filename2 = path, None  # writing to an open file does not say to which
        raise
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write_json(path: str, value: Any) -> None:
    """Write a JSON file whole or not at all; NaN is refused, it is no number."""
    write_file(path, json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False).encode() + b"\n")


def read_record(file: Path, missing: str, command: str) -> dict[str, Any]:
    """Read a JSON file that a command wrote.

    Args:
        file: its path.
        missing: what to say where there is none.
        command: what makes it.

    Raises:
        InputError: there is none, or it is not JSON.
    """
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(missing) from None
    except ValueError:
        raise InputError(f"{file}: not JSON; make it again with `extraction {command}`") from None
    return record
