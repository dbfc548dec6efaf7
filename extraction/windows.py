"""From byte ranges to spans, windows and stretches of one generation, and the tables of a part.

The corpus is asked through two seams only: the byte ranges that stand in it, and a function that counts the
documents of many windows. Knows neither the index nor the tokenizer; a window's bytes are its tokens' bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extraction.entropy import LowEntropyRule
from extraction.token_bytes import TokenRun

Ints = NDArray[np.int64]

LOW_ENTROPY, PRIVATE, SHARED = "low_entropy", "private", "shared"
KINDS = (LOW_ENTROPY, PRIVATE, SHARED)
_NONE = -1  # a window that stands in the request's own prompt
HASH_BYTES = 16

CountWindows = Callable[[bytes, Ints, Ints], tuple[Ints, Ints]]


@dataclass(frozen=True)
class MatchRule:
    """What makes a window and its kind; a change of any of it changes results.

    Attributes:
        min_tokens: tokens of a window.
        private_documents: the most documents that a private window stands in.
        low_entropy: the rule for filler.
        key: the key of all window hashes, 16 to 64 bytes, from the index.
    """

    min_tokens: int
    private_documents: int
    low_entropy: LowEntropyRule
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class TokenSpan:
    """A maximal run of tokens whose bytes stand contiguously in one document; `end` is exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class Stretch:
    """A maximal run of consecutive windows of one kind inside a span.

    Attributes:
        start: first token, in the generation.
        windows: number of windows; they open at `start`, `start + 1`, and so on.
        tokens: `windows + min_tokens - 1`.
        kind: one of `KINDS`.
        data: its bytes.
        documents_min: the least document count of its windows; not that of its whole text.
        documents_max: the highest.
    """

    start: int
    windows: int
    tokens: int
    kind: str
    data: bytes = field(repr=False)
    documents_min: int
    documents_max: int


@dataclass(frozen=True)
class Windows:
    """The windows of one generation, each start once, those in its own prompt left out.

    Attributes:
        starts: int64[n], first token of each in the generation, increasing.
        hashes: n keyed hashes of 16 bytes.
        kinds: int8[n], places in `KINDS`.
        documents: int64[n], documents that hold its bytes.
        occurrences: int64[n], places in those documents.
    """

    starts: Ints
    hashes: list[bytes]
    kinds: NDArray[np.int8]
    documents: Ints
    occurrences: Ints


@dataclass(frozen=True)
class GenerationMatch:
    """All that was found in one generation.

    Attributes:
        spans: maximal spans, by start.
        windows: all windows.
        stretches: by start; windows of overlapping spans stand in several.
        generated_bytes: bytes of all tokens.
        extracted_tokens: tokens in at least one window that is not low-entropy.
        extracted_bytes: bytes of those tokens.
        low_entropy_tokens: tokens in at least one low-entropy window.
    """

    spans: list[TokenSpan]
    windows: Windows
    stretches: list[Stretch]
    generated_bytes: int
    extracted_tokens: int
    extracted_bytes: int
    low_entropy_tokens: int


def window_hash(data: bytes, key: bytes) -> bytes:
    """Hash a window's bytes with the index's key, so that hashes can be shared and texts not be guessed."""
    return blake2b(data, key=key, digest_size=HASH_BYTES).digest()


def spans_from_ranges(offsets: Ints, ranges: Sequence[tuple[int, int]], min_tokens: int) -> list[TokenSpan]:
    """Find the maximal runs of whole tokens inside byte ranges.

    Args:
        offsets: int64[tokens + 1], where each token's bytes start in the run, increasing.
        ranges: maximal half-open byte ranges that stand in the corpus; they may overlap.
        min_tokens: shorter runs are dropped.

    Returns:
        spans by start, none inside another; tokens are counted from the run's first.
    """
    if not len(ranges):
        return []
    bounds = np.asarray([(start, end) for start, end in ranges], dtype=np.int64)
    first = np.searchsorted(offsets, bounds[:, 0], side="left")
    last = np.searchsorted(offsets, bounds[:, 1], side="right") - 1
    spans: list[TokenSpan] = []
    for row in np.lexsort((-last, first)):
        inside = spans and last[row] <= spans[-1].end
        if last[row] - first[row] >= min_tokens and not inside:
            spans.append(TokenSpan(int(first[row]), int(last[row])))
    return spans


def window_starts(spans: Sequence[TokenSpan], min_tokens: int) -> Ints:
    """List the first tokens of all windows of `spans`, each once, increasing."""
    starts = [np.arange(span.start, span.end - min_tokens + 1, dtype=np.int64) for span in spans]
    return np.unique(np.concatenate(starts)) if starts else np.zeros(0, dtype=np.int64)


