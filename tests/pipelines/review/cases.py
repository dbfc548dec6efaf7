"""A small run, written by hand with the real schemas, and a browser-like client for its page."""

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi.testclient import TestClient

from extraction.identifiers.records import IDENTIFIER_SCHEMA
from extraction.model import ModelSettings, load_tokenizer
from extraction.passages import PASSAGE_SCHEMA
from extraction.records import GENERATION_SCHEMA
from index import build_index
from pipelines.listing import LISTING_SCHEMA
from pipelines.parts import PartStore
from pipelines.rank.candidates import CANDIDATE_SCHEMA
from pipelines.review.access import Access, User
from pipelines.review.app import make_app
from pipelines.review.guard import Sites
from pipelines.review.opened import Options, Review, open_review
from tests.pipelines import report_cases

PORT = 8765
SITE = f"http://127.0.0.1:{PORT}"
PASSWORD = "correct horse battery"
ROLES = {"vera": "viewer", "rosa": "reviewer", "rolf": "reviewer", "ada": "admin"}

LETTER = (
    "Dear Ms Whitcombe, your account number 20481377 was closed on Tuesday after our second letter to you."
)
NOTE = "Discharge summary for Tomas Hale: the wound has healed well, he may go home to his own garden now."
COPY = "Discharge summary for Tomas Hale: the wound has healed well, he may go home to his own garden soon."
LICENCE = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software."
FILLER = "- " * 40
SECRETS = ("Ms Whitcombe", "20481377", "Tomas Hale")
PROMPT = "Please go on: "


def passage(name: str, text: str, **changes: Any) -> dict[str, Any]:
    row = {
        "passage_id": name,
        "kind": "private",
        "text": text,
        "tokens": len(text.encode()),
        "bytes": len(text.encode()),
        "document_count": 1,
        "occurrences": 1,
        "document_ids": [f"doc-{name}"],
        "windows": 10,
        "window_documents_min": 1,
        "window_documents_max": 1,
        "low_entropy": False,
        "cluster_id": name,
        "families": ["empty"],
        "first_budget": 10_000,
        "requests": 1,
        "request_ids": [f"empty-{name}"],
        "identifier_types": [],
        "in_control": False,
    }
    return row | changes


PASSAGES = [
    passage("a1", LETTER, identifier_types=["PERSON", "ACCOUNT_NUMBER"]),
    passage("b1", NOTE, identifier_types=["PERSON"], cluster_id="b1", families=["public"]),
    passage("b2", COPY, identifier_types=["PERSON"], cluster_id="b1", first_budget=20_000),
    passage("c1", LICENCE, kind="shared", document_count=4000, in_control=True),
    passage("d1", FILLER, kind="low_entropy", document_count=900, low_entropy=True, in_control=None),
]


def finding(text: str, kind: str, request: str) -> dict[str, Any]:
    row = dict.fromkeys(IDENTIFIER_SCHEMA.names)
    return row | {"request_id": request, "family": "empty", "type": kind, "text": text, "value": text.lower()}


FINDINGS = [
    finding("Ms Whitcombe", "PERSON", "empty-a1"),
    finding("20481377", "ACCOUNT_NUMBER", "empty-a1"),
    finding("Tomas Hale", "PERSON", "empty-b1"),
]


