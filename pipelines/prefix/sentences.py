"""Sentences for the games: the drawn documents tagged on Ray, an identifier masked in each, and what is asked then."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import Any

import pyarrow as pa

from extraction.errors import InputError
from extraction.games.leaks import Value
from extraction.games.sentences import Masked, masked_sentences
from extraction.identifiers.settings import IdentifierSettings
from extraction.model import token_ids
from pipelines.parts import PartStore
from pipelines.pool import Facts
from pipelines.prefix.config import Games
from pipelines.prefix.documents import Sample
from pipelines.prefix.planning import plan_requests, request_row

FAMILY = "reconstruction"
MASKED_SCHEMA = pa.schema([(name, pa.string()) for name in ("type", "value", "text", "left", "right")])
SENTENCE_SCHEMA = pa.schema(
    [
        ("sentence", pa.int64()),
        *MASKED_SCHEMA,
        ("known", pa.bool_()),
        ("candidates", pa.list_(pa.string())),
        ("true", pa.list_(pa.bool_())),
    ]
)


@dataclass(frozen=True)
class MaskJob:
    """Tags one part of the drawn documents after another, and masks each identifier.

    Attributes:
        settings: how identifiers are tagged.
        sample: the documents.
        masked: where the sentences go.
    """

    settings: IdentifierSettings
    sample: Sample
    masked: PartStore

    def start(self) -> Callable[[str], Facts]:
        """Load the tagger in the worker's own process."""
        from extraction.identifiers import Tagger

        tagger = Tagger(self.settings)

        def process(name: str) -> Facts:
            texts = [document.text.decode("utf-8", "ignore") for document in self.sample.read(name)]
            found = zip(texts, tagger.tag(texts), strict=True)
            rows = [asdict(one) for text, findings in found for one in masked_sentences(text, findings)]
            self.masked.publish(
                name, pa.Table.from_pylist(rows, schema=MASKED_SCHEMA), {"sentences": len(rows)}
            )
            return {}

        return process


def known_values(texts: Sequence[str], settings: IdentifierSettings) -> set[Value]:
    """The identifiers of text that an attacker has."""
    from extraction.identifiers import Tagger

    if not texts:
        return set()
    return {(one.type, one.value) for found in Tagger(settings).tag(texts) for one in found}


def read_known(names: Sequence[str]) -> list[str]:
    """Read the text that an attacker has.

    Raises:
        InputError: a file is missing or no UTF-8.
    """
    texts = []
    for name in names:
        path = Path(name).expanduser()
        if not path.exists():
            raise InputError(f"games.known: {name}: no such file or folder; name text that an attacker has")
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            try:
                texts.append(file.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError):
                raise InputError(f"games.known: {file}: not readable as UTF-8 text; leave it out") from None
    return texts


def choose_sentences(
    masked: PartStore,
    sentences: PartStore,
    games: Games,
    seed: int,
    known: Callable[[], set[Value]],
    part: int,
) -> list[str]:
    """Choose the sentences of the games, each with another identifier, and lists of candidates; once.

    Args:
        masked: parts of `MASKED_SCHEMA`.
        sentences: where the chosen ones go.
        games: how many.
        seed: of the choice.
        known: the identifiers of text that an attacker has.
        part: sentences in one part.

    Returns:
        The names of the parts; the first is always there, and may be empty.
    """
    if (facts := sentences.facts("part-00000")) is None or len(sentences.complete()) < facts["parts"]:
        chosen, pool = _chosen(masked, games.sentences, seed)
        rows = list(_rows(chosen, pool, games.candidates, seed, known()))
        pieces = [rows[at : at + part] for at in range(0, len(rows), part)] or [[]]
        for number, own in reversed(list(enumerate(pieces))):  # the first says how many there are
            table = pa.Table.from_pylist(own, schema=SENTENCE_SCHEMA)
            sentences.publish(f"part-{number:05d}", table, {"parts": len(pieces), "sentences": len(own)})
    return sentences.complete()


def _chosen(masked: PartStore, count: int, seed: int) -> tuple[list[Masked], dict[str, dict[str, str]]]:
    """One sentence for each of some identifiers, and every identifier by type: spelling by value."""
    sentence_of: dict[Value, tuple[bytes, Masked]] = {}
    pool: dict[str, dict[str, str]] = {}
    for row in masked.read_all(MASKED_SCHEMA).to_pylist():
        one = Masked(**row)
        key = _key(seed, one.left, one.text, one.right)
        before = sentence_of.get((one.type, one.value))
        if before is None or key < before[0]:
            sentence_of[one.type, one.value] = key, one
            pool.setdefault(one.type, {})[one.value] = one.text
    drawn = nsmallest(count, sentence_of, key=lambda value: _key(seed, *value))
    return [sentence_of[value][1] for value in drawn], pool


def seed_of(seed: int, purpose: str, number: int) -> int:
    """A seed of its own for one request or sentence, below 2**63."""
    return int.from_bytes(_key(seed, purpose, f"{number}"), "little") >> 1


def _key(seed: int, *parts: str) -> bytes:
    return blake2b(
        "\0".join(parts).encode("utf-8", "surrogatepass"), key=f"{seed}".encode(), digest_size=8
    ).digest()


def _rows(
    chosen: Sequence[Masked], pool: dict[str, dict[str, str]], count: int, seed: int, known: set[Value]
) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(chosen):
        draw = random.Random(f"{seed} {number}")  # noqa: S311 - a list of candidates, no secret
        others = sorted(value for value in pool[one.type] if value != one.value)
        drawn = draw.sample(others, min(count - 1, len(others)))
        listed = [(one.text, True), *((pool[one.type][value], False) for value in drawn)]
        yield {
            "sentence": number,
            **asdict(one),
            "known": (one.type, one.value) in known,
            "candidates": [text for text, _ in listed],
            "true": [true for _, true in listed],
        }


def plan_samples(
    plan: PartStore, sentences: PartStore, games: Games, seed: int, tokenizer: Any, before: Sequence[int]
) -> None:
    """Plan the continuations of each sentence up to its mask, once; a part holds those of one part of sentences.

    A sentence with nothing in front of its mask, and no special token to start from, is not asked about.
    """
    rows = []
    for row in sentences.read_all(SENTENCE_SCHEMA, ["sentence", "left"]).to_pylist():
        # A token often begins with the blank in front of a word, so the model is to write that blank itself.
        prompt = [*before, *token_ids(tokenizer, row["left"].rstrip(" "))]
        first = row["sentence"] * games.samples
        for number in range(first, first + games.samples if prompt else first):
            rows.append(
                request_row(FAMILY, number, prompt, seed_of(seed, FAMILY, number), games.sample_tokens)
            )
    plan_requests(plan, FAMILY, rows, 256)
