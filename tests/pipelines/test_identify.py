"""The tagging stage: a tagger that fails marks the part failed, and never says that there is nothing in it."""

from functools import partial

import pytest
import spacy

from extraction.errors import InputError
from extraction.identifiers import IdentifierSettings
from extraction.model import ModelSettings, load_tokenizer
from extraction.records import Generation
from pipelines.generate import publish_generations
from pipelines.identify import TaggingJob, distinct_values, run_here, run_parts
from pipelines.parts import PartStore

BYTES = ModelSettings(tokenizer="bytes")


@pytest.fixture
def generations(tmp_path):
    tokenizer, store = load_tokenizer(BYTES), PartStore(str(tmp_path / "generations"))
    for number, text in enumerate(("account 12345678", "Margaret Thornbury wrote to us, account 87654321")):
        ids = tokenizer.encode(text, add_special_tokens=False)
        generation = Generation(f"empty-{number:09}", "empty", number, [], list(ids), [], "stop")
        publish_generations(store, f"part-{number:05}", [generation])
    return store


@pytest.fixture
def broken_model(tmp_path):
    """A named-entity model without weights: it loads, and fails on the first text that can hold a name."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ner").add_label("PERSON")
    nlp.to_disk(tmp_path / "model")
    return str(tmp_path / "model")


def test_no_number_goes_on_behind_a_token_without_bytes(tmp_path):
    tokenizer, store = load_tokenizer(BYTES), PartStore(str(tmp_path / "generations"))
    parts = (tokenizer.encode(text, add_special_tokens=False) for text in ("account 12345678", "9012 left"))
    ids = [*next(parts), tokenizer.eos_token_id, *next(parts)]
    publish_generations(store, "part-00000", [Generation("empty-000000000", "empty", 0, [], ids, [], "stop")])
    tagged = PartStore(str(tmp_path / "tagged"))
    run_here(
        "tag identifiers", TaggingJob(IdentifierSettings(), BYTES, store, tagged), tagged, store.complete()
    )
    assert distinct_values(tagged) == (("ACCOUNT_NUMBER", "12345678"),)


@pytest.mark.parametrize("spread", [run_here, partial(run_parts, workers=1)], ids=["here", "ray"])
def test_a_tagger_that_fails_marks_the_part_failed(generations, broken_model, tmp_path, spread, ray_cluster):
    settings = IdentifierSettings(model=broken_model)
    tagged = PartStore(str(tmp_path / "tagged"))
    job = TaggingJob(settings, BYTES, generations, tagged)
    with pytest.raises((InputError, KeyError), match="failed three times|allocated"):
        spread("tag identifiers", job, tagged, generations.complete())
    assert tagged.complete() == ["part-00000"]
    whole = TaggingJob(IdentifierSettings(), BYTES, generations, tagged)
    spread("tag identifiers", whole, tagged, generations.complete())
    assert set(distinct_values(tagged)) == {
        ("ACCOUNT_NUMBER", "12345678"),
        ("ACCOUNT_NUMBER", "87654321"),
        ("PERSON", "margaret thornbury"),
    }