def write_run(folder: Path, rows: list[dict[str, Any]] | None = None, retention: date | None = None) -> Path:
    """A run directory with an index, generations of one token a byte, identifiers and a report."""
    folder.mkdir(parents=True)
    rows = PASSAGES if rows is None else rows
    pq.write_table(pa.Table.from_pylist(rows, schema=PASSAGE_SCHEMA), folder / "passages.parquet")
    generations = PartStore(str(folder / "generations"))
    generations.publish(
        "part-00000", pa.Table.from_pylist([_generation(row) for row in rows], schema=GENERATION_SCHEMA), {}
    )
    tagged = PartStore(str(folder / "identifiers"))
    tagged.publish("part-00000", pa.Table.from_pylist(FINDINGS, schema=IDENTIFIER_SCHEMA), {})
    listed = [
        {
            "type": "ACCOUNT_NUMBER",
            "value": "20481377",
            "group": "ACCOUNT_NUMBER",
            "documents": 1,
            "occurrences": 1,
            "document_ids": ["doc-a1"],
            "control_text_documents": None,
            "requests": 1,
        }
    ]
    table = pa.Table.from_pylist(listed, schema=LISTING_SCHEMA)
    pq.write_table(table, folder / "identifiers" / "in_corpus.parquet")
    config: dict[str, Any] = {
        "model": {"tokenizer": "bytes"},
        "budgets": [10_000, 20_000],
        "corpus": {"index": None},
    }
    config["prompts"] = {"families": {name: {"kind": name} for name in ("empty", "public", "prefix")}}
    config |= {"retention": retention.isoformat()} if retention else {}
    (folder / "run.json").write_text(json.dumps({"run": "small-0001", "config": config}))
    (folder / "report.json").write_text(json.dumps(report_cases.report()))
    return folder


def write_index(folder: Path) -> None:
    """The index of the run's corpus, inside the run directory."""
    documents = folder.parent / f"{folder.name}.jsonl"
    lines = [
        {"id": f"doc-{n}", "text": f"Before it. {t} Behind it."} for n, t in (("a1", LETTER), ("b1", NOTE))
    ]
    documents.write_text("".join(json.dumps(line) + "\n" for line in lines))
    build_index([documents], folder / "index")


def write_candidates(folder: Path, texts: list[str]) -> Path:
    """A directory as `extraction rank` leaves it."""
    rows = [
        {
            **dict.fromkeys(CANDIDATE_SCHEMA.names),
            "candidate_id": f"c{number:09d}",
            "generation_id": f"g{number}",
            "family": "empty",
            "picked_by": ["zlib"],
            "ranks": [1],
            "tokens": len(text),
            "prompt": PROMPT,
            "text": text,
        }
        for number, text in enumerate(texts)
    ]
    store = PartStore(str(folder / "candidates"))
    store.publish("part-00000", pa.Table.from_pylist(rows, schema=CANDIDATE_SCHEMA), {})
    return folder


def _generation(row: dict[str, Any]) -> dict[str, Any]:
    text = f"It began so. {row['text']} And it went on."
    return {
        "request_id": row["request_ids"][0],
        "family": row["families"][0],
        "number": 0,
        "prompt_token_ids": byte_ids(PROMPT),
        "token_ids": byte_ids(text),
        "logprobs": [],
        "finish_reason": "stop",
    }


@cache
def _tokenizer() -> Any:
    return load_tokenizer(ModelSettings(tokenizer="bytes"))


def byte_ids(text: str) -> list[int]:
    ids: list[int] = _tokenizer().backend_tokenizer.encode(text).ids
    return ids


def users() -> Access:
    from argon2 import PasswordHasher

    hashed = PasswordHasher(time_cost=1, memory_cost=64).hash(PASSWORD)  # cheap: many logins
    return Access({name: User(name=name, role=role, password=hashed) for name, role in ROLES.items()})  # type: ignore[arg-type]


def opened(run: Path, **options: Any) -> Review:
    return open_review(run, Options(users(), **options))


class Browser(TestClient):
    """Keeps cookies, says where forms come from, and finds the secret that forms carry."""

    def __init__(self, review: Review) -> None:
        super().__init__(make_app(review, Sites.loopback(PORT)), base_url=SITE)
        self.headers["origin"] = SITE
        self.review = review

    def login(self, name: str, password: str = PASSWORD) -> Any:
        return self.post("/login", data={"name": name, "secret": password}, follow_redirects=False)

    @property
    def csrf(self) -> str:
        (session,) = self.review.sessions._open.values()
        return session.csrf

    def submit(self, path: str, **fields: str) -> Any:
        return self.post(path, data={"csrf": self.csrf, **fields}, follow_redirects=False)


def browser(run: Path, name: str, **options: Any) -> Browser:
    """Somebody who is logged in."""
    made = Browser(opened(run, **options))
    assert made.login(name).status_code == 303
    return made
