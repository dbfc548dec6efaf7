"""`extraction index`: build, extend, check, describe and ask an index of the training corpus."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from index.errors import SourceError

if TYPE_CHECKING:
    from extraction.identifiers import IdentifierSettings

app = typer.Typer(no_args_is_help=True, help="Build, extend, check, describe and ask an index of the corpus.")

Directory = Annotated[Path, typer.Argument(metavar="INDEX", help="The index folder.")]
Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE...", help="Parquet, JSON lines (.gz, .zst), text files, or folders of these."
    ),
]
TextColumn = Annotated[str, typer.Option(help="Column or key that holds the text.")]
IdColumn = Annotated[
    str, typer.Option(help="Column or key that holds the id; where there is none, <file name>:<row>, from 0.")
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad-records", help="Count records that cannot be read, and mark the index.")
]
Memory = Annotated[
    str | None, typer.Option(help="For all workers, such as 4GiB; half of what is free by default.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Tasks at once; every core by default.")]
RayAddress = Annotated[str | None, typer.Option(help="A Ray cluster that sees the same folders.")]
Identifiers = Annotated[
    bool, typer.Option("--identifiers", help="Tag the corpus and store its names and numbers in the index.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="A YAML file whose section `identifiers` says what is tagged.")
]

UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
LEAST_MEMORY = 256 << 20  # what the program takes before it reads a byte
ROWS_AT_ONCE = 1000
IDS_SHOWN = 10


@app.command()
def build(
    sources: Sources,
    out: Annotated[Path, typer.Option("--out", help="The index folder to make.")],
    min_bytes: Annotated[
        int, typer.Option(min=16, max=10_000, help="The shortest match that will be found.")
    ] = 50,
    text_column: TextColumn = "text",
    id_column: IdColumn = "id",
    skip_bad_records: SkipBad = False,
    memory: Memory = None,
    workers: Workers = None,
    ray_address: RayAddress = None,
    identifiers: Identifiers = False,
    config: Config = None,
) -> None:
    """Build an index. Killed, the same command goes on where it stopped.

    In folders every file is a document (its id is its relative path), and files that are no UTF-8 text, or hold
    zero bytes, are left out and counted; Parquet and JSON lines files in them are read as such, links to folders
    are not followed.

    With --identifiers, the names and numbers of the corpus are stored with their counts, so that look-ups need
    not search the text for those; on an index that is there already, they are added.

    Example: extraction index build corpus/*.parquet --out corpus.index --text-column body
    """
    from pipelines.config import load_identifier_settings

    if config and not identifiers:
        raise SourceError("--config: says how identifiers are tagged; pass --identifiers with it")
    reading = (min_bytes, text_column, id_column, skip_bad_records)
    settings = load_identifier_settings(config) if config else None
    if not (identifiers and _is_built(out, sources, min_bytes)):
        _build(sources, out, reading, memory, workers, add=False, ray_address=ray_address)
    if identifiers:
        _store_identifiers(out, settings, workers, ray_address)
    print(out)


@app.command()
def add(
    directory: Directory,
    sources: Sources,
    text_column: TextColumn = "text",
    id_column: IdColumn = "id",
    skip_bad_records: SkipBad = False,
    memory: Memory = None,
    workers: Workers = None,
    ray_address: RayAddress = None,
) -> None:
    """Append documents to an index without touching what is there.

    Example: extraction index add corpus.index more.jsonl.zst
    """
    from index import open_index
    from pipelines.stored import stored_settings

    reading = (open_index(directory).info.min_bytes, text_column, id_column, skip_bad_records)
    _build(sources, directory, reading, memory, workers, add=True, ray_address=ray_address)
    if settings := stored_settings(directory):
        _store_identifiers(directory, settings, workers, ray_address)
    print(directory)


def _build(
    sources: Sequence[Path],
    directory: Path,
    reading: tuple[int, str, str, bool],
    memory: str | None,
    workers: int | None,
    *,
    add: bool,
    ray_address: str | None,
) -> None:
    from index import BuildOptions, open_index
    from pipelines.index_build import build, with_workers

    options = BuildOptions(*reading, memory=_bytes_of(memory))
    build(sources, directory, with_workers(options, workers), add=add, ray_address=ray_address)
    info = open_index(directory).info
    left_out = (
        f"; {info.not_text_files:,} files that are no text were left out" if info.not_text_files else ""
    )
    bad = f"; incomplete: {info.skipped_records:,} bad records were left out" if info.skipped_records else ""
    print(f"{info.documents:,} documents, {info.text_bytes:,} bytes, {info.segments} segments{left_out}{bad}")


def _is_built(directory: Path, sources: Sequence[Path], min_bytes: int) -> bool:
    """Whether this very index is there, so that only its identifiers are left to store."""
    from index import open_index

    if not (directory / "index.json").exists():
        return False
    info = open_index(directory).info
    return info.sources == tuple(map(str, sources)) and info.min_bytes == min_bytes


def _store_identifiers(
    directory: Path, settings: "IdentifierSettings | None", workers: int | None, ray_address: str | None
) -> None:
    from extraction.identifiers import IdentifierSettings
    from index import open_index
    from pipelines.stored import description
    from pipelines.storing import PART_BYTES, store_identifiers
    from pipelines.workers import runner

    # One part has nothing to spread, and Ray takes seconds to start.
    few = open_index(directory).info.text_bytes <= PART_BYTES
    with runner(1 if few else workers, ray_address) as run:
        store_identifiers(directory, settings or IdentifierSettings(), run)
    stored = description(directory) or {}
    print(f"{stored['values']:,} names and numbers of the corpus are stored")


def _bytes_of(size: str | None) -> int | None:
    """Read a size such as `4GiB`."""
    if size is None:
        return None
    number = size.strip().rstrip("BbIiKkMmGg ")
    unit = size.strip()[len(number) :].strip().upper()
    try:
        found = int(float(number) * UNITS[unit])
    except (ValueError, KeyError, OverflowError) as error:
        raise SourceError("--memory: not a size; write it like 4GiB or 500MB") from error
    if found < LEAST_MEMORY:
        raise SourceError(f"--memory: {size} is too little; give 256MiB or more")
    return found


@app.command()
def verify(directory: Directory) -> None:
    """Read every file of an index and compare it with its checksum.

    Example: extraction index verify corpus.index
    """
    from index import open_index
    from pipelines.stored import damaged_files, description, misfit

    damaged = [*open_index(directory).verify(), *damaged_files(directory)]
    if damaged:
        names = ", ".join(str(path) for path in damaged)
        raise SourceError(f"{names}: differs from what was written; build the index again")
    if description(directory) is not None and (reason := misfit(directory)):
        raise SourceError(f"{directory}: its identifiers {reason}; run its `index build --identifiers` again")
    print(f"{directory}: every file is as it was written")


@app.command()
def info(directory: Directory) -> None:
    """Describe an index as one JSON object.

    Example: extraction index info corpus.index
    """
    from dataclasses import asdict

    from index import open_index
    from pipelines.stored import description

    described = asdict(open_index(directory).info)
    complete = described["skipped_records"] == 0
    stored = (description(directory) or {}).get("values")
    print(json.dumps({**described, "complete": complete, "stored_identifiers": stored}, indent=1))


@app.command()
def find(
    directory: Directory,
    file: Annotated[
        Path, typer.Argument(help='JSON lines, each {"id": ..., "text": ...}; - is standard input.')
    ] = Path("-"),
    min_bytes: Annotated[
        int | None, typer.Option(help="The shortest match; the index's own by default, and no less.")
    ] = None,
) -> None:
    """Find what of each text stands word for word in the corpus.

    Prints one JSON object for each line: its id (its number, from 0, where it has none) and `matches`, start and
    end in bytes of the text's UTF-8, cut to whole characters, the documents and occurrences of each, and the first
    ten document ids.

    Example: extraction index find corpus.index generations.jsonl > matches.jsonl
    """
    from index import open_index
    from pipelines.lookup import matches_of

    index = open_index(directory)
    index.checked_minimum(min_bytes)
    for rows in _in_batches(_records(file)):
        found = matches_of(index, [text for _, text in rows], min_bytes, IDS_SHOWN)
        for (name, _), matches in zip(rows, found, strict=True):
            print(json.dumps({"id": name, "matches": matches}))


def _in_batches(rows: Sequence[tuple[Any, bytes]]) -> Iterator[Sequence[tuple[Any, bytes]]]:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def _records(file: Path) -> list[tuple[Any, bytes]]:
    """Read all lines before anything is printed: a bad one leaves no half of a result behind."""
    piped = str(file) == "-"
    name = "standard input" if piped else str(file)
    try:
        with open(0 if piped else file, "rb", closefd=not piped) as lines:
            return [_record(line, number, name) for number, line in enumerate(lines, 1) if line.strip()]
    except OSError as error:
        raise SourceError(f"{name}: cannot be read ({error.strerror}); name a file of JSON lines") from error


def _record(line: bytes, number: int, file: str) -> tuple[Any, bytes]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file}: line {number} is not JSON; mend or remove it") from error
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise SourceError(f"{file}: line {number} has no string in field text; mend or remove it")
    return record.get("id", number - 1), record["text"].encode("utf-8", "surrogatepass")


@app.command()
def count(
    directory: Directory,
    string: Annotated[
        list[str] | None, typer.Option(help="A string to count; give it again for more.")
    ] = None,
    strings: Annotated[Path | None, typer.Option(help="A UTF-8 file with a string in each line.")] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", help="Compare case-folded text.")] = False,
    whole_words: Annotated[bool, typer.Option("--whole-words", help="Not inside a longer word.")] = False,
) -> None:
    """Count the documents and places that hold short strings; prints one JSON object for each.

    Example: extraction index count corpus.index --string "Jane Doe" --string 555-0100 --whole-words
    """
    from index import open_index

    wanted = [*(string or []), *_lines(strings)]
    if not wanted or not all(wanted):
        raise SourceError("--string: missing or empty; give at least one string of at least one character")
    counts = open_index(directory).count_strings(wanted, ignore_case=ignore_case, whole_words=whole_words)
    for text, documents, occurrences in zip(wanted, counts.documents, counts.occurrences, strict=True):
        print(json.dumps({"string": text, "documents": int(documents), "occurrences": int(occurrences)}))


def _lines(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SourceError(f"{file}: cannot be read ({error.strerror}); name a file of strings") from error
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{file}: line {number} is not UTF-8; mend or remove it") from error
    # Not splitlines(): a string may hold one of the rarer characters that Unicode calls an end of line.
    return [line for line in text.replace("\r\n", "\n").removesuffix("\r").split("\n") if line]
