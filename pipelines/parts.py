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
from typing import Any

import pyarrow as pa

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
        filesystem, path = self._location
        filesystem.invalidate_cache(path)
        if not filesystem.exists(path):
            return {}
        sizes = {os.path.basename(e["name"]): e["size"] for e in filesystem.ls(path, detail=True)}
        names = [name.removesuffix(MARKER) for name in sizes if name.endswith(MARKER)]
        found = {name: self._marker(name) for name in names}
        return {name: m["facts"] for name, m in found.items() if sizes.get(f"{name}.parquet") == m["bytes"]}

    def _marker(self, name: str) -> dict[str, Any]:
        filesystem, path = self._location
        marker: dict[str, Any] = json.loads(filesystem.cat_file(f"{path}/{name}{MARKER}"))
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
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
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
        """Read a part, or one row group of it, as a table."""
        import pyarrow.parquet as pq

        filesystem, path = self._location
        with filesystem.open(f"{path}/{name}.parquet", "rb") as handle:
            parquet = pq.ParquetFile(handle)
            if group is not None:
                return parquet.read_row_group(group, columns=columns)
            return parquet.read(columns=columns)

    def read_all(self, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
        """Read every complete part, in order of their names, as one table."""
        wanted = schema if columns is None else pa.schema([schema.field(c) for c in columns])
        tables = [self.read(name, columns).cast(wanted) for name in self.complete()]
        return pa.concat_tables([wanted.empty_table(), *tables])


def write_file(path: str, data: Any) -> None:
    """Write a local file whole or not at all, readable by its owner alone.

    Args:
        path: where the file is to stand.
        data: all of its bytes, or a buffer of them.

    Raises:
        OSError: the disk is full or the folder cannot be written; the temporary file is removed.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write_json(path: str, value: Any) -> None:
    """Write a JSON file whole or not at all; NaN is refused, it is no number."""
    write_file(path, json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False).encode() + b"\n")