def analyse_generation(
    runs: Sequence[TokenRun],
    ranges: Sequence[Sequence[tuple[int, int]]],
    prompt: Sequence[bytes],
    rule: MatchRule,
    count: CountWindows,
) -> GenerationMatch:
    """Find the spans, windows and stretches of one generation.

    Args:
        runs: the generation's maximal runs of tokens that have bytes.
        ranges: for each run, the maximal byte ranges of it that stand in the corpus.
        prompt: the bytes of the request's prompt, one piece for each run of its tokens that have bytes.
        rule: what makes a window and its kind.
        count: `count(data, starts, ends)` gives the documents and occurrences of windows of one text, given by
            first byte and byte after the last, both int64[n] and increasing.

    Returns:
        what was found; nothing where no run holds a span.
    """
    parts = [
        _analyse_run(run, found, prompt, rule, count)
        for run, found in zip(runs, ranges, strict=True)
        if found
    ]
    return GenerationMatch(
        spans=[span for part in parts for span in part.spans],
        windows=_join([part.windows for part in parts]),
        stretches=[stretch for part in parts for stretch in part.stretches],
        generated_bytes=sum(len(run.data) for run in runs),
        extracted_tokens=sum(part.extracted_tokens for part in parts),
        extracted_bytes=sum(part.extracted_bytes for part in parts),
        low_entropy_tokens=sum(part.low_entropy_tokens for part in parts),
    )


def _analyse_run(
    run: TokenRun,
    ranges: Sequence[tuple[int, int]],
    prompt: Sequence[bytes],
    rule: MatchRule,
    count: CountWindows,
) -> GenerationMatch:
    first, data, offsets = run.first_token, run.data, run.offsets
    spans = spans_from_ranges(offsets, ranges, rule.min_tokens)
    starts = window_starts(spans, rule.min_tokens)
    begin, end = offsets[starts], offsets[starts + rule.min_tokens]
    texts = [data[a:b] for a, b in zip(begin, end, strict=True)]
    kept = np.array([not any(text in piece for piece in prompt) for text in texts], dtype=bool)
    kinds, documents, occurrences = _kinds_of(data, begin, end, kept, rule, count)
    own = np.flatnonzero(kept)
    hashes = [window_hash(texts[i], rule.key) for i in own]
    windows = Windows(starts[own] + first, hashes, kinds[own], documents[own], occurrences[own])
    stretches = [
        s for span in spans for s in _stretches(span, run, starts, kinds, documents, rule.min_tokens)
    ]
    extracted = _covered(starts[kinds > 0], len(offsets) - 1, rule.min_tokens)
    filler = _covered(starts[kinds == 0], len(offsets) - 1, rule.min_tokens)
    return GenerationMatch(
        [TokenSpan(span.start + first, span.end + first) for span in spans],
        windows,
        stretches,
        len(data),
        int(extracted.sum()),
        int(np.diff(offsets)[extracted].sum()),
        int(filler.sum()),
    )


def _kinds_of(
    data: bytes, begin: Ints, end: Ints, kept: NDArray[np.bool_], rule: MatchRule, count: CountWindows
) -> tuple[NDArray[np.int8], Ints, Ints]:
    """Give each window its kind, documents and occurrences; those not kept get no kind and counts of 0."""
    kinds = np.full(len(begin), _NONE, dtype=np.int8)
    documents, occurrences = np.zeros(len(begin), dtype=np.int64), np.zeros(len(begin), dtype=np.int64)
    own = np.flatnonzero(kept)
    if not len(own):
        return kinds, documents, occurrences
    documents[own], occurrences[own] = count(data, begin[own], end[own])
    if documents[own].min() < 1:
        raise ValueError(
            "the corpus holds a span but not one of its windows: the index is damaged or was changed"
        )
    low = rule.low_entropy.low_windows(data, begin[own], end[own])
    private = documents[own] <= rule.private_documents
    kinds[own] = np.where(low, 0, np.where(private, 1, 2))  # places in KINDS
    return kinds, documents, occurrences


def _stretches(
    span: TokenSpan,
    run: TokenRun,
    starts: Ints,
    kinds: NDArray[np.int8],
    documents: Ints,
    min_tokens: int,
) -> list[Stretch]:
    """Cut a span's windows, which open at each of its tokens in turn, where the kind changes."""
    first, data, offsets = run.first_token, run.data, run.offsets
    row = int(np.searchsorted(starts, span.start))
    stop = row + span.end - span.start - min_tokens + 1
    edges = [row, *(np.flatnonzero(np.diff(kinds[row:stop])) + row + 1).tolist(), stop]
    found = []
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        if kinds[a] != _NONE:
            begin, length = int(starts[a]), b - a + min_tokens - 1
            text = data[offsets[begin] : offsets[begin + length]]
            low, high = int(documents[a:b].min()), int(documents[a:b].max())
            found.append(Stretch(begin + first, b - a, length, KINDS[kinds[a]], text, low, high))
    return found


