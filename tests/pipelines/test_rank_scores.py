"""What the scores of a ranking are: by independent arithmetic on tiny models, and on text made for it."""

import json
import math
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from extraction.engines.settings import TransformersSettings
from extraction.model import ModelSettings
from extraction.ranking.calibration import calibrate
from extraction.ranking.candidates import Picking
from extraction.records import Generation
from extraction.scoring import Text
from pipelines.demo import corpus
from pipelines.parts import PartStore
from pipelines.rank import RankingModels, RankOptions, rank_generations
from pipelines.rank.models import Reading
from pipelines.rank.scored import ScoreColumns
from tests.conftest import Demo
from tests.extraction.tiny_models import SENTENCES, byte_level_tokenizer, llama

HERE = TransformersSettings(kind="transformers")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    for name, vocabulary in (("model", 420), ("reference", 380)):
        byte_level_tokenizer(folder / name, vocabulary=vocabulary)
        llama(folder / name, vocabulary=vocabulary, positions=256)
    return folder / "model", folder / "reference"


def through(model: Path, reference: Path | None) -> RankingModels:
    return RankingModels(
        ModelSettings(path=str(model)), ModelSettings(path=str(reference)) if reference else None, HERE
    )


def test_a_prompt_begins_with_one_start_token_and_an_empty_text_is_none(models: tuple[Path, Path]) -> None:
    reading = Reading.load(ModelSettings(path=str(models[0])), HERE)
    assert reading.context([]) == [0]
    assert reading.context([7, 8]) == reading.context([0, 7, 8]) == [0, 7, 8]


def test_log_probabilities_that_generation_kept_are_not_computed_again(models: tuple[Path, Path]) -> None:
    ranker = through(models[0], None).load()
    kept = Generation("a-000000000", "a", 0, [0], [5, 6, 7], [-1.0, -2.0, -3.0], "stop")
    lost = replace(kept, logprobs=[])
    (found,), (computed,) = (list(ranker.score([one])) for one in (kept, lost))
    assert found["perplexity"] == -2.0
    assert computed["perplexity"] != -2.0
    (prompted,) = ranker.score([replace(lost, prompt_token_ids=[0, 9, 9, 9])])
    assert prompted["zlib"] != computed["zlib"]  # the prompt is what the tokens are conditioned on
    assert prompted["perplexity"] == pytest.approx(
        float(ranker.model.scorer.log_probs([Text([0, 9, 9, 9], [5, 6, 7])])[0].log_probs.mean()), abs=1e-5
    )  # but it is not among what is scored


def one_by_one(folder: Path, context: list[int], tokens: list[int]) -> list[float]:
    """Losses by a forward pass for each token over all before it, and a softmax in float64."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    losses = []
    for n, token in enumerate(tokens):
        with torch.inference_mode():
            row = model(torch.tensor([[*context, *tokens[:n]]])).logits[0, -1].double().numpy()
        losses.append(float(np.log(np.exp(row - row.max()).sum()) + row.max() - row[token]))
    return losses


def of_bytes(losses: list[float], pieces: list[bytes]) -> tuple[list[float], list[float]]:
    """Each byte's share of its token's loss, and of the token."""
    shares = [(loss / len(p), 1 / len(p)) for loss, p in zip(losses, pieces, strict=True) for _ in p]
    return [loss for loss, _ in shares], [count for _, count in shares]


def test_every_score_of_a_tiny_model_by_independent_arithmetic(models: tuple[Path, Path]) -> None:
    """From prompt and text alone: own tokens, own forward passes, own windows."""
    own, other = (AutoTokenizer.from_pretrained(folder) for folder in models)
    prompt, text = "Opening hours: ", " ".join(SENTENCES[:5])
    encode = {name: one.backend_tokenizer.encode for name, one in (("own", own), ("other", other))}
    before, tokens, lower = (
        encode["own"](t, add_special_tokens=False).ids for t in (prompt, text, text.lower())
    )
    theirs = encode["other"](text, add_special_tokens=False).ids
    generation = Generation("a-0", "a", 0, [0, *before], tokens, [], "stop")
    (found,) = through(*models).load().score([generation])
    losses = one_by_one(models[0], [0, *before], tokens)
    of_lower = one_by_one(models[0], [0, *before], lower)
    context = [0, *encode["other"](prompt, add_special_tokens=False).ids]
    of_theirs = one_by_one(models[1], context, theirs)
    mean = sum(losses) / len(losses)
    assert found["perplexity"] == pytest.approx(-mean, rel=1e-4)
    assert found["reference"] == pytest.approx(sum(of_theirs) / len(of_theirs) / mean, rel=1e-4)
    assert found["lowercase"] == pytest.approx(sum(of_lower) / len(of_lower) / mean, rel=1e-4)
    assert found["zlib"] == pytest.approx(len(zlib.compress(text.encode())) / mean, rel=1e-4)
    pieces = {
        name: [one.decode([n]).encode() for n in ids]
        for name, one, ids in (("own", own, tokens), ("lower", own, lower), ("other", other, theirs))
    }
    highest = dict.fromkeys(("perplexity", "reference", "lowercase", "zlib"), -math.inf)
    for first in range(len(tokens) - 49):
        window = sum(losses[first : first + 50]) / 50
        start = len(b"".join(pieces["own"][:first]))
        piece = b"".join(pieces["own"][first : first + 50])
        ratios = {"perplexity": -window, "zlib": len(zlib.compress(piece)) / window}
        for name, key, values in (("reference", "other", of_theirs), ("lowercase", "lower", of_lower)):
            shares, counts = of_bytes(values, pieces[key])
            end = start + len(piece)
            ratios[name] = sum(shares[start:end]) / sum(counts[start:end]) / window
        highest = {name: max(value, ratios[name]) for name, value in highest.items()}
    assert len(tokens) > 60
    for name, value in highest.items():
        assert found[f"window_{name}"] == pytest.approx(value, rel=1e-4), name


def test_planted_memorised_outputs_rise_to_the_top(demo: Demo, tmp_path: Path) -> None:
    """2 % of the outputs are training text that the target has memorised, the others are text it never saw."""
    halves = [call.text[at : at + 180] for call in demo.truth.calls if call.documents >= 5 for at in (0, 180)]
    unseen = [call.text[:300] for call in demo.truth.held_out_calls]
    corpus.write_corpus(tmp_path / "other", seed=1)
    public = [
        t for place in (demo.corpus, tmp_path / "other") for t in corpus.read_texts(place / corpus.PUBLIC)
    ]
    others = [text[:300] for text in (*unseen, *public) if len(text) > 100][: 49 * len(halves)]
    lines = [{"id": f"planted{n}", "text": text} for n, text in enumerate(halves)]
    lines += [{"id": f"other{n}", "text": text} for n, text in enumerate(others)]
    source = tmp_path / "generations.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    chosen = RankOptions(through(demo.target, demo.base), Picking(count=100, among=None))
    rank_generations(source, chosen, tmp_path / "ranked")
    columns = ScoreColumns.read(PartStore(str(tmp_path / "ranked" / "scores")))
    planted = np.arange(len(lines)) < len(halves)
    assert planted.mean() == pytest.approx(0.02, abs=0.002)
    found = {name: calibrate(values, planted) for name, values in columns.scores.items()}
    at_100 = {name: one.at[1] for name, one in found.items() if one is not None}
    best = max(at_100.values(), key=lambda at: at.precision.estimate)
    assert best.depth == 100
    assert best.times_random is not None and best.times_random >= 5
    assert best.beats_random
    assert at_100["reference"].precision == best.precision
