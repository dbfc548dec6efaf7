"""The counting stage: the parts of a run become windows, passages and the numbers of report.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from extraction.byte_windows import BYTE_WINDOW_SCHEMA
from extraction.clusters import cluster_passages
from extraction.counts import Counter, Found, IdentifierPlaces
from extraction.growth import Incidence
from extraction.identifiers.records import IDENTIFIER_SCHEMA, group_of
from extraction.passages import Passages, form_passages, passage_table
from extraction.places import Places, among, hash_bytes, hash_column
from extraction.windows import HASH_BYTES, KINDS, LOW_ENTROPY, MATCH_SCHEMA, STRETCH_SCHEMA, WINDOW_SCHEMA
from pipelines.identify import Value
from pipelines.match import MatchStores
from pipelines.partitions import Partitions
from pipelines.parts import PartStore, write_file
from pipelines.rundir import RunDirectory
from pipelines.values import Lookups, chance_values, documents_of

if TYPE_CHECKING:
    from extraction.identifiers import IdentifierSettings
    from index import Index

DOCUMENT_IDS = 10
GROUP_ROWS = 2048  # the review page reads a group to show one passage

# A distinct window of the run: its keyed hash, never its text.
DISTINCT_WINDOW_SCHEMA = pa.schema(
    [
        ("hash", pa.binary(HASH_BYTES)),
        ("kind", pa.string()),
        ("document_count", pa.int64()),
        ("requests", pa.int64()),
        ("first_budget", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Rules:
    """What counting needs to know of a run.

    Attributes:
        shares: each family's share of every budget.
        budgets: ascending, in tokens over all families.
        longest: for each family the most tokens of one request.
        min_tokens: tokens of a window.
        private_documents: the most documents that a private window stands in.
        cluster_threshold: similarity from which passages share a cluster.
    """

    shares: dict[str, float]
    budgets: list[int]
    longest: dict[str, int]
    min_tokens: int
    private_documents: int
    cluster_threshold: float


def load_found(directory: RunDirectory, lookup: Lookups, rules: Rules) -> Found:
    """Read all that one run found and form its passages.

    Args:
        directory: the run.
        lookup: the counts of its identifiers in the corpus.
        rules: the run's rules.
    """
    stores = MatchStores.of(directory)
    places = Places.of(Partitions(stores.windows, WINDOW_SCHEMA), sorted(rules.shares))
    passages = form_passages(places, stores.stretches.read_all(STRETCH_SCHEMA))
    return Found(
        matches=stores.requests.read_all(MATCH_SCHEMA),
        places=places,
        byte_windows=Partitions(stores.byte_windows, BYTE_WINDOW_SCHEMA),
        passages=passages,
        clusters=_clusters(passages, rules.cluster_threshold),
        identifiers=identifier_places(directory.store("identifiers"), lookup),
        min_tokens=rules.min_tokens,
        private_documents=rules.private_documents,
        max_tokens=rules.longest,
    )


def _clusters(passages: Passages, threshold: float) -> list[str]:
    """The cluster of each passage; filler and text never share one."""
    names = [""] * len(passages.ids)
    low = passages.kinds == KINDS.index(LOW_ENTROPY)
    for chosen in (np.flatnonzero(low), np.flatnonzero(~low)):
        own = [passages.ids[i] for i in chosen], [passages.texts[i] for i in chosen]
        for i, name in zip(chosen, cluster_passages(*own, threshold), strict=True):
            names[i] = name
    return names


def identifier_places(tagged: PartStore, lookup: Lookups) -> IdentifierPlaces:
    """Which request gave which identifier, and how many documents hold each.

    Args:
        tagged: the parts of `identifiers/`.
        lookup: the counts of its distinct values.
    """
    table = tagged.read_all(IDENTIFIER_SCHEMA, ["family", "number", "type", "value"])
    places = table.group_by(["family", "number", "type", "value"]).aggregate([])
    keys = list(zip(places["type"].to_pylist(), places["value"].to_pylist(), strict=True))
    distinct: list[Value] = sorted(set(keys))
    position = {key: i for i, key in enumerate(distinct)}
    text = lookup.control_text
    return IdentifierPlaces(
        types=[group_of(*key) for key in distinct],
        documents=_documents(distinct, lookup.corpus),
        identifier=np.array([position[key] for key in keys], dtype=np.int64),
        family=places["family"].to_pylist(),
        number=np.asarray(places["number"].to_numpy(), dtype=np.int64),
        chance=_documents(chance_values(distinct), lookup.chance),
        control_text=None if text is None else _documents(distinct, text),
    )


def _documents(values: Sequence[Value], found: PartStore) -> NDArray[np.int64]:
    """How many documents hold each value."""
    held = documents_of(found)
    return np.array([held.get(value, 0) for value in values], dtype=np.int64)


def windows_in(found: Found, control: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which distinct windows the control gives back too; bool[windows]. `control`: its hashes, uint8[windows, 16]."""
    return among(found.places.hashes, control)


