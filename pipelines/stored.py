"""A corpus' own identifiers, stored in its index: look-ups join with them instead of passing over the text.

The tagger says which values those are; their counts come from a pass over the whole corpus, so a join gives what a pass
would give. A value that the tagger did not see in the corpus can still stand there: the text is searched for it.
"""

import json
import zlib
from pathlib import Path
from typing import Any

from extraction.identifiers.settings import IdentifierSettings
from index import open_index
from pipelines.identify import Value
from pipelines.parts import write_file, write_json
from pipelines.progress import say

VERSION = 2  # of how values are tagged and looked up, too: a join gives what a search would
FOLDER, DESCRIPTION, TABLE = "identifiers", "identifiers.json", "values.parquet"
# What the counts of a value depend on, beside its type.
KINDS = ("regions", "day_first", "recognisers", "document_ids")


def write_stored(index: Path, settings: IdentifierSettings, table: Any) -> None:
    """Store a table of `LOOKUP_SCHEMA` with an index; its description, written last, makes it count."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    info = open_index(index).info
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    write_file(str(index / FOLDER / TABLE), data)
    described = {
        "version": VERSION,
        "settings": settings.model_dump(mode="json"),
        "corpus": info.fingerprint,
        "segments": info.segments,
        "text_bytes": info.text_bytes,
        "values": table.num_rows,
        "table": zlib.crc32(data),
    }
    write_json(str(index / FOLDER / DESCRIPTION), described | {"checksum": _checksum(described)})


def _checksum(described: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(described, sort_keys=True).encode())


def description(index: Path) -> dict[str, Any] | None:
    """What an index stores of its identifiers; None where it stores none, or they were not finished."""
    try:
        described: dict[str, Any] = json.loads((index / FOLDER / DESCRIPTION).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return {}
    return described


def stored_settings(index: Path) -> IdentifierSettings | None:
    """How the stored identifiers were tagged; None where there are none, or none that can be read."""
    described = description(index)
    if not described or described["version"] != VERSION:
        return None
    return IdentifierSettings.model_validate(described["settings"])


def damaged_files(index: Path) -> list[Path]:
    """Name the files of the stored identifiers that differ from what was written."""
    described = description(index)
    if described is None:
        return []
    damaged = []
    if described.pop("checksum", None) != _checksum(described):
        damaged.append(index / FOLDER / DESCRIPTION)
    table = index / FOLDER / TABLE
    if not table.exists() or zlib.crc32(table.read_bytes()) != described.get("table"):
        damaged.append(table)
    return damaged


def misfit(index: Path, settings: IdentifierSettings | None = None) -> str | None:
    """Say why the stored identifiers cannot be used: they are damaged, old, or of other kinds.

    Args:
        index: the folder; it stores some.
        settings: how the values were tagged that are looked up; None asks about damage and age alone.
    """
    described = description(index) or {}
    if damaged_files(index) or described["version"] != VERSION:
        return "are damaged or of another version"
    if described["corpus"] != open_index(index).info.fingerprint:
        return "are older than its last documents"
    stored = IdentifierSettings.model_validate(described["settings"])
    if settings is None:
        return None
    if missing := [kind for kind in settings.types if kind not in stored.types]:
        return f"are stored without {', '.join(missing)}"
    other = [name for name in KINDS if getattr(stored, name) != getattr(settings, name)]
    return f"are stored with another `identifiers.{other[0]}`" if other else None


def stored_rows(index: Path, settings: IdentifierSettings, wanted: set[Value]) -> list[dict[str, Any]]:
    """The stored counts of some values.

    Args:
        index: the folder.
        settings: how the values were tagged.
        wanted: (type, normalised value).

    Returns:
        Rows of `LOOKUP_SCHEMA`, of the values that are stored; none, and a line that says why, where what is
        stored is of other kinds.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if description(index) is None or not wanted:
        return []
    if reason := misfit(index, settings):
        say(f"{index}: its identifiers {reason}; the text is searched instead")
        return []
    table = pq.read_table(index / FOLDER / TABLE)
    table = table.filter(pc.is_in(table["value"], value_set=pa.array(sorted({v for _, v in wanted}))))
    rows = [row for row in table.to_pylist() if (row["type"], row["value"]) in wanted]
    rest = "; the text is searched for the others" if len(rows) < len(wanted) else ""
    say(f"{index}: {len(rows):,} of {len(wanted):,} values are stored{rest}")
    return rows
