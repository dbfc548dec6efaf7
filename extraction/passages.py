"""Passages: stretches of one kind that share a window, joined over the whole run, in any order.

A window's kind is a function of its bytes, so stretches that share a window are of one kind. A passage is
named by the least of its window hashes and shown by its longest stretch. The document counts of the shown text
are the index's to give; `passage_table` takes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.places import Places, numbers
from extraction.records import request_id
from extraction.windows import KINDS, LOW_ENTROPY

Ints = NDArray[np.int64]

_EXAMPLES = 10

# `text` lacks characters that the shown stretch's ends cut; `bytes` and the counts are of the uncut bytes
PASSAGE_SCHEMA = pa.schema(
    [
        ("passage_id", pa.string()),
        ("kind", pa.string()),
        ("text", pa.large_string()),
        ("tokens", pa.int64()),
        ("bytes", pa.int64()),
        ("document_count", pa.int64()),
        ("occurrences", pa.int64()),
        ("document_ids", pa.list_(pa.string())),
        ("windows", pa.int64()),
        ("window_documents_min", pa.int64()),
        ("window_documents_max", pa.int64()),
        ("low_entropy", pa.bool_()),
        ("cluster_id", pa.string()),
        ("families", pa.list_(pa.string())),
        ("first_budget", pa.int64()),
        ("requests", pa.int64()),
        ("request_ids", pa.list_(pa.string())),
        ("identifier_types", pa.list_(pa.string())),
        ("in_control", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Passages:
    """The passages of a run, in the order of their names.

    Attributes:
        ids: names, 32 hexadecimal digits each.
        of_window: int32[windows], the passage of each distinct window.
        kinds: int8[passages], places in `KINDS`.
        texts: the bytes of each one's longest stretch.
        tokens: int64[passages], tokens of that stretch.
        windows: int64[passages], distinct windows.
        documents_min: int64[passages], the least document count of its windows.
        documents_max: int64[passages], the highest.
        families: names of the families that produced it, sorted.
        requests: int64[passages], requests that produced it.
        request_ids: the first few of those.
    """

    ids: list[str]
    of_window: NDArray[np.int32]
    kinds: NDArray[np.int8]
    texts: list[bytes]
    tokens: Ints
    windows: Ints
    documents_min: Ints
    documents_max: Ints
    families: list[list[str]]
    requests: Ints
    request_ids: list[list[str]]


def form_passages(places: Places, stretches: pa.Table) -> Passages:
    """Join the stretches of a whole run.

    Args:
        places: all windows of the run.
        stretches: all its stretches, a table of `STRETCH_SCHEMA`, in any order.

    Returns:
        the passages; the same for any order of the rows.

    Raises:
        ValueError: the stretches and the windows do not belong together.
    """
    rows, sizes = places.rows_of(stretches)
    of_window, of_stretch = _components(places, rows, sizes)
    count = int(of_window.max()) + 1 if len(of_window) else 0
    least = np.zeros(count, dtype=np.int64)
    least[of_window[::-1]] = np.arange(len(of_window))[::-1]
    if (places.kinds != places.kinds[least][of_window]).any():
        raise ValueError("a passage has windows of two kinds: the stretches were cut by another rule")
    texts, tokens = _longest(stretches, of_stretch, count)
    low, high = np.full(count, np.iinfo(np.int64).max), np.zeros(count, dtype=np.int64)
    np.minimum.at(low, of_window, places.documents)
    np.maximum.at(high, of_window, places.documents)
    families, requests, request_ids = _producers(places, of_window, count)
    return Passages(
        ids=[bytes(value).hex() for value in places.hashes[least]],
        of_window=of_window,
        kinds=places.kinds[least],
        texts=texts,
        tokens=tokens,
        windows=np.bincount(of_window, minlength=count).astype(np.int64),
        documents_min=low,
        documents_max=high,
        families=families,
        requests=requests,
        request_ids=request_ids,
    )


def _components(places: Places, rows: Ints, sizes: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the passages by their least window; return that of each distinct window and of each stretch."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    stretch = np.repeat(np.arange(len(rows), dtype=np.int64), sizes)
    first = np.repeat(rows - np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(rows) else rows, sizes)
    window = places.window[first + np.arange(len(stretch))]
    order = np.argsort(window, kind="stable")
    window, stretch = window[order], stretch[order]
    opens = np.ones(len(window), dtype=bool)
    opens[1:] = window[1:] != window[:-1]
    if not np.array_equal(window[opens], np.arange(len(places.hashes))):
        raise ValueError("a window stands in no stretch: windows and stretches come from different parts")
    joined = np.flatnonzero(~opens)
    links = (np.ones(len(joined), dtype=np.int8), (stretch[joined - 1], stretch[joined]))
    graph = coo_matrix(links, shape=(len(rows), len(rows)))
    label = connected_components(graph, directed=False)[1] if len(rows) else np.zeros(0, dtype=np.int32)
    by_window = label[stretch[opens]]
    _, least, of_window = np.unique(by_window, return_index=True, return_inverse=True)
    rank = np.empty(len(least), dtype=np.int32)
    rank[np.argsort(least)] = np.arange(len(least))
    return rank[of_window].astype(np.int32), rank[label] if len(rows) else label


def _longest(stretches: pa.Table, of_stretch: NDArray[np.int32], count: int) -> tuple[list[bytes], Ints]:
    """Bytes and tokens of each passage's longest stretch; of equals the one of most bytes, then the first."""
    tokens, data = numbers(stretches["tokens"]), stretches["data"].combine_chunks()
    longest = np.zeros(count, dtype=np.int64)
    np.maximum.at(longest, of_stretch, tokens)
    best: list[bytes | None] = [None] * count
    for row in np.flatnonzero(tokens == longest[of_stretch]):
        passage, text = int(of_stretch[row]), data[int(row)].as_py()
        held = best[passage]
        if held is None or (-len(text), text) < (-len(held), held):
            best[passage] = text
    return [text for text in best if text is not None], longest