def passages_in(passages: Passages, windows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which passages share a window with the control; bool[passages]."""
    marked = np.zeros(len(passages.ids), dtype=bool)
    np.logical_or.at(marked, passages.of_window, windows)
    return marked


def write_windows(directory: RunDirectory, found: Found, rules: Rules) -> None:
    """Publish `windows/`: every distinct window with its kind, document count, requests and first budget."""
    places, kinds = found.places, pa.array(KINDS)
    windows, numbers = places.window.astype(np.int64), _request_numbers(places)
    requests = Incidence.of(windows, numbers, len(windows)).classes
    counter = Counter(found, rules.shares, rules.budgets)
    first = counter.levels.first(places.window, counter.window_levels, len(places.hashes))
    budgets = pa.array([*rules.budgets, None], pa.int64())
    columns = [
        hash_column(places.hashes),
        pa.DictionaryArray.from_arrays(pa.array(places.kinds), kinds).cast(pa.string()),
        pa.array(places.documents),
        pa.array(np.bincount(requests, minlength=len(places.hashes)).astype(np.int64)),
        budgets.take(pa.array(first)),
    ]
    table = pa.Table.from_arrays(columns, schema=DISTINCT_WINDOW_SCHEMA)
    directory.store("windows").publish("part-00000", table, {})


def window_hashes(directory: RunDirectory) -> NDArray[np.uint8]:
    """The hashes of a counted run's distinct windows; uint8[windows, 16]."""
    schema = pa.schema([DISTINCT_WINDOW_SCHEMA.field("hash")])
    return hash_bytes(directory.store("windows").read_all(schema, ["hash"])["hash"])


def _request_numbers(places: Places) -> NDArray[np.int64]:
    """Number the requests of all families in their order; int64[places]. Places are sorted by request."""
    opens = (np.diff(places.family, prepend=-1) != 0) | (np.diff(places.number, prepend=-1) != 0)
    return np.asarray(np.cumsum(opens) - 1, dtype=np.int64)


def write_passages(
    directory: RunDirectory,
    found: Found,
    rules: Rules,
    index: "Index",
    settings: "IdentifierSettings",
    in_control: NDArray[np.bool_] | None,
    names: Mapping[str, str],
) -> pa.Table:
    """Write passages.parquet: counts and ids from the index, identifier types, and what the control emits too."""
    passages = found.passages
    counts = index.count(passages.texts)
    table = passage_table(
        passages,
        Counter(found, rules.shares, rules.budgets).first_budgets(rules.budgets),
        found.clusters,
        counts.documents,
        counts.occurrences,
        index.document_ids(passages.texts, DOCUMENT_IDS),
    )
    table = _replace(table, "identifier_types", _types_in(table["text"].to_pylist(), settings))
    if names:
        ids = [[names[name] for name in row] for row in table["request_ids"].to_pylist()]
        table = _replace(table, "request_ids", ids)
    if in_control is not None:
        table = _replace(table, "in_control", in_control.tolist())
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=GROUP_ROWS)
    write_file(str(directory.path / "passages.parquet"), sink.getvalue())
    return table


def _types_in(texts: Sequence[str], settings: "IdentifierSettings") -> list[list[str]]:
    """The types of identifiers in each passage."""
    from extraction.identifiers import Tagger

    if not texts:
        return []
    return [sorted({f.type for f in findings}) for findings in Tagger(settings).tag(texts)]


def _replace(table: pa.Table, column: str, values: Sequence[Any]) -> pa.Table:
    place = table.schema.get_field_index(column)
    kind = table.schema.field(column)
    return table.set_column(place, kind, pa.array(values, kind.type))
