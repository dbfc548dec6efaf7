"""Reading targets: continuations add up, what ends a generation ends a target, and no number stays none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from extraction.engines.stopping import StopStrings
from extraction.model import ModelSettings, load_model
from extraction.sampling import Sampling, resolve_sampling
from extraction.scoring import Scorer, Text
from pipelines.parts import PartStore
from pipelines.prefix.readings import TargetReader
from pipelines.prefix.targets import CONTINUATION_SCHEMA, TrueContinuations
from tests.extraction.tiny_models import byte_level_tokenizer, llama

PROMPT = [0, 40, 77]
NEVER_STOPS = StopStrings((), ())


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    folder: Path = tmp_path_factory.mktemp("model")
    byte_level_tokenizer(folder)
    return ModelSettings(path=str(llama(folder)))


def test_all_true_continuations_count(model: ModelSettings) -> None:
    sampling = resolve_sampling(Sampling(), None)
    scorer = Scorer.load(model)
    texts = [(5, 6), (7, 8), (9, 300)]
    alone = [float(one.log_probs.sum()) for one in scorer.sampled([Text(PROMPT, t) for t in texts], sampling)]
    reader = TargetReader(scorer, sampling, NEVER_STOPS)
    first, second = reader.read([PROMPT, PROMPT], [texts, texts[:1]])
    assert np.exp(first["log_probability"]) == pytest.approx(np.exp(alone).sum(), rel=1e-4)
    assert second["log_probability"] == pytest.approx(alone[0], abs=1e-4)
    assert (first["continuations"], second["continuations"]) == (3, 1)


def test_what_documents_that_begin_alike_have_in_common_is_read_once(
    model: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, sampling = Scorer.load(model), resolve_sampling(Sampling(), None)
    asked: list[Text] = []
    sampled = scorer.sampled
    monkeypatch.setattr(scorer, "sampled", lambda texts, how: asked.extend(texts) or sampled(texts, how))
    texts = [[(5, 6), (7, 8)], [(7, 8), (5, 6)]]
    first, second, other = TargetReader(scorer, sampling, NEVER_STOPS).read(
        [PROMPT, PROMPT, PROMPT[:2]], [*texts, texts[0]]
    )
    assert first["log_probability"] == pytest.approx(second["log_probability"])
    assert first["log_probability"] != pytest.approx(other["log_probability"])
    assert len(asked) == 4


def test_a_target_that_the_sampler_would_end_inside_never_comes_out(model: ModelSettings) -> None:
    scorer, plain = Scorer.load(model), resolve_sampling(Sampling(), None)
    stopping = replace(plain, stop_token_ids=(6,))
    for tokens, ends in (((5, 6, 7), True), ((5, 7, 6), False)):
        (found,) = TargetReader(scorer, stopping, NEVER_STOPS).read([PROMPT], [[tokens]])
        assert np.isneginf(found["log_probability"]) == ends
    table = [b"x"] * 420
    table[6] = b"stop"
    words = StopStrings((b"stop",), table)
    for tokens, ends in (((5, 6, 7), True), ((5, 7, 6), False), ((5, 7, 8), False)):
        (found,) = TargetReader(scorer, plain, words).read([PROMPT], [[tokens]])
        assert np.isneginf(found["log_probability"]) == ends


def test_what_has_no_number_or_does_not_fit_is_marked(model: ModelSettings) -> None:
    sampling = resolve_sampling(Sampling(), None)
    broken = load_model(model)
    broken.lm_head.weight.data[7] = torch.nan
    (lost,) = TargetReader(Scorer(broken), sampling, NEVER_STOPS).read([PROMPT], [[(5, 6)]])
    assert np.isnan(lost["log_probability"]) and not lost["too_long"]
    (long,) = TargetReader(Scorer.load(model), sampling, NEVER_STOPS).read(
        [[0] * 120], [[tuple(range(3, 23))]]
    )
    assert long["too_long"] and not long["greedy"]


def test_its_own_continuation_is_always_among_those_that_count(tmp_path: Path) -> None:
    store = PartStore(str(tmp_path))
    shares = [[(3, [1, 2], 5), (4, [9, 9], 1)], [(3, [1, 2], 1), (3, [1, 3], 8), (3, [1, 4], 7)]]
    for number, rows in enumerate(shares):
        columns = [dict(zip(CONTINUATION_SCHEMA.names, row, strict=True)) for row in rows]
        table = pa.Table.from_pylist(columns, schema=CONTINUATION_SCHEMA)
        store.publish(f"share-{number:02d}", table, {})
    true = TrueContinuations(store, most=2)
    assert true.of(3, [1, 2]) == [
        (1, 2),
        (1, 3),
    ]  # six documents, seven and eight: the most frequent other stays
    assert true.of(3, [5, 5]) == [(5, 5), (1, 3)]
    assert true.of(4, [9, 9]) == [(9, 9)]
    assert true.more(3, [1, 2])  # three ways, of which two count
    assert not true.more(4, [9, 9])
    assert not TrueContinuations(store, most=3).more(3, [1, 2])
    assert TrueContinuations(store, most=3).more(3, [5, 5])  # its own is one more
    assert true.of(8, [7, 7]) == [(7, 7)]
