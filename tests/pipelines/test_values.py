"""The look-up stage: values, the random ones beside them, and text that the model never saw."""

import json

import pyarrow as pa
import pytest

from extraction.identifiers import IdentifierSettings
from extraction.identifiers.records import IDENTIFIER_SCHEMA
from extraction.identifiers.settings import UserRecogniser
from index import BuildOptions, build_index
from pipelines.count import identifier_places
from pipelines.identify import distinct_values, run_here
from pipelines.parts import PartStore
from pipelines.values import LookupJob, Lookups, chance_values, look_up, merge_lookup

CODE = UserRecogniser(name="CODE", pattern="[0-9]{2}", normalise="digits")
SETTINGS = IdentifierSettings(types=("EMAIL",), recognisers=(CODE,), document_ids=3)
EVERY_CODE = "; ".join(f"{number:02}" for number in range(100))


def index_of(folder, *texts):
    rows = [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(build_index([source], folder, BuildOptions()))


def tagged_store(folder, values):
    row = {"family": "empty", "text": "x", "start": 0, "end": 1, "start_byte": 0, "end_byte": 1}
    row |= {"validated": False, "context": "", "recogniser": "x"}
    rows = [
        row | {"request_id": f"empty-{n}", "number": n, "type": type_, "value": value}
        for n, (type_, value) in enumerate(values)
    ]
    store = PartStore(str(folder))
    store.publish("part-00000", pa.Table.from_pylist(rows, schema=IDENTIFIER_SCHEMA), {})
    return store


@pytest.fixture
def run(tmp_path):
    """Values of a run: codes, all of which stand in the corpus, as any random one does; an address in it alone."""
    codes = [("CODE", f"{number:02}") for number in range(10, 20)]
    tagged = tagged_store(
        tmp_path / "tagged", [*codes, ("EMAIL", "a@example.com"), ("EMAIL", "b@example.com")]
    )
    corpus = index_of(
        tmp_path / "corpus", f"{EVERY_CODE} a@example.com", *(f"a@example.com {n}" for n in "wxyz")
    )
    text = index_of(tmp_path / "text", "the code 10; the code 11; b@example.com")
    values = distinct_values(tagged)
    lookups = Lookups(*(PartStore(str(tmp_path / name)) for name in ("found", "chance", "control_text")))
    twins = tuple(chance_values(values))
    look_up(LookupJob(values, SETTINGS, corpus, lookups.corpus, twins, lookups.chance), run_here)
    look_up(LookupJob(values, SETTINGS, text, lookups.control_text), run_here)
    return tagged, lookups


def test_random_values_of_the_same_form_are_counted_apart(run):
    tagged, lookups = run
    places = identifier_places(tagged, lookups)
    by_value = dict(zip(places.types, places.chance.tolist(), strict=True))
    assert by_value == {"CODE": 1, "EMAIL": 0}  # of a type, all are alike here
    assert set(places.chance[:10].tolist()) == {1}
    found = merge_lookup(lookups.corpus, SETTINGS.document_ids)
    assert found.num_rows == 11  # no random value is among the run's own
    assert set(found["type"].to_pylist()) == {"CODE", "EMAIL"}


def test_values_found_in_text_never_seen_are_counted_apart(run):
    places = identifier_places(*run)
    assert places.control_text.tolist() == [1, 1, *[0] * 8, 0, 1]
    assert places.documents.tolist() == [*[1] * 10, 5, 0]
    without = identifier_places(run[0], Lookups(run[1].corpus, run[1].chance))
    assert without.control_text is None


def test_as_many_document_ids_are_listed_as_were_asked_for(run):
    rows = merge_lookup(run[1].corpus, SETTINGS.document_ids).to_pylist()
    (address,) = [row for row in rows if row["type"] == "EMAIL"]
    assert (address["documents"], address["example_ids"]) == (5, ["d0", "d1", "d2"])


def test_the_same_values_have_the_same_random_ones_whatever_stands_beside_them():
    codes = [("CODE", f"{number:04}") for number in range(50)]
    alone = dict(zip(codes, chance_values(codes), strict=True))
    more = [("CODE", "9999"), *codes[::-1], ("EMAIL", "a@example.com")]
    assert {
        value: twin for value, twin in zip(more, chance_values(more), strict=True) if value in alone
    } == alone
