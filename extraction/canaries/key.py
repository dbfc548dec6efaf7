"""The key of planted canaries: which they are and how often each was inserted, under a seal.

The seal is a hash over all of it. Written down elsewhere before training, it shows later that the key was not made
to fit; the nonce in the key keeps the seal from giving the values away.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from extraction.canaries.formats import Format
from extraction.canaries.settings import FormatSettings

VERSION = 1


@dataclass(frozen=True)
class Canary:
    """One planted record.

    Attributes:
        id: what reports call it.
        format: the name of its format.
        filling: which of the format's fillings it is.
        insertions: copies in the corpus.
    """

    id: str
    format: str
    filling: int
    insertions: int


@dataclass(frozen=True)
class Key:
    """What was planted.

    Attributes:
        formats: of the canaries.
        canaries: all of them, those never inserted too.
        seed: of values and places.
        records: records of the corpus before.
    """

    formats: tuple[FormatSettings, ...]
    canaries: tuple[Canary, ...]
    seed: int
    records: int

    def of(self, form: FormatSettings) -> list[Canary]:
        """The canaries of one format."""
        return [canary for canary in self.canaries if canary.format == form.name]


def sealed(key: Key) -> dict[str, Any]:
    """The key as JSON, with each canary's text and value for other tools, and with its seal."""
    parsed = {form.name: form.parsed for form in key.formats}
    content = {
        "schema_version": VERSION,
        "seed": key.seed,
        "records": key.records,
        "formats": [form.model_dump(mode="json") for form in key.formats],
        "canaries": [asdict(canary) | _readable(canary, parsed[canary.format]) for canary in key.canaries],
        "nonce": secrets.token_hex(16),
    }
    return content | {"seal": _seal(content)}


def opened(content: Mapping[str, Any]) -> Key:
    """Read a key back.

    Raises:
        ValueError: it is none, or was changed after it was sealed.
    """
    if content.get("schema_version") != VERSION or "seal" not in content:
        raise ValueError(f"no key of schema version {VERSION}")
    if _seal({name: value for name, value in content.items() if name != "seal"}) != content["seal"]:
        raise ValueError("changed after it was sealed")
    return Key(
        formats=tuple(map(FormatSettings.model_validate, content["formats"])),
        canaries=tuple(_canaries(content["canaries"])),
        seed=content["seed"],
        records=content["records"],
    )


def _canaries(rows: Sequence[Mapping[str, Any]]) -> list[Canary]:
    return [Canary(row["id"], row["format"], row["filling"], row["insertions"]) for row in rows]


def _readable(canary: Canary, form: Format) -> dict[str, str]:
    return {"value": form.value(canary.filling), "text": form.text(canary.filling)}


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
