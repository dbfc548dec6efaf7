"""What the tagger finds and what the look-up counts, each beside its Arrow schema."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Finding:
    """One identifier in one text.

    Attributes:
        type: `PERSON`, `PHONE`, ... or the name of a recogniser of the user's own.
        value: the normalised value, the unit of counting and of look-up.
        text: the characters as they stand in the text.
        start: first character; counted in code points.
        end: one past the last character.
        validated: a checksum, a numbering plan or a fixed format vouches for it.
        context: the word nearby that speaks for it, or the empty string.
        recogniser: which rule found it.
        start_byte: first byte in the UTF-8 form of the text.
        end_byte: one past the last byte.
    """

    type: str
    value: str
    text: str
    start: int
    end: int
    validated: bool
    context: str
    recogniser: str
    start_byte: int
    end_byte: int


IDENTIFIER_SCHEMA = pa.schema(
    [
        ("request_id", pa.string()),
        ("family", pa.string()),
        ("number", pa.int64()),
        ("type", pa.string()),
        ("value", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("start_byte", pa.int64()),
        ("end_byte", pa.int64()),
        ("validated", pa.bool_()),
        ("context", pa.string()),
        ("recogniser", pa.string()),
    ]
)
"""One row for each finding in each generation: the parts of `identifiers/`."""

LOOKUP_SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("value", pa.string()),
        ("group", pa.string()),
        ("documents", pa.int64()),
        ("occurrences", pa.int64()),
        ("example_ids", pa.list_(pa.string())),
    ]
)
"""One row for each distinct value of a run, looked up in the corpus; `group` is `group_of(type, value)`."""

SINGLE_NAME = "PERSON_SINGLE"


def group_of(type_: str, value: str) -> str:
    """Name the row of a table that a value is counted in.

    A single first name or surname stands in every corpus, so it is kept apart from full names.
    """
    return SINGLE_NAME if type_ == "PERSON" and " " not in value else type_
