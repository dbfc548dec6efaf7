"""Text for the benchmarks: files of /usr and of the Python installation, and what a model might generate from them.

Knows nothing of any index.
"""

import os
import random
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOTS = ("/usr/share", "/usr/include", "/usr/lib", sysconfig.get_paths()["stdlib"])
LARGEST_FILE = 3 << 20
SCHEMA = pa.schema([("text", pa.large_string())])
ROW_GROUP_BYTES = 16 << 20
VOCABULARY_FILES = 5000
SAMPLE = 3000
LONGEST_WORD = 60
WORD = re.compile(rb"([A-Za-z]{3,})")


@dataclass(frozen=True)
class Written:
    """A corpus that was written.

    Attributes:
        size: bytes of text.
        documents: number of documents.
        sample: up to 3,000 of the documents, drawn at random.
    """

    size: int
    documents: int
    sample: list[bytes]


def documents(size: int) -> Iterator[bytes]:
    """Files in a shuffled order, until there are `size` bytes of text.

    Where the machine holds less, the files come again with other words: each frequent word gives way to another of its
    length, by a permutation of their own for each further pass. So the text is new and still reads like text.
    """
    paths = _paths()
    words: dict[bytes, bytes] = {}
    for number in count():
        if number:
            words = _permutation(paths[:VOCABULARY_FILES], number)
        for text in filter(None, map(_read, paths)):
            yield _renewed(text, words) if words else text
            size -= len(text)
            if size <= 0:
                return


def machine_files(wanted: Callable[[Path], bool]) -> Iterator[bytes]:
    """The texts of some of this machine's files, in a shuffled order that is always the same."""
    return filter(None, map(_read, filter(wanted, _paths())))


def _paths() -> list[Path]:
    paths = [
        Path(folder, name) for root in ROOTS for folder, _, names in os.walk(root) for name in sorted(names)
    ]
    paths.sort()
    random.Random(1).shuffle(paths)
    return paths


def _read(path: Path) -> bytes:
    """The text of a file; nothing for what is no plain UTF-8 text."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return b""
        data = path.read_bytes()
        data.decode()
    except (OSError, UnicodeDecodeError):
        return b""
    return b"" if b"\0" in data else data


def _permutation(paths: Iterable[Path], seed: int) -> dict[bytes, bytes]:
    """Give each word of some files another one of the same length."""
    found = {word for path in paths for word in WORD.findall(_read(path))}
    of_length: dict[int, list[bytes]] = {}
    for word in sorted(found):
        of_length.setdefault(len(word), []).append(word)
    choice = random.Random(seed)
    return {
        word: other
        for words in of_length.values()
        for word, other in zip(words, choice.sample(words, len(words)), strict=True)
    }


def _renewed(text: bytes, words: dict[bytes, bytes]) -> bytes:
    pieces = WORD.split(text)
    pieces[1::2] = [words.get(word, word) for word in pieces[1::2]]
    return b"".join(pieces)


def write_parquet(path: Path, texts: Iterable[bytes]) -> Written:
    """Write a corpus in row groups of some 16 MB."""
    size = number = batched = 0
    batch: list[bytes] = []
    sample: list[bytes] = []
    choice = random.Random(5)
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for number, text in enumerate(texts, 1):
            batch.append(text)
            size += len(text)
            batched += len(text)
            place = number - 1 if number <= SAMPLE else choice.randrange(number)
            if place < SAMPLE:
                sample[place : place + 1] = [text]
            if batched >= ROW_GROUP_BYTES:
                writer.write_table(_table(batch))
                batch, batched = [], 0
        writer.write_table(_table(batch))
    return Written(size, number, sample)


def _table(batch: Sequence[bytes]) -> pa.Table:
    return pa.table({"text": pa.array(batch, pa.large_binary()).cast(pa.large_string())}, schema=SCHEMA)


def generated(corpus: Sequence[bytes], share: float, size: int) -> list[bytes]:
    """Texts of 2,000 bytes, a share of them cut from the corpus in pieces of 400, the rest its words shuffled."""
    choice = random.Random(7)
    found = {word for document in corpus[:300] for word in document.split() if len(word) <= LONGEST_WORD}
    words = sorted(found) or [b"-"]
    texts = []
    for _ in range(0, size, 2000):
        text = b""
        while len(text) < 2000:
            if choice.random() < share:
                document = choice.choice(corpus)
                start = choice.randrange(max(1, len(document) - 400))
                text += document[start : start + 400] or b"-"
            else:
                text += b" ".join(choice.choices(words, k=60))[:400] + b" "
        texts.append(text[:2000])
    return texts
