"""Writes the demo's corpus: transcripts for training, a held-out set, public text, and the truth.

Outside the three disclaimers no two calls share 50 bytes, and no call shares 50 bytes with the public
text: a window of at least 50 tokens that stands in one call therefore stands in its copies alone. The
numbers in `truth.json` are counted in the written documents, not taken from the plan. All of it is a
function of the seed (and of faker's release).
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.demo import grammar
from pipelines.demo.people import PRACTICE_PHONES, PRIVATE_PHONES, TRIES, Cast

WINDOW_BYTES = 50
COPIES = {100: 4, 20: 2, 5: 4, 2: 6, 1: 30}
HELD_OUT = 60
PRACTICE = 120
PUBLIC_TEXTS = 480
FORWARDED_FROM = 20
DOCUMENT_SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string())])
TRANSCRIPTS, HELD_OUT_FILE, HELD_OUT_PARTS, PUBLIC, PUBLIC_TEXT, TRUTH = (
    "transcripts.parquet",
    "held_out.parquet",
    "held_out_parts.parquet",
    "public.parquet",
    "public.txt",
    "truth.json",
)


@dataclass(frozen=True)
class Planted:
    """A text that was put into the corpus on purpose.

    Attributes:
        name: what it is called in reports, without its text.
        documents: the number of training documents that hold it, counted.
        sha256: of the UTF-8 text.
        text: the text itself.
    """

    name: str
    documents: int
    sha256: str
    text: str


@dataclass(frozen=True)
class Truth:
    """What is known about a demo corpus.

    Attributes:
        seed: that it was made from.
        documents: training documents.
        distinct_documents: different texts among them.
        held_out_documents: documents never trained on.
        disclaimers: boilerplate, each standing in hundreds of training documents.
        calls: the calls without their disclaimers, those in most documents first.
        held_out_calls: the same of the documents never trained on; they stand in no training document.
    """

    seed: int
    documents: int
    distinct_documents: int
    held_out_documents: int
    disclaimers: tuple[Planted, ...]
    calls: tuple[Planted, ...]
    held_out_calls: tuple[Planted, ...]

    def planted(self, documents: int) -> list[Planted]:
        """The calls that stand in exactly so many training documents."""
        return [call for call in self.calls if call.documents == documents]


@dataclass
class Calls:
    """Composes calls that share no window with one another or with text that was shown before."""

    cast: Cast
    _seen: set[bytes] = field(default_factory=set)

    def show(self, texts: Iterable[str]) -> None:
        """Remember texts whose windows no call may hold."""
        for text in texts:
            self._seen.update(_windows(text.encode()))

    def compose(self, phones: tuple[str, ...] = PRIVATE_PHONES) -> str:
        """Write one call; a draft that holds a window seen before is thrown away whole."""
        for _ in range(TRIES):
            slots = self.cast.caller(phones)
            lines = grammar.call_lines(self.cast.rng)
            text = "\n".join(grammar.fill(line, slots, self.cast.rng) for line in lines)
            windows = _windows(text.encode())
            if self._seen.isdisjoint(windows):
                self._seen |= windows
                return text
        raise RuntimeError(
            "the demo's grammar cannot write another call unlike the others; ask for fewer documents"
        )


def write_corpus(directory: Path, seed: int) -> Truth:
    """Write the demo's corpus.

    Args:
        directory: made, readable by its owner alone. Gets `transcripts.parquet`, `held_out.parquet`,
            `held_out_parts.parquet` (the same, cut where a disclaimer begins or ends: a window across such
            an edge holds a disclaimer and the first word beside it, which chance can write),
            `public.parquet` (`id` and `text` all of them), `public.txt` (a text on each line) and `truth.json`.
        seed: the corpus is a function of it.

    Returns:
        What `truth.json` holds.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    cast = Cast(seed)
    calls = Calls(cast)
    public = _public_texts(cast)
    calls.show([*public, *_disclaimers().values()])
    public += [calls.compose(PRACTICE_PHONES) for _ in range(PRACTICE)]
    bodies = {copies: [calls.compose() for _ in range(number)] for copies, number in COPIES.items()}
    documents = _documents(bodies, cast)
    held_out = [calls.compose() for _ in range(HELD_OUT)]
    truth = _count(seed, documents, [body for group in bodies.values() for body in group], held_out)
    _write_documents(directory / TRANSCRIPTS, "call", documents)
    dressed = [_dress(body, number) for number, body in enumerate(held_out)]
    _write_documents(directory / HELD_OUT_FILE, "held-out", dressed)
    parts = [part for number, body in enumerate(held_out) for part in _parts(body, number)]
    _write_documents(directory / HELD_OUT_PARTS, "held-out-part", parts)
    _write_documents(directory / PUBLIC, "public", public)
    lines = "".join(" ".join(text.split()) + "\n" for text in public)
    _write_private(directory / PUBLIC_TEXT, lines.encode())
    _write_private(directory / TRUTH, json.dumps(asdict(truth), indent=1, ensure_ascii=False).encode())
    return truth


