"""Records of JSON lines that people hand in: read one, and say what is wrong with it without quoting it."""

import json
from typing import Any


def parse_line(line: bytes) -> Any:
    """Read a line; a string says what is wrong with it, since no record is a bare string."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON in UTF-8"
    return record if isinstance(record, dict) else "not a JSON object"


def id_fault(record: dict[str, Any]) -> str | None:
    """Say what is wrong with a record's `id`; None where it is a string or a whole number."""
    if not isinstance(record.get("id"), str | int) or isinstance(record.get("id"), bool):
        return "`id` is missing or neither a string nor a whole number"
    return None
