"""The clinical and the customer-service configuration on generated transcripts: what is planted is listed.

The deterministic engine gives back passages of the corpus, so what has to be found is known.
"""

import json
import random
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from faker import Faker
from stdnum.gb import nhs

from extraction.model import ModelSettings, load_tokenizer
from extraction.records import GENERATION_SCHEMA
from extraction.token_bytes import TokenBytes
from pipelines.config import load_config
from pipelines.parts import PartStore
from pipelines.run import run_pipeline

pytestmark = pytest.mark.usefixtures("ray_cluster")

CONFIGS = Path(__file__).parents[2] / "configs"
DRAW, FAKE = random.Random(11), Faker("en_GB")
FAKE.seed_instance(11)


def digits(count):
    return "".join(DRAW.choices("0123456789", k=count))


def nhs_number():
    return next(n for n in iter(lambda: digits(10), "") if nhs.is_valid(n))


def summary():
    """A discharge summary with what de-identification left in it."""
    name, born = f"{FAKE.first_name()} {FAKE.last_name()}", FAKE.date_of_birth(minimum_age=18)
    number, hospital, phone = nhs_number(), f"H{digits(7)}", f"07700 900{digits(3)}"
    text = (
        f"Patient: {name}, hospital number {hospital}, NHS number {number[:3]} {number[3:6]} {number[6:]}, born "
        f"{born:%d/%m/%Y}. Call {phone}. {' '.join(FAKE.words(12))}."
    )
    values = {
        ("PERSON", name.lower()),
        ("HOSPITAL_NUMBER", hospital),
        ("NHS_NUMBER", number),
        ("DATE_OF_BIRTH", born.isoformat()),
        ("PHONE", "+44" + phone.replace(" ", "")[1:]),
    }
    return text, values


def call():
    """A call in which the customer says who is calling."""
    name, account, customer = (
        f"{FAKE.first_name()} {FAKE.last_name()}",
        digits(8),
        f"CN-{digits(2)}-{digits(6)}",
    )
    phone = f"020 7946 0{digits(3)}"
    text = (
        f"Customer: {name}. My account number is {account[:4]} {account[4:]}, and my customer number is {customer}. "
        f"Ring me on {phone}. {' '.join(FAKE.words(12))}."
    )
    values = {
        ("PERSON", name.lower()),
        ("ACCOUNT_NUMBER", account),
        ("CUSTOMER_NUMBER", customer.replace("-", "")),
        ("PHONE", "+44" + phone.replace(" ", "")[1:]),
    }
    return text, values


def write_corpus(folder, make, columns):
    """Forty texts; every fifth stands in three documents. Values by document ids, and the texts."""
    where, texts, rows = defaultdict(set), [], []
    for number in range(40):
        text, values = make()
        texts.append(text)
        for copy in range(3 if number % 5 == 0 else 1):
            name = f"{number:03}-{copy}"
            rows.append({columns[0]: name, columns[1]: f"{text} {' '.join(FAKE.words(5))}"})
            for value in values:
                where[value].add(name)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "passages.txt").write_text("\n\n".join(texts))
    (folder / "public.txt").write_text(
        "\n".join(f"Thank you for calling about {w} today" for w in FAKE.words(40))
    )
    (folder / "held_out.jsonl").write_text(
        json.dumps(dict(zip(columns, ("h", make()[0]), strict=True))) + "\n"
    )
    return where, texts


def small(name, folder):
    """The configuration itself, at a size that runs here."""
    passages = {"kind": "deterministic", "passages": str(folder / "passages.txt"), "passage_share": 0.4}
    return load_config(
        CONFIGS / f"{name}.yaml",
        [
            "model={tokenizer: bytes}",
            f"engine={json.dumps(passages)}",
            "sampling={max_tokens: 400}",
            f"prompts.public_text=[{folder / 'public.txt'}]",
            f"corpus.sources=[{folder / 'corpus.jsonl'}]",
            f"corpus.index={folder / 'index'}",
            f"control={{text: [{folder / 'held_out.jsonl'}]}}",
            "budgets=[20000, 40000]",
            "part_requests=64",
            "workers=1",
            "analysis_workers=1",
        ],
    )


def generated_text(out):
    decode = TokenBytes.from_tokenizer(load_tokenizer(ModelSettings(tokenizer="bytes"))).decode
    rows = PartStore(str(out / "generations")).read_all(GENERATION_SCHEMA, ["token_ids"]).to_pylist()
    return "\n".join(decode(row["token_ids"]) for row in rows)


@pytest.mark.parametrize(
    ("name", "make", "columns", "own", "names"),
    [
        ("clinical", summary, ("id", "text"), "HOSPITAL_NUMBER", 0.9),
        ("customer_service", call, ("call_id", "transcript"), "CUSTOMER_NUMBER", 0.9),
    ],
)
def test_what_is_planted_is_listed_with_its_documents(tmp_path, name, make, columns, own, names):
    where, texts = write_corpus(tmp_path, make, columns)
    report = json.loads(run_pipeline(small(name, tmp_path), tmp_path / "run", None, False).read_text())
    written = generated_text(tmp_path / "run")
    whole = [number for number, text in enumerate(texts) if text in written]
    came_out = {v for v, ids in where.items() if int(min(ids)[:3]) in whole}
    listed = {
        (row["type"], row["value"]): row
        for row in pq.read_table(tmp_path / "run" / "identifiers" / "in_corpus.parquet").to_pylist()
    }
    assert len(whole) > 10 and own in {type_ for type_, _ in came_out}
    assert {value for value in came_out if value[0] != "PERSON"} <= set(listed)
    people = {value for value in came_out if value[0] == "PERSON"}
    assert len(people & set(listed)) >= names * len(people)
    for value in came_out & set(listed):
        row = listed[value]
        assert set(row["document_ids"]) == where[value] and row["documents"] == len(where[value])
        assert row["requests"] > 0 and row["control_text_documents"] == 0
    last = report["budgets"][-1]["identifiers"]
    assert last[own]["in_corpus"] >= last[own]["private"] > 0 == last[own]["chance"]
    assert (
        own in (tmp_path / "run" / "report.html").read_text()
        or own.replace("_", " ") in (tmp_path / "run" / "report.html").read_text()
    )