def read_truth(directory: Path) -> Truth:
    """Read `truth.json` of a demo corpus."""
    held = json.loads((directory / TRUTH).read_text(encoding="utf-8"))
    for part in ("disclaimers", "calls", "held_out_calls"):
        held[part] = tuple(Planted(**planted) for planted in held[part])
    return Truth(**held)


def read_texts(path: Path) -> list[str]:
    """Read the texts of one of the corpus' Parquet files, in their order."""
    return list(pq.read_table(path, columns=["text"]).column("text").to_pylist())


def _windows(data: bytes) -> set[bytes]:
    return {data[start : start + WINDOW_BYTES] for start in range(len(data) - WINDOW_BYTES + 1)}


def _disclaimers() -> dict[str, str]:
    return {"notice": grammar.NOTICE, "confidential": grammar.CONFIDENTIAL, "protection": grammar.PROTECTION}


def _public_texts(cast: Cast) -> list[str]:
    # A template in turn, so that each kind is there in equal number.
    templates = (grammar.PUBLIC[number % len(grammar.PUBLIC)] for number in range(PUBLIC_TEXTS))
    return [grammar.fill(template, cast.publication(), cast.rng) for template in templates]


def _parts(body: str, number: int) -> list[str]:
    """A call and the disclaimers around it, as the bank's clerks put them there or forget to."""
    opening = grammar.NOTICE if number % 2 == 0 else ""
    closing = (grammar.CONFIDENTIAL, grammar.PROTECTION, grammar.CONFIDENTIAL, grammar.PROTECTION, "")[
        number % 5
    ]
    return [part for part in (opening, body, closing) if part]


def _dress(body: str, number: int) -> str:
    return "\n".join(_parts(body, number))


def _documents(bodies: Mapping[int, Sequence[str]], cast: Cast) -> list[str]:
    """Copy and dress the calls, in a drawn order.

    Every second copy of a much-copied call was forwarded and says so on top, so that not all copies are
    identical documents.
    """
    documents = []
    for copies, group in bodies.items():
        for number, body in enumerate(group):
            dressed = _dress(body, number)
            for copy in range(copies):
                note = (
                    grammar.FORWARDED[copy // 2 % 2] + "\n" if copies >= FORWARDED_FROM and copy % 2 else ""
                )
                documents.append(note + dressed)
    cast.rng.shuffle(documents)
    return documents


def _count(seed: int, documents: Sequence[str], bodies: Sequence[str], held_out: Sequence[str]) -> Truth:
    """Count, text by text and document by document, what stands where."""

    def planted(name: str, text: str) -> Planted:
        holding = sum(text in document for document in documents)
        return Planted(name, holding, sha256(text.encode()).hexdigest(), text)

    def numbered(prefix: str, texts: Sequence[str]) -> tuple[Planted, ...]:
        return tuple(planted(f"{prefix}-{number:04d}", text) for number, text in enumerate(texts))

    return Truth(
        seed=seed,
        documents=len(documents),
        distinct_documents=len(set(documents)),
        held_out_documents=len(held_out),
        disclaimers=tuple(planted(name, text) for name, text in _disclaimers().items()),
        calls=numbered("call", bodies),
        held_out_calls=numbered("held-out-call", held_out),
    )


def _write_documents(path: Path, prefix: str, texts: Sequence[str]) -> None:
    ids = [f"{prefix}-{number:05d}" for number in range(len(texts))]
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"id": ids, "text": list(texts)}, schema=DOCUMENT_SCHEMA), sink, compression="zstd"
    )
    _write_private(path, sink.getvalue().to_pybytes())


def _write_private(path: Path, data: bytes) -> None:
    """Write a file that its owner alone can read, whole or not at all."""
    temporary = path.with_name(f".{path.name}.writing")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    temporary.replace(path)
