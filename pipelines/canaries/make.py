"""`extraction canary make`: a copy of a corpus with canaries in it, and the sealed key that says which they are."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from extraction.canaries.key import Canary, Key, sealed
from extraction.canaries.planting import ValueScan, choose_canaries, draw_fillings, draw_places
from extraction.canaries.settings import CanarySettings
from extraction.errors import InputError
from index.pieces import Batch, Piece, ReadOptions
from index.sources import list_pieces, read_documents
from pipelines.canaries.copying import Insert, copy_file
from pipelines.parts import write_json
from pipelines.progress import progress

CORPUS, KEY = "corpus", "key.json"
PREFIX = "canary-"


@dataclass(frozen=True)
class Made:
    """What was made.

    Attributes:
        corpus: the folder of the copy.
        key: the sealed key.
        seal: of the key, to be written down elsewhere.
        canaries: all of them, those never inserted too.
        copies: records added to the corpus.
        records: of the corpus before.
    """

    corpus: Path
    key: Path
    seal: str
    canaries: int
    copies: int
    records: int


@dataclass(frozen=True)
class _Source:
    path: Path
    name: str
    records: int


def make_canaries(settings: CanarySettings, out: Path) -> Made:
    """Draw canaries, copy the corpus with them in it, and seal the key; the key is written last.

    Args:
        settings: which canaries, which corpus.
        out: a new folder, readable by its owner alone; gets `corpus/` and `key.json`.

    Raises:
        InputError: the folder is not empty, a value cannot be drawn, or a file is neither Parquet nor JSON lines.
        SourceError: the corpus cannot be read.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: not empty; name a new directory with --out")
    formats = [form.parsed for form in settings.formats]
    wanted = sum(settings.insertions.values())
    try:
        drawn = draw_fillings(formats, wanted, settings.seed)
        scan = ValueScan([form.value(filling) for form in formats for filling in drawn[form.name]])
        sources = _read(settings, scan)
        canaries = choose_canaries(formats, drawn, scan.standing, settings.insertions)
    except ValueError as error:
        raise InputError(f"canary make: {error}") from error
    records = sum(source.records for source in sources)
    os.makedirs(out, mode=0o700, exist_ok=True)
    _copy(settings, sources, list(_inserts(settings, canaries, records)), out / CORPUS)
    content = sealed(Key(settings.formats, tuple(canaries), settings.seed, records))
    write_json(str(out / KEY), content)
    copies = sum(canary.insertions for canary in canaries)
    return Made(out / CORPUS, out / KEY, content["seal"], len(canaries), copies, records)


def _read(settings: CanarySettings, scan: ValueScan) -> list[_Source]:
    """Look for the values in every record, and count the records of each file."""
    options = ReadOptions(settings.text_column, settings.id_column)
    pieces = list_pieces(settings.sources, options)
    found = []
    with progress("canaries: look for their values in the corpus", "files", 0) as shown:
        for (path, name), own in groupby(pieces, key=lambda piece: (piece.path, piece.name)):
            records = sum(_look(batch, path, scan) for batch in _batches(list(own), options))
            found.append(_Source(Path(path), name, records))
            shown.total += 1
            shown.advance(1)
    _check(settings, found)
    return found


def _batches(pieces: list[Piece], options: ReadOptions) -> Iterator[Batch]:
    if pieces[0].kind == "text":
        raise InputError(f"{pieces[0].path}: neither Parquet nor JSON lines; canaries go into records")
    return read_documents(pieces, options)


def _look(batch: Batch, path: str, scan: ValueScan) -> int:
    if any(name.startswith(PREFIX) for name in batch.ids.to_pylist()):
        raise InputError(f"{path}: has ids that begin with {PREFIX}; name the corpus as it was before")
    for text in batch.texts.to_pylist():
        scan.look(text)
    return len(batch.texts)


def _check(settings: CanarySettings, sources: Sequence[_Source]) -> None:
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise InputError("sources: two files have one name; put them into one folder")
    if not sum(source.records for source in sources):
        raise InputError(f"{settings.sources[0]}: no record in it; is this the corpus that you mean?")


def _inserts(settings: CanarySettings, canaries: Sequence[Canary], records: int) -> Iterator[Insert]:
    """Every copy of every canary, in the order of its place."""
    formats = {form.name: form.parsed for form in settings.formats}
    texts = [formats[canary.format].text(canary.filling) for canary in canaries]
    gaps, which = draw_places(canaries, records, settings.seed)
    for number, (gap, canary) in enumerate(zip(gaps.tolist(), which.tolist(), strict=True)):
        yield Insert(gap, f"{PREFIX}{number:06d}", texts[canary])


def _copy(
    settings: CanarySettings, sources: Sequence[_Source], inserts: Sequence[Insert], folder: Path
) -> None:
    """Copy file by file. Behind the last record of a file is before the first of the next one."""
    before, at, total = 0, 0, sum(source.records for source in sources)
    with progress("canaries: copy the corpus", "files", len(sources)) as shown:
        for source in sources:
            end = before + source.records
            own: list[Insert] = []
            while at < len(inserts) and source.records and (end == total or inserts[at].place < end):
                own.append(Insert(inserts[at].place - before, inserts[at].id, inserts[at].text))
                at += 1
            copy_file(source.path, folder / source.name, own, settings.text_column, settings.id_column)
            before = end
            shown.advance(1)
