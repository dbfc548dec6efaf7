"""Generations made elsewhere: JSON lines or Parquet with `id` and `text` or `token_ids`, as parts of a run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extraction.errors import InputError
from extraction.model import token_ids
from extraction.records import Generation
from pipelines.lines import id_fault, parse_line

PART_ROWS = 1024
FAMILY = "elsewhere"
FAMILY_NAME = re.compile(r"(?!all$)[A-Za-z0-9][A-Za-z0-9 ._-]{0,60}")  # `all` names the sum of families


@dataclass
class Reader:
    """Reads a file of generations and numbers them within their families, in the order of the file.

    Attributes:
        path: JSON lines (`.jsonl`) or Parquet.
        tokenizer: what tokenises texts and prompts.
        skip_bad_records: count records that cannot be read instead of refusing the file.
        bad: records left out so far.
        retokenised: generations whose tokens were made from their text.
    """

    path: Path
    tokenizer: Any
    skip_bad_records: bool
    bad: int = 0
    retokenised: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def generations(self) -> Iterator[Generation]:
        """Read every generation.

        Raises:
            InputError: the file cannot be read, or a record of it; file, line and field are named.
        """
        for where, record in self._records():
            fault = record if isinstance(record, str) else _fault(record, len(self.tokenizer))
            if fault and not self.skip_bad_records:
                raise InputError(f"{self.path}:{where}: {fault}; mend it or pass --skip-bad-records")
            if fault:
                self.bad += 1
            else:
                yield self._generation(record)

    def _records(self) -> Iterator[tuple[int, Any]]:
        """Every record with its line or row; a string in place of one says what is wrong with it."""
        if self.path.suffix == ".parquet":
            yield from enumerate(_parquet_rows(self.path), 1)
            return
        try:
            with self.path.open("rb") as handle:
                for number, line in enumerate(handle, 1):
                    if line.strip():
                        yield number, parse_line(line)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read ({error.strerror}); name a file of generations"
            ) from None

    def _generation(self, record: dict[str, Any]) -> Generation:
        family = record.get("family") or FAMILY
        number = self._numbers.get(family, 0)
        self._numbers[family] = number + 1
        again = record.get("token_ids") is None
        tokens = token_ids(self.tokenizer, record["text"]) if again else record["token_ids"]
        self.retokenised += again
        prompt = token_ids(self.tokenizer, record.get("prompt") or "")
        return Generation(str(record["id"]), family, number, prompt, list(tokens), [], "stop", again)


def _fault(record: dict[str, Any], vocabulary: int) -> str | None:
    """Say what is wrong with a record, without quoting it."""
    if fault := id_fault(record):
        return fault
    for name in ("prompt", "family", "text"):
        if not isinstance(record.get(name, ""), str | None):
            return f"`{name}` is not a string"
    if any(_lone_surrogate(record.get(name)) for name in ("id", "prompt", "family", "text")):
        return "a lone surrogate, which is no Unicode text"
    if record.get("family") and not FAMILY_NAME.fullmatch(record["family"]):
        return "`family` is not a short name of letters, digits, blanks, `.`, `_` and `-`, or it is `all`"
    tokens = record.get("token_ids")
    if tokens is None:
        return None if record.get("text") is not None else "neither `text` nor `token_ids` is there"
    if not isinstance(tokens, list) or not all(type(i) is int and 0 <= i < vocabulary for i in tokens):
        return f"`token_ids` is not a list of token ids below {vocabulary}"
    return None


def _lone_surrogate(value: Any) -> bool:
    return isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value)


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(path)
        names = parquet.schema_arrow.names
        if "id" not in names or not {"text", "token_ids"} & set(names):
            raise InputError(
                f"{path}: needs the columns `id` and `text` or `token_ids`; it has {', '.join(names)}"
            )
        wanted = [name for name in ("id", "text", "token_ids", "prompt", "family") if name in names]
        for batch in parquet.iter_batches(PART_ROWS, columns=wanted):
            yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet ({type(error).__name__}); check the file"
        ) from None