def _producers(
    places: Places, of_window: NDArray[np.int32], count: int
) -> tuple[list[list[str]], Ints, list[list[str]]]:
    """Families, number of requests and first requests of each passage."""
    passage, family, number = of_window[places.window], places.family, places.number
    order = np.lexsort((number, family, passage))
    passage, family, number = passage[order], family[order], number[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(passage) != 0) | (np.diff(family) != 0) | (np.diff(number) != 0)
    passage, family, number = passage[new], family[new], number[new]
    bounds = np.searchsorted(passage, np.arange(count + 1))
    names = [
        sorted({places.families[code] for code in np.unique(family[a:b])})
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    examples = [
        [request_id(places.families[family[i]], int(number[i])) for i in range(a, min(b, a + _EXAMPLES))]
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    return names, np.diff(bounds).astype(np.int64), examples


def passage_table(
    passages: Passages,
    first_budgets: Sequence[int | None],
    cluster_ids: Sequence[str],
    documents: Ints,
    occurrences: Ints,
    document_ids: Sequence[Sequence[str]],
) -> pa.Table:
    """Lay the passages out as `PASSAGE_SCHEMA`; identifiers are left empty and the control unknown (null).

    Args:
        passages: what is shown.
        first_budgets: the first budget at which each counts; None for one that appeared after the last.
        cluster_ids: the cluster of each.
        documents: int64[passages], documents that hold each `texts` entry, from the index.
        occurrences: int64[passages], its places in them.
        document_ids: ids of the first of those documents.
    """
    kinds = [KINDS[kind] for kind in passages.kinds]
    columns: dict[str, object] = {
        "passage_id": passages.ids,
        "kind": kinds,
        "text": [text.decode("utf-8", errors="ignore") for text in passages.texts],
        "tokens": passages.tokens,
        "bytes": [len(text) for text in passages.texts],
        "document_count": documents,
        "occurrences": occurrences,
        "document_ids": [list(ids) for ids in document_ids],
        "windows": passages.windows,
        "window_documents_min": passages.documents_min,
        "window_documents_max": passages.documents_max,
        "low_entropy": [kind == LOW_ENTROPY for kind in kinds],
        "cluster_id": list(cluster_ids),
        "families": passages.families,
        "first_budget": list(first_budgets),
        "requests": passages.requests,
        "request_ids": passages.request_ids,
        "identifier_types": [[] for _ in kinds],
        "in_control": [None] * len(kinds),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in PASSAGE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=PASSAGE_SCHEMA)
