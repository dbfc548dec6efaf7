"""What is judged: the passages, identifiers and candidates of a run, masked, read once when the page is opened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from extraction.errors import InputError
from extraction.identifiers.records import IDENTIFIER_SCHEMA
from extraction.passages import PASSAGE_SCHEMA
from pipelines.listing import LISTING_SCHEMA
from pipelines.progress import progress
from pipelines.rank.candidates import CANDIDATE_SCHEMA
from pipelines.report.words import identifier
from pipelines.review.masking import Masker
from pipelines.rundir import RunDirectory

PASSAGES = "passages.parquet"
IN_CORPUS = "identifiers/in_corpus.parquet"
IDENTIFIER, CANDIDATE = "identifier", "candidate"
KINDS = ("private", IDENTIFIER, CANDIDATE, "shared", "low_entropy")  # in the order of the list
ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge.

    Attributes:
        id: the passage's name, a candidate's, or the keyed hash of an identifier.
        kind: one of `KINDS`; the first, fourth and fifth are kinds of passages.
        row: its row in the file that it comes from.
        documents: training documents that hold it; None where they cannot be searched.
        occurrences: places in them; None likewise.
        tokens: of its longest stretch; 0 for an identifier.
        families: prompt families that gave it.
        first_budget: the first budget that counts it; None where it has none.
        types: identifier types in it.
        cluster: the cluster of near-duplicates; empty where there is none.
        requests: how many generations gave it.
        in_control: whether the control gives it too; None where that is unknown.
        masked: its text, identifiers hidden.
    """

    id: str
    kind: str
    row: int
    documents: int | None
    occurrences: int | None
    tokens: int
    families: tuple[str, ...]
    first_budget: int | None
    types: tuple[str, ...]
    cluster: str
    requests: int
    in_control: bool | None
    masked: str


def load_items(run: Path, key: bytes, whole: bool = False) -> tuple[list[Item], Masker]:
    """Read everything that can be judged, the most urgent first.

    Args:
        run: a run directory, or one that `extraction rank` wrote.
        key: of the hashes that name identifiers.
        whole: mask whole texts rather than identifiers alone.

    Raises:
        InputError: there is nothing to judge here, or a file of it cannot be read.
    """
    candidates = RunDirectory(run).store("candidates").read_all(CANDIDATE_SCHEMA)
    if not (run / PASSAGES).exists() and not candidates.num_rows:
        raise InputError(f"{run}: nothing to review; name a directory of `extraction run`, `match` or `rank`")
    masker = Masker(_known_identifiers(run, candidates), whole)
    items = [
        *_passages(_read(run / PASSAGES, PASSAGE_SCHEMA), masker),
        *_identifiers(_read(run / IN_CORPUS, LISTING_SCHEMA), key, _was_purged(run / IN_CORPUS)),
        *_candidates(candidates, masker),
    ]
    return sorted(items, key=_urgency), masker


def _urgency(item: Item) -> tuple[Any, ...]:
    """Private passages with identifiers first, those that the control gives too last of each group."""
    documents = item.documents or 0
    named = item.kind == "private" and bool(item.types)
    group = -1 if named else KINDS.index(item.kind)
    return group, item.in_control is True, documents, -item.tokens, item.id


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    """A table of a run; columns that an older run lacks are null, and a missing file has no rows."""
    if not path.exists():
        return schema.empty_table()
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise InputError(f"{path}: damaged; restore it from a copy, or run the same command again") from None
    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _was_purged(path: Path) -> bool:
    """Whether identifiers stand there as their keyed hashes."""
    return path.exists() and b"purged" in (pq.read_schema(path).metadata or {})


def _known_identifiers(run: Path, candidates: pa.Table) -> dict[str, str]:
    """Type by text of everything that was tagged in this run; candidates are tagged here."""
    table = RunDirectory(run).store("identifiers").read_all(IDENTIFIER_SCHEMA, ["text", "type"])
    distinct = table.group_by(["text", "type"]).aggregate([])
    known = dict(zip(distinct["text"].to_pylist(), distinct["type"].to_pylist(), strict=True))
    texts = [*candidates["text"].to_pylist(), *candidates["prompt"].to_pylist()]
    if texts:
        from extraction.identifiers import IdentifierSettings, Tagger

        with progress("tag candidates", "texts", len(texts)) as shown:
            for findings in Tagger(IdentifierSettings()).tag(texts):
                known |= {finding.text: finding.type for finding in findings}
                shown.advance(1)
    return known


def _passages(table: pa.Table, masker: Masker) -> Iterator[Item]:
    with progress("mask passages", "passages", table.num_rows) as shown:
        for row, found in enumerate(_rows(table)):
            yield Item(
                id=found["passage_id"],
                kind=found["kind"],
                row=row,
                documents=found["document_count"],
                occurrences=found["occurrences"],
                tokens=found["tokens"] or 0,
                families=tuple(found["families"] or ()),
                first_budget=found["first_budget"],
                types=tuple(found["identifier_types"] or ()),
                cluster=found["cluster_id"] or "",
                requests=found["requests"] or 0,
                in_control=found["in_control"],
                masked=masker.masked(found["text"]),
            )
            shown.advance(1)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Rows one after the other, so that texts are not all in memory twice."""
    for batch in table.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _identifiers(table: pa.Table, key: bytes, purged: bool) -> Iterator[Item]:
    for row, found in enumerate(_rows(table)):
        kind = found["group"] or found["type"]
        yield Item(
            id=found["value"] if purged else identifier_id(key, found["type"], found["value"]),
            kind=IDENTIFIER,
            row=row,
            documents=found["documents"],
            occurrences=found["occurrences"],
            tokens=0,
            families=(),
            first_budget=None,
            types=(kind,),
            cluster="",
            requests=found["requests"] or 0,
            in_control=None,
            masked=f"[{identifier(kind)}]",
        )


def identifier_id(key: bytes, kind: str, value: str) -> str:
    """The name of an identifier: a keyed hash, which does not give the value away."""
    return blake2b(f"{kind}\0{value}".encode(), key=key, digest_size=ID_BYTES).hexdigest()


def _candidates(table: pa.Table, masker: Masker) -> Iterator[Item]:
    for row, found in enumerate(_rows(table)):
        yield Item(
            id=found["candidate_id"],
            kind=CANDIDATE,
            row=row,
            documents=None,
            occurrences=None,
            tokens=found["tokens"],
            families=(found["family"],),
            first_budget=None,
            types=(),
            cluster="",
            requests=1,
            in_control=None,
            masked=masker.masked(found["text"]),
        )


def clusters_of(items: Sequence[Item]) -> dict[str, list[str]]:
    """The ids of each cluster's members, in the order of the list."""
    members: dict[str, list[str]] = {}
    for item in items:
        if item.cluster:
            members.setdefault(item.cluster, []).append(item.id)
    return members
