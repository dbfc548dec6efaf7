"""Tags texts in batches: flat memory over any number of texts, any length of text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from extraction.identifiers.folding import encodable
from extraction.identifiers.matching import Candidate, resolve
from extraction.identifiers.pieces import Piece, Span, name_runs, pieces_of
from extraction.identifiers.records import Finding
from extraction.identifiers.settings import IdentifierSettings

_BATCH_CHARACTERS, _BATCH_TEXTS = 400_000, 1_000
_DOCS_AT_ONCE = 64


class Tagger:
    """Finds identifiers in texts.

    The pipeline is loaded with the first text: a tagger can be made, and sent elsewhere, at no cost.
    """

    def __init__(self, settings: IdentifierSettings | None = None) -> None:
        """Keep the settings."""
        self._settings = settings or IdentifierSettings()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as settings; the pipeline is loaded again on arrival."""
        return Tagger, (self._settings,)

    @cached_property
    def _pipeline(self) -> Any:
        from extraction.identifiers.component import load_pipeline

        return load_pipeline(self._settings)

    def tag(self, texts: Iterable[str]) -> Iterator[list[Finding]]:
        """Tag texts.

        Args:
            texts: any number, of any length and content; read as results are taken.

        Yields:
            The findings of each text, in its order, sorted by offset, none overlapping another.

        Raises:
            Exception: whatever went wrong inside; a text is never reported as free of identifiers because
                tagging failed.
        """
        for batch in _batches(texts):
            # Strings and documents made inside the zone are freed at its end; findings are plain Python.
            with self._pipeline.memory_zone():
                results = self._tag_batch(batch)
            yield from results

    def _tag_batch(self, texts: Sequence[str]) -> list[list[Finding]]:
        pieces = [
            (number, piece) for number, text in enumerate(texts) for piece in pieces_of(encodable(text))
        ]
        found: list[list[Candidate]] = [[] for _ in texts]
        runs: list[tuple[int, Piece, Span]] = []
        for (number, piece), candidates in zip(pieces, self._by_rule([p for _, p in pieces]), strict=True):
            found[number].extend(_own(piece, candidates, 0))
            places = ((one.start, one.end) for one in candidates)
            runs += ((number, piece, run) for run in self._left_to_read(piece, places))
        for (number, piece, run), names in zip(runs, self._by_model(runs), strict=True):
            found[number].extend(_own(piece, names, run[0]))
        return [_findings(text, resolve(group)) for text, group in zip(texts, found, strict=True)]

    def _left_to_read(self, piece: Piece, places: Iterable[Span]) -> list[Span]:
        return name_runs(piece.text, places) if "ner" in self._pipeline.pipe_names else []

    def _by_rule(self, pieces: Sequence[Piece]) -> Iterator[list[Candidate]]:
        from extraction.identifiers.component import SPANS_KEY

        nlp = self._pipeline
        docs = (nlp.tokenizer.lines(piece.text) for piece in pieces)
        others = [pipe for pipe in nlp.pipe_names if pipe != "identifiers"]
        for doc in nlp.pipe(docs, batch_size=_DOCS_AT_ONCE, disable=others):
            yield doc.spans[SPANS_KEY].attrs["candidates"]

    def _by_model(self, runs: Sequence[tuple[int, Piece, Span]]) -> Iterator[list[Candidate]]:
        nlp = self._pipeline
        component = nlp.get_pipe("identifiers")
        docs = (nlp.tokenizer(piece.text[slice(*run)]) for _, piece, run in runs)
        return map(component.names, nlp.pipe(docs, batch_size=_DOCS_AT_ONCE, disable=["identifiers"]))


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_TEXTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _own(piece: Piece, candidates: Iterable[Candidate], start: int) -> Iterator[Candidate]:
    """Those that belong to the piece, by their place in the whole text; `start` is where their part of it begins."""
    for one in candidates:
        if piece.own_start <= one.start + start < piece.own_end:
            move = start + piece.offset
            yield replace(one, start=one.start + move, end=one.end + move)


def _findings(text: str, candidates: Sequence[Candidate]) -> list[Finding]:
    marks = sorted({0, *(one.start for one in candidates), *(one.end for one in candidates)})
    bytes_at = {0: 0}
    for low, high in pairwise(marks):
        bytes_at[high] = bytes_at[low] + len(text[low:high].encode("utf-8", "surrogatepass"))
    return [
        Finding(
            type=one.type,
            value=one.value,
            text=text[one.start : one.end],
            start=one.start,
            end=one.end,
            validated=one.validated,
            context=one.context,
            recogniser=one.recogniser,
            start_byte=bytes_at[one.start],
            end_byte=bytes_at[one.end],
        )
        for one in candidates
    ]
