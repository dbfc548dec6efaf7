"""An open index: finds, counts and lists over all of its segments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from index.errors import SourceError
from index.layout import layout_for
from index.manifest import damaged_descriptions, read_manifest
from index.memory import free_memory
from index.query import QueryBuffer, query_buffers
from index.segment import Segment

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Range:
    """A piece `text[start:end]` of a text that was looked up, in bytes."""

    start: int
    end: int


@dataclass(frozen=True)
class Counts:
    """Counts of some texts: int64[n] documents that hold each, int64[n] places in all documents."""

    documents: Int64
    occurrences: Int64


@dataclass(frozen=True)
class IndexInfo:
    """What an index holds.

    Attributes:
        min_bytes: the shortest match that is promised to be found.
        documents: records, copies counted.
        distinct_documents: different texts.
        text_bytes: bytes of all records, copies counted.
        segments: number of segments.
        fingerprint: hex; a function of the multiset of (id, text) alone.
        skipped_records: bad records that were left out; any makes the index incomplete.
        not_text_files: files of source folders that were left out because they are no UTF-8 text.
        sources: the sources as they were given.
    """

    min_bytes: int
    documents: int
    distinct_documents: int
    text_bytes: int
    segments: int
    fingerprint: str
    skipped_records: int
    not_text_files: int
    sources: tuple[str, ...]


def open_index(directory: str | Path) -> "Index":
    """Open an index.

    Raises:
        SourceError: the folder is missing, truncated, unfinished or no index.
    """
    return Index(Path(directory))


class Index:
    """An open index. Cheap to open and to pickle; files are mapped when they are first used."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        manifest = read_manifest(directory)
        self._segments = [Segment(directory / "segments" / name) for name in manifest.segments]
        sizes = (size for segment in self._segments for size, _ in segment.info.files.values())
        scarce = sum(sizes) > free_memory()
        for segment in self._segments:
            segment.scarce = scarce
        self._manifest = manifest
        try:
            self.key = (directory / "key").read_bytes()
        except OSError as error:
            raise SourceError(
                f"{directory / 'key'}: missing or unreadable; the index is truncated"
            ) from error

    def __reduce__(self) -> tuple[Callable[[str], "Index"], tuple[str]]:
        return open_index, (str(self.directory),)

    @property
    def info(self) -> IndexInfo:
        """What the index holds."""
        infos = [segment.info for segment in self._segments]
        sums = [sum(info.fingerprint[lane] for info in infos) % (1 << 64) for lane in range(2)]
        return IndexInfo(
            min_bytes=self._manifest.min_bytes,
            documents=sum(info.documents for info in infos),
            distinct_documents=sum(info.distinct_documents for info in infos) - len(self._repeated),
            text_bytes=sum(info.text_bytes for info in infos),
            segments=len(infos),
            fingerprint=f"{sums[0]:016x}{sums[1]:016x}",
            skipped_records=self._manifest.skipped_records,
            not_text_files=self._manifest.not_text_files,
            sources=self._manifest.sources,
        )

    def find(self, texts: Sequence[bytes], min_bytes: int | None = None) -> list[list[Range]]:
        """Find all maximal ranges of each text that stand contiguously in one document.

        Args:
            texts: what to look up, any bytes.
            min_bytes: the shortest range to report; the index's own minimum where it is None.

        Returns:
            For each text its ranges, ascending, none inside another, not trimmed to whole characters.

        Raises:
            SourceError: `min_bytes` is below what the index was built for.
        """
        least = self.checked_minimum(min_bytes)
        found: list[list[Range]] = [[] for _ in texts]
        for buffer in query_buffers(texts, least):
            begins, ends = self._ranges(buffer, least)
            owners = np.searchsorted(buffer.firsts, begins, side="right") - 1
            offsets = buffer.firsts[owners]
            numbers = buffer.numbers[owners]
            for number, begin, end in zip(
                numbers.tolist(), (begins - offsets).tolist(), (ends - offsets).tolist(), strict=True
            ):
                found[number].append(Range(begin, end))
        return found

    def checked_minimum(self, min_bytes: int | None) -> int:
        """Settle the shortest match to report.

        Raises:
            SourceError: `min_bytes` is below what the index was built for.
        """
        built = self._manifest.min_bytes
        if min_bytes is not None and min_bytes < built:
            raise SourceError(
                f"{self.directory}: built for matches of {built} bytes or more, not {min_bytes}"
            )
        return min_bytes or built

    def _ranges(self, buffer: QueryBuffer, least: int) -> tuple[Int64, Int64]:
        from index.runs import find_run_ranges
        from index.search import find_ranges

        span = (buffer.data, buffer.firsts[0], buffer.lasts[-1])
        parts = []
        for segment in self._segments:
            t = segment.tables
            parts.append(grow(partial(find_ranges, t, *span, least), 2))
            parts.append(grow(partial(find_run_ranges, t.runs, *span, t.layout, least), 2))
        begins, ends = (np.concatenate([part[column] for part in parts]) for column in range(2))
        return maximal(begins, ends)

    def count(self, texts: Sequence[bytes]) -> Counts:
        """Count the documents and places that hold each text exactly.

        Args:
            texts: each at least `info.min_bytes` long.

        Raises:
            ValueError: a text is shorter.
        """
        counts = Counts(np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.int64))
        for buffer, _, documents, occurrences, _ in self._counted(texts, 0):
            counts.documents[buffer.numbers] += documents
            counts.occurrences[buffer.numbers] += occurrences
        return counts

    def document_ids(self, texts: Sequence[bytes], limit: int = 10) -> list[list[str]]:
        """List the first `limit` ids, in stored order, of the documents that hold each text.

        Args:
            texts: each at least `info.min_bytes` long.
            limit: the most ids for a text.

        Raises:
            ValueError: a text is shorter.
        """
        ids: list[list[str]] = [[] for _ in texts]
        for buffer, segment, _, _, kept in self._counted(texts, limit):
            for row, column in np.argwhere(kept >= 0).tolist():
                own = ids[buffer.numbers[row]]
                if len(own) < limit:
                    own += segment.ids_of(int(kept[row, column]), limit - len(own))
        return ids

    def document_holding(self, text: bytes, name: str, among: int = 10) -> bytes | None:
        """The text of the document of this id, if it is one of the first of its segment that hold a text."""
        for _, segment, _, _, kept in self._counted([text], among):
            for document in kept[kept >= 0].tolist():
                if name in segment.ids_of(document):
                    return segment.document(document)
        return None

    def _counted(
        self, texts: Sequence[bytes], limit: int
    ) -> Iterator[tuple[QueryBuffer, Segment, Int64, Int64, Int64]]:
        """Count texts buffer by buffer in each segment, with the first `limit` documents of each; -1 is none."""
        from index.counting import count_texts

        if any(len(text) < self._manifest.min_bytes for text in texts):
            raise ValueError(f"texts to look up must have at least {self._manifest.min_bytes} bytes")
        for buffer in query_buffers(texts, 0):
            for segment in self._segments:
                documents, occurrences = (np.zeros(buffer.numbers.size, dtype=np.int64) for _ in range(2))
                kept = np.full((buffer.numbers.size, limit), -1, dtype=np.int64)
                seen = np.zeros(segment.info.distinct_documents, dtype=np.int64)
                span = (segment.tables, buffer.data, buffer.firsts, buffer.lasts)
                done, needed = 0, max(1024, limit)
                while needed:
                    room = np.empty(needed, dtype=np.int64)
                    done, needed = count_texts(*span, done, room, documents, occurrences, kept, seen)
                yield buffer, segment, documents, occurrences, kept

    def count_windows(self, text: bytes, starts: Int64, ends: Int64) -> Counts:
        """Count the documents and places that hold each of many windows of one text.

        The occurrences of the text's pieces are found once; each window is counted from those that cover it.

        Args:
            text: any bytes.
            starts: int64[n], ascending.
            ends: int64[n], ascending; each window at least `info.min_bytes` long.

        Raises:
            ValueError: the windows are shorter or do not ascend.
        """
        from index.windows import count_in_segment

        starts, ends = np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)
        counts = Counts(np.zeros(starts.size, dtype=np.int64), np.zeros(starts.size, dtype=np.int64))
        if not starts.size:
            return counts
        if (np.diff(starts) < 0).any() or (np.diff(ends) < 0).any():
            raise ValueError("windows must ascend")
        if starts[0] < 0 or ends[-1] > len(text) or int((ends - starts).min()) < self._manifest.min_bytes:
            raise ValueError(
                f"windows must lie in the text and have at least {self._manifest.min_bytes} bytes"
            )
        (buffer,) = query_buffers([text[starts[0] : ends[-1]]], 0)
        firsts, lasts = starts - starts[0] + buffer.firsts[0], ends - starts[0] + buffer.firsts[0]
        periodic = self._periodic(buffer, firsts, lasts)
        for segment in self._segments:
            documents, occurrences = count_in_segment(segment, buffer, firsts[~periodic], lasts[~periodic])
            counts.documents[~periodic] += documents
            counts.occurrences[~periodic] += occurrences
        # The windows of a run are few different texts, and too many places to list.
        windows = {n: text[starts[n] : ends[n]] for n in np.flatnonzero(periodic).tolist()}
        different = {window: number for number, window in enumerate(dict.fromkeys(windows.values()))}
        counted = self.count(list(different))
        for n, window in windows.items():
            counts.documents[n] = counted.documents[different[window]]
            counts.occurrences[n] = counted.occurrences[different[window]]
        return counts

    def _periodic(self, buffer: QueryBuffer, firsts: Int64, lasts: Int64) -> npt.NDArray[np.bool_]:
        from index.counting import mark_periodic

        periodic = np.zeros(firsts.size, dtype=np.bool_)
        mark_periodic(buffer.data, firsts, lasts, layout_for(self._manifest.min_bytes).numbers, periodic)
        return periodic

    def count_strings(
        self, strings: Sequence[str], *, ignore_case: bool = False, whole_words: bool = False
    ) -> Counts:
        """Count the documents and places that hold each of some short strings, by one pass over the text.

        Args:
            strings: none empty.
            ignore_case: compare case-folded text.
            whole_words: do not count a string inside a longer word (letters, digits, underscore).

        Raises:
            ValueError: a string is empty.
        """
        from index.strings import count_strings

        return count_strings(self._segments, strings, ignore_case=ignore_case, whole_words=whole_words)

    def documents(self) -> Iterator[tuple[list[str], bytes]]:
        """Each distinct document: the ids of its records, and its text."""
        for shard in self.shards(1):
            yield from shard

    def shards(self, count: int, first_segment: int = 0) -> list["Shard"]:
        """Cut the documents into `count` disjoint parts of about equal text, each picklable and iterable.

        Args:
            count: how many parts.
            first_segment: segments in front of this one, and what they hold already, are left out.
        """
        sizes = [segment.text.size for segment in self._segments]
        before, total = sum(sizes[:first_segment]), sum(sizes[first_segment:])
        bounds = [before + total * number // count for number in range(count + 1)]
        return [
            Shard(str(self.directory), low, high) for low, high in zip(bounds[:-1], bounds[1:], strict=True)
        ]

    @property
    def _repeated(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Documents that an earlier segment holds too, mapped to their first place; (segment, document)."""
        if not hasattr(self, "_repeated_documents"):
            from index.duplicates import repeated_documents

            self._repeated_documents = repeated_documents(self._segments)
        return self._repeated_documents

    @property
    def work(self) -> tuple[int, int]:
        """Groups of seeds looked at and bytes of text compared since the index was opened: what look-ups cost."""
        groups, compared, _ = np.sum([segment.tables.work for segment in self._segments], axis=0).tolist()
        return groups, compared

    def verify(self) -> list[Path]:
        """Read every file and name those that differ from what was written; an empty list is good news."""
        damaged = damaged_descriptions(self.directory)
        for segment in self._segments:
            damaged += segment.damaged_files()
        return damaged


@dataclass(frozen=True)
class Shard:
    """A part of an index's distinct documents: those that begin in a stretch of all segments' text."""

    directory: str
    low: int
    high: int

    def __iter__(self) -> Iterator[tuple[list[str], bytes]]:
        index = open_index(self.directory)
        later: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for place, first in index._repeated.items():
            later.setdefault(first, []).append(place)
        before = 0
        for number, segment in enumerate(index._segments):
            bounds = np.array([self.low - before, self.high - before])
            first, last = np.searchsorted(segment.starts[:-1], bounds).tolist()
            before += segment.text.size
            for document in range(first, last):
                if (number, document) in index._repeated:
                    continue
                places = [(number, document), *later.get((number, document), [])]
                ids = [name for s, d in places for name in index._segments[s].ids_of(d)]
                yield ids, segment.document(document)


def grow(fill: Callable[..., int], columns: int) -> list[Int64]:
    """Call a kernel that fills arrays and says how many rows it has; again with larger ones if needed."""
    size = 1 << 16
    while True:
        arrays = [np.empty(size, dtype=np.int64) for _ in range(columns)]
        found = fill(*arrays)
        if found <= size:
            return [array[:found] for array in arrays]
        size = found


def maximal(begins: Int64, ends: Int64) -> tuple[Int64, Int64]:
    """Keep the ranges that lie in no other, ascending, each once."""
    if not begins.size:
        return begins, ends
    order = np.lexsort((-ends, begins))
    begins, ends = begins[order], ends[order]
    reach = np.maximum.accumulate(ends)
    keep = np.ones(begins.size, dtype=np.bool_)
    keep[1:] = ends[1:] > reach[:-1]
    return begins[keep], ends[keep]
