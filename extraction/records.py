"""Requests and generations: the two records that every run is made of, each beside its Arrow schema."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Request:
    """One planned sample, a function of (run seed, family, number).

    Attributes:
        request_id: `<family>-<number>`, the number in nine digits.
        family: the prompt family.
        number: position within the family, from 0.
        prompt_token_ids: what the engine is fed, special tokens included.
        seed: the seed of this request's sampler, below 2**63.
        max_tokens: the most tokens that may be generated.
    """

    request_id: str
    family: str
    number: int
    prompt_token_ids: list[int]
    seed: int
    max_tokens: int


@dataclass(frozen=True)
class Generation:
    """What one request returned.

    Attributes:
        token_ids: every sampled token, the end-of-sequence token included, the prompt excluded.
        logprobs: natural logarithm of each token's probability under the unmodified model; as long as `token_ids`,
            or empty where the engine returns none.
        finish_reason: `stop`, `length` or `failed`.
        tokenised_again: a server gave text without token ids, so these were made from the text.
    """

    request_id: str
    family: str
    number: int
    prompt_token_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: str
    tokenised_again: bool = False


REQUEST_SCHEMA = pa.schema(
    [
        ("request_id", pa.string()),
        ("family", pa.string()),
        ("number", pa.int64()),
        ("prompt_token_ids", pa.list_(pa.int32())),
        ("seed", pa.int64()),
        ("max_tokens", pa.int32()),
    ]
)

GENERATION_SCHEMA = pa.schema(
    [
        ("request_id", pa.string()),
        ("family", pa.string()),
        ("number", pa.int64()),
        ("prompt_token_ids", pa.list_(pa.int32())),
        ("token_ids", pa.list_(pa.int32())),
        ("logprobs", pa.list_(pa.float32())),
        ("finish_reason", pa.string()),
        ("tokenised_again", pa.bool_()),
    ]
)


def request_id(family: str, number: int) -> str:
    """Name a request: the family and its number in nine digits, so that names sort in order."""
    return f"{family}-{number:09d}"


def to_table(records: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Turn dataclass records into an Arrow table of the declared schema."""
    return pa.Table.from_pylist([asdict(record) for record in records], schema=schema)


def requests_of(table: pa.Table) -> list[Request]:
    """Read requests back from a table of `REQUEST_SCHEMA`."""
    return [Request(**row) for row in table.to_pylist()]


def generations_of(table: pa.Table) -> list[Generation]:
    """Read generations back from a table of `GENERATION_SCHEMA`."""
    return [Generation(**row) for row in table.to_pylist()]