def _covered(starts: Ints, tokens: int, min_tokens: int) -> NDArray[np.bool_]:
    """Mark the tokens that stand in at least one of the windows."""
    depth = np.bincount(starts, minlength=tokens + 1) - np.bincount(starts + min_tokens, minlength=tokens + 1)
    return np.asarray(np.cumsum(depth)[:tokens] > 0)


def _join(parts: Sequence[Windows]) -> Windows:
    none = np.zeros(0, dtype=np.int64)
    return Windows(
        np.concatenate([none, *(part.starts for part in parts)]),
        [value for part in parts for value in part.hashes],
        np.concatenate([np.zeros(0, dtype=np.int8), *(part.kinds for part in parts)]),
        np.concatenate([none, *(part.documents for part in parts)]),
        np.concatenate([none, *(part.occurrences for part in parts)]),
    )


SPAN_SCHEMA = pa.schema(
    [("family", pa.string()), ("number", pa.int64()), ("start", pa.int32()), ("tokens", pa.int32())]
)

# one row for each place of a window; windows are distinct by `hash`
WINDOW_SCHEMA = pa.schema(
    [
        ("family", pa.string()),
        ("number", pa.int64()),
        ("start", pa.int32()),
        ("hash", pa.binary(HASH_BYTES)),
        ("kind", pa.string()),
        ("document_count", pa.int64()),
        ("occurrences", pa.int64()),
    ]
)

# a stretch's windows are the window rows of its request from `start` to `start + windows - 1`
STRETCH_SCHEMA = pa.schema(
    [
        ("family", pa.string()),
        ("number", pa.int64()),
        ("start", pa.int32()),
        ("windows", pa.int32()),
        ("tokens", pa.int32()),
        ("kind", pa.string()),
        ("data", pa.large_binary()),
        ("documents_min", pa.int64()),
        ("documents_max", pa.int64()),
    ]
)

# one row for each generation, also for those in which nothing was found
MATCH_SCHEMA = pa.schema(
    [
        ("family", pa.string()),
        ("number", pa.int64()),
        ("generated_tokens", pa.int64()),
        ("generated_bytes", pa.int64()),
        ("extracted_tokens", pa.int64()),
        ("extracted_bytes", pa.int64()),
        ("low_entropy_tokens", pa.int64()),
        ("digest", pa.binary(HASH_BYTES)),
    ]
)


class MatchTables:
    """Collects the matches of a part's generations and turns them into its four tables."""

    def __init__(self, rule: MatchRule) -> None:
        self._key = rule.key
        self._matches: list[dict[str, object]] = []
        self._spans: list[dict[str, object]] = []
        self._stretches: list[dict[str, object]] = []
        self._windows: list[pa.RecordBatch] = []

    def add(self, family: str, number: int, token_ids: Sequence[int], match: GenerationMatch) -> None:
        """Add one generation; each request of a part exactly once.

        Args:
            family: its prompt family.
            number: its number within the family.
            token_ids: every sampled token.
            match: what was found in it.
        """
        place = {"family": family, "number": number}
        digest = window_hash(np.asarray(token_ids, dtype="<i4").tobytes(), self._key)
        counts = {name: getattr(match, name) for name in MATCH_SCHEMA.names[3:7]}
        self._matches.append({**place, "generated_tokens": len(token_ids), **counts, "digest": digest})
        self._spans += [{**place, "start": s.start, "tokens": s.end - s.start} for s in match.spans]
        self._stretches += [{**place, **vars(stretch)} for stretch in match.stretches]
        if match.windows.hashes:
            self._windows.append(_window_rows(family, number, match.windows))

    def tables(self) -> dict[str, pa.Table]:
        """The tables `matches`, `spans`, `windows` and `stretches`, each of its declared schema."""
        return {
            "matches": pa.Table.from_pylist(self._matches, schema=MATCH_SCHEMA),
            "spans": pa.Table.from_pylist(self._spans, schema=SPAN_SCHEMA),
            "windows": pa.Table.from_batches(self._windows, schema=WINDOW_SCHEMA).combine_chunks(),
            "stretches": pa.Table.from_pylist(self._stretches, schema=STRETCH_SCHEMA),
        }


def _window_rows(family: str, number: int, windows: Windows) -> pa.RecordBatch:
    size = len(windows.hashes)
    kinds = pa.DictionaryArray.from_arrays(pa.array(windows.kinds), pa.array(KINDS)).cast(pa.string())
    columns = [
        pa.repeat(family, size),
        pa.repeat(pa.scalar(number, pa.int64()), size),
        pa.array(windows.starts, pa.int32()),
        pa.array(windows.hashes, pa.binary(HASH_BYTES)),
        kinds,
        pa.array(windows.documents),
        pa.array(windows.occurrences),
    ]
    return pa.record_batch(columns, schema=WINDOW_SCHEMA)
