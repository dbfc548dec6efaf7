"""Raw texts, read from the run at the moment that somebody may see them, and kept nowhere.

A generation is shown in three pieces, what stands before the extracted span, the span, and what follows it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.model import ModelSettings, load_tokenizer
from index.errors import SourceError
from pipelines.progress import progress, say
from pipelines.review.items import CANDIDATE, IDENTIFIER, IN_CORPUS, PASSAGES, Item
from pipelines.rundir import RunDirectory

if TYPE_CHECKING:
    from extraction.token_bytes import TokenBytes

AROUND = 400  # characters of a document on each side of the span
_TOKENS = ("request_id", "family", "prompt_token_ids", "token_ids")
_NO_TRAINING_TEXT = ("empty", "public", "repeat")  # kinds of families in whose prompts none can stand


@dataclass(frozen=True)
class Marked:
    """A text with a span in it.

    Attributes:
        before: what stands before the span.
        span: the extracted text; all of the text where nothing is known around it.
        after: what follows it.
        prompt: what the model was given; None where that is not known.
        note: why something is missing; empty where nothing is.
        safe_prompt: whether no training text can stand in the prompt; the tagger has not looked at it.
    """

    before: str
    span: str
    after: str
    prompt: str | None = None
    note: str = ""
    safe_prompt: bool = True


class Texts:
    """The texts of one run."""

    def __init__(self, run: Path) -> None:
        """Find out where generations stand; nothing is kept in memory but ids. `run`: the run directory."""
        self._directory = RunDirectory(run)
        self._generations = self._directory.store("generations")
        self._config = self._read_config()
        self._parts = self._parts_of_requests()
        self._table, self._tokenizer_fault = self._token_bytes()

    def _read_config(self) -> dict[str, Any]:
        made = (self._directory.path / "run.json").exists()
        return dict(self._directory.read().get("config") or {}) if made else {}

    def _parts_of_requests(self) -> dict[str, str]:
        """The part that each generation stands in, of those that gave a passage."""
        if not (self._directory.path / PASSAGES).exists():
            return {}
        table = pq.read_table(self._directory.path / PASSAGES, columns=["request_ids"])
        wanted = {name for names in table["request_ids"].to_pylist() for name in names or ()}
        found, parts = {}, self._generations.complete()
        with progress("find generations", "parts", len(parts)) as shown:
            for part in parts:
                for name in self._generations.read(part, ["request_id"])["request_id"].to_pylist():
                    if name in wanted:
                        found[name] = part
                shown.advance(1)
        return found

    def _token_bytes(self) -> "tuple[TokenBytes | None, str]":
        """How tokens are turned into text; where that cannot be known, why."""
        if not self._parts:
            return None, ""
        from extraction.token_bytes import TokenBytes

        try:
            settings = ModelSettings.model_validate(self._config["model"])
            return TokenBytes.from_tokenizer(load_tokenizer(settings)), ""
        except (InputError, ImportError, KeyError, ValueError):
            say("the run's tokenizer is not here: passages are shown without the generation around them")
            return None, "The generation around it cannot be shown: the run's tokenizer is not here."

    def text(self, item: Item) -> str:
        """The raw text of an item alone: a passage, an identifier's value, a candidate."""
        if item.kind == IDENTIFIER:
            return str(self._row(IN_CORPUS, item.row, "value"))
        if item.kind == CANDIDATE:
            return str(self._candidate(item)["text"])
        return str(self._row(PASSAGES, item.row, "text"))

    def generation(self, item: Item) -> Marked:
        """The generation that an item came out in, its span marked, the prompt apart."""
        if item.kind == CANDIDATE:
            candidate = self._candidate(item)
            return Marked("", candidate["text"], "", candidate["prompt"])
        text = self.text(item)
        if not text:
            return Marked("", "", "", note="Its text was purged.")
        if item.kind == IDENTIFIER:
            return Marked("", text, "")
        for name in self._row(PASSAGES, item.row, "request_ids") or ():
            if found := self._around(name, text):
                return found
        return Marked("", text, "", note=self._tokenizer_fault or "The generation around it was not found.")

    def _around(self, name: str, text: str) -> Marked | None:
        """The generation of an id around a text; None where it does not hold it."""
        if self._table is None or name not in self._parts:
            return None
        rows = self._generations.read(self._parts[name], list(_TOKENS)).to_pylist()
        found = next((row for row in rows if row["request_id"] == name), None)
        before, span, after = self._table.decode(found["token_ids"] if found else ()).partition(text)
        if found is None or not span:
            return None
        prompt, safe = self._table.decode(found["prompt_token_ids"]), self._is_safe(found["family"])
        return Marked(before, span, after, prompt, safe_prompt=safe)

    def _is_safe(self, family: str) -> bool:
        families = (self._config.get("prompts") or {}).get("families") or {}
        return (families.get(family) or {}).get("kind") in _NO_TRAINING_TEXT

    def document_ids(self, item: Item) -> list[str]:
        """The first of the documents that hold an item."""
        if item.kind == CANDIDATE:
            return []
        file = IN_CORPUS if item.kind == IDENTIFIER else PASSAGES
        return list(self._row(file, item.row, "document_ids") or ())

    def all_document_ids(self, item: Item) -> list[str]:
        """Every document that holds an item: from the index where the run's own list is cut short."""
        from index import open_index

        listed = self.document_ids(item)
        if item.kind in (IDENTIFIER, CANDIDATE) or len(listed) == item.documents:
            return listed
        try:
            text = self.text(item).encode()
            return open_index(self._index_path()).document_ids([text], item.documents or 0)[0]
        except (SourceError, ValueError):
            return listed

    def excerpt(self, item: Item, document: str) -> Marked:
        """A passage in one of its documents, with some characters around it.

        Raises:
            InputError: the index or the document in it is not here any more.
        """
        from index import open_index

        text = self.text(item).encode()
        try:
            held = open_index(self._index_path()).document_holding(text, document)
        except (SourceError, ValueError):
            held = None
        if held is None:
            raise InputError("the document cannot be read: the run's index is not here, or does not hold it")
        before, span, after = held.partition(text)
        head = before.decode("utf-8", "replace")[-AROUND:]
        return Marked(head, span.decode("utf-8", "replace"), after.decode("utf-8", "replace")[:AROUND])

    def _index_path(self) -> Path:
        named = (self._config.get("corpus") or {}).get("index")
        return Path(named) if named else self._directory.path / "index"

    def _candidate(self, item: Item) -> dict[str, Any]:
        store, row = self._directory.store("candidates"), item.row
        for part in store.complete():
            table = store.read(part, ["text", "prompt"])
            if row < table.num_rows:
                return dict(table.slice(row, 1).to_pylist()[0])
            row -= table.num_rows
        raise InputError("the candidate is not here any more; open the page anew")

    def _row(self, name: str, row: int, column: str) -> Any:
        """One value of a file: only the row group that holds it is read."""
        with pq.ParquetFile(self._directory.path / name) as file:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if row < size:
                    return file.read_row_group(group, columns=[column])[column][row].as_py()
                row -= size
        raise InputError("the item is not here any more; open the page anew")
