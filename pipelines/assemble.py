"""report.json: the counts of a run, what the control gives back, and how it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extraction.chance import chance_by_length
from extraction.counts import Counter, Found
from extraction.curves import growth_curves
from extraction.entries import count_budgets
from extraction.places import Places, among
from extraction.windows import KINDS, LOW_ENTROPY, PRIVATE, STRETCH_SCHEMA, WINDOW_SCHEMA
from pipelines.count import Rules, passages_in, windows_in
from pipelines.generate import ranges
from pipelines.match import MatchStores
from pipelines.partitions import Partitions

if TYPE_CHECKING:
    from index import Index
    from index.corpus import IndexInfo

# Bins of the histogram of document counts, both ends included.
BINS = (
    (1, 1),
    (2, 2),
    (3, 5),
    (6, 10),
    (11, 20),
    (21, 50),
    (51, 100),
    (101, 1000),
    (1001, 10_000),
    (10_001, None),
)
FAILED_REQUESTS = "requests that failed"
SKIPPED_RECORDS = "records of the corpus that could not be read"
SKIPPED_GENERATIONS = "records of the generations that could not be read"
NOT_TEXT = "files in the corpus folders that are no UTF-8 text"
SAMPLED_SHARDS = 64
SAMPLED_DOCUMENTS = 8
SAMPLED_CHARACTERS = 20_000


def counted(found: Found, rules: Rules) -> dict[str, Any]:
    """The parts of the report that are counts of this run alone."""
    return {
        **count_budgets(found, rules.shares, rules.budgets),
        "growth": growth_curves(found, rules.shares, rules.budgets),
    }


def document_count_bins(passages: pa.Table) -> list[dict[str, Any]]:
    """How many private and shared passages stand in how many documents, of those that the largest budget counts."""
    passages = passages.filter(pc.is_valid(passages["first_budget"]))
    counts, kinds = passages["document_count"].to_pylist(), passages["kind"].to_pylist()
    bins = []
    for low, high in BINS:
        inside = [k for n, k in zip(counts, kinds, strict=True) if n >= low and (high is None or n <= high)]
        bins.append(
            {
                "documents_from": low,
                "documents_to": high,
                "private": inside.count("private"),
                "shared": inside.count("shared"),
            }
        )
    return bins


def control_section(
    found: Found, rules: Rules, hashes: NDArray[np.uint8], report: Mapping[str, Any]
) -> dict[str, Any]:
    """What the control gives back: its own counts, and this run's counts with and without what both give back."""
    windows = windows_in(found, hashes)
    counter = Counter(found, rules.shares, rules.budgets)
    return {
        "run_id": report["run"]["id"],
        "model": report["method"]["model"]["name"],
        "status": report["status"],
        "budgets": report["budgets"],
        "shared": _limited(counter, rules, windows),
        "not_in_control": _limited(counter, rules, ~windows, whole=True),
        "growth": report["growth"]["all"]["observed"],
    }


def _limited(
    counter: Counter, rules: Rules, windows: NDArray[np.bool_], whole: bool = False
) -> list[dict[str, int]]:
    """Counts at each budget of chosen windows, and of the passages with one of them (or, `whole`, with no other)."""
    found = counter.found
    passages = ~passages_in(found.passages, ~windows) if whole else passages_in(found.passages, windows)
    first_window = counter.levels.first(found.places.window, counter.window_levels, len(windows))
    first_passage = counter.levels.first(counter.passage_of_place, counter.window_levels, len(passages))
    columns = {
        "distinct_windows": (first_window, windows & _text(found.places.kinds)),
        "private_windows": (first_window, windows & _private(found.places.kinds)),
        "distinct_passages": (first_passage, passages & _text(found.passages.kinds)),
        "private_passages": (first_passage, passages & _private(found.passages.kinds)),
    }
    totals = {name: counter.levels.totals(first[chosen]) for name, (first, chosen) in columns.items()}
    return [
        {"budget": budget, **{name: int(values[i]) for name, values in totals.items()}}
        for i, budget in enumerate(rules.budgets)
    ]


def _text(kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    return np.asarray(kinds != KINDS.index(LOW_ENTROPY))


def _private(kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    return np.asarray(kinds == KINDS.index(PRIVATE))


def control_text_section(
    name: str, text: "IndexInfo", corpus: "IndexInfo", stores: tuple[MatchStores, MatchStores], found: Found
) -> dict[str, Any]:
    """How much of what was generated stands in text that the model never saw.

    Args:
        name: what the text is called.
        text: its index.
        corpus: the index of the training corpus.
        stores: where the matches against the text and those against the corpus are.
        found: what the same generations gave against the corpus.
    """
    own, ours = stores
    places = Places.of(Partitions(own.windows, WINDOW_SCHEMA), found.places.families)
    hashes = found.places.hashes
    stretches, in_corpus = (store.stretches.read_all(STRETCH_SCHEMA) for store in (own, ours))
    ratio = corpus.text_bytes / text.text_bytes if text.text_bytes else None
    lengths = chance_by_length(places, stretches, hashes, in_corpus, found.min_tokens, ratio)
    also = int(among(places.hashes, hashes).sum())
    return {
        "name": name,
        "documents": text.documents,
        "text_bytes": text.text_bytes,
        "matched_windows": len(places.hashes),
        "also_in_corpus": also,
        "only_here": len(places.hashes) - also,
        "by_length": [asdict(counts) for counts in lengths],
    }


def incomplete_reasons(failed: Sequence[str], documents: Mapping[str, int]) -> list[dict[str, Any]]:
    """Why a run is incomplete, with counts; empty for a complete run.

    Args:
        failed: ids of the requests that failed.
        documents: by reason, what of the corpus could not be read.
    """
    lost = [{"reason": FAILED_REQUESTS, "count": len(failed), "requests": ranges(failed)}] if failed else []
    return [*lost, *({"reason": reason, "count": count} for reason, count in documents.items() if count)]


def round_trip_share(index: "Index", tokenizer: Any) -> float:
    """How often the tokenizer gives back the bytes of this corpus, over a spread sample of its documents."""
    from itertools import islice

    from extraction.token_bytes import TokenBytes

    texts = [
        text[:SAMPLED_CHARACTERS].decode("utf-8", errors="ignore")
        for shard in index.shards(SAMPLED_SHARDS)
        for _, text in islice(shard, SAMPLED_DOCUMENTS)
    ]
    return TokenBytes.from_tokenizer(tokenizer).round_trip_share(texts, tokenizer)
