from pathlib import Path

import numpy as np
import pytest
import torch

from extraction.errors import InputError
from extraction.model import ModelSettings
from extraction.scoring import Scorer, Text
from tests.extraction.tiny_models import gpt2, llama


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    folder = tmp_path_factory.mktemp("model")
    (llama if request.param == "llama" else gpt2)(folder)
    return Scorer.load(ModelSettings(path=str(folder)))


def random_texts(count: int, seed: int = 0) -> list[Text]:
    rng = np.random.default_rng(seed)
    return [
        Text(
            rng.integers(0, 420, rng.integers(1, 9)).tolist(),
            rng.integers(0, 420, rng.integers(0, 60)).tolist(),
        )
        for _ in range(count)
    ]


def test_log_probabilities_by_independent_arithmetic(scorer: Scorer) -> None:
    text = Text([0, 5], [17, 200, 3])
    (found,) = scorer.score([text])
    with torch.inference_mode():
        logits = scorer._model(input_ids=torch.tensor([[0, 5, 17, 200, 3]])).logits[0].double().numpy()
    for n, token in enumerate(text.tokens):
        row = logits[1 + n] - logits[1 + n].max()
        chances = np.exp(row) / np.exp(row).sum()
        logs = np.log(chances)
        mean = (chances * logs).sum()
        assert found.log_probs[n] == pytest.approx(logs[token], abs=1e-5)
        assert found.means[n] == pytest.approx(mean, abs=1e-5)
        assert found.deviations[n] == pytest.approx(np.sqrt((chances * logs**2).sum() - mean**2), abs=1e-4)


def test_the_same_in_any_order_and_batch(scorer: Scorer) -> None:
    texts = random_texts(40)
    together = scorer.score(texts)
    backwards = scorer.score(texts[::-1])[::-1]
    for text, one, other in zip(texts, together, backwards, strict=True):
        alone = scorer.score([text])[0]
        assert one.log_probs.size == len(text.tokens)
        assert np.allclose(one.log_probs, alone.log_probs, atol=1e-4)
        assert np.allclose(one.log_probs, other.log_probs, atol=1e-4)
        assert np.allclose(one.deviations, alone.deviations, atol=1e-4)


def test_the_context_is_not_scored(scorer: Scorer) -> None:
    (whole,) = scorer.score([Text([0], [7, 8, 9, 10])])
    (rest,) = scorer.score([Text([0, 7, 8], [9, 10])])
    assert np.allclose(whole.log_probs[2:], rest.log_probs, atol=1e-5)


def test_what_is_too_long_is_cut_and_counted(tmp_path: Path) -> None:
    llama(tmp_path, positions=32)
    scorer = Scorer.load(ModelSettings(path=str(tmp_path)))
    cut, short, beyond = scorer.score([Text([0], [5] * 40), Text([0], [5] * 31), Text([0] * 40, [5])])
    assert (cut.log_probs.size, cut.cut) == (31, 9)
    assert (short.log_probs.size, short.cut) == (31, 0)
    assert (beyond.log_probs.size, beyond.cut) == (0, 1)
    assert np.allclose(cut.log_probs, short.log_probs, atol=1e-4)


def test_what_cannot_be_scored_is_refused(scorer: Scorer) -> None:
    with pytest.raises(InputError, match="needs a token before it"):
        scorer.score([Text([], [5])])
    with pytest.raises(InputError, match="vocabulary"):
        scorer.score([Text([0], [100_000])])
    assert scorer.score([Text([0], [])])[0].log_probs.size == 0


def test_log_probabilities_alone_are_those_of_the_whole_score(scorer: Scorer) -> None:
    texts = random_texts(40, seed=3)
    for whole, alone in zip(scorer.score(texts), scorer.log_probs(texts), strict=True):
        assert np.allclose(whole.log_probs, alone.log_probs, atol=1e-4)
        assert whole.cut == alone.cut


def test_they_too_are_the_same_in_any_order_and_batch(scorer: Scorer) -> None:
    texts = random_texts(40, seed=4)
    together = scorer.log_probs(texts)
    backwards = scorer.log_probs(texts[::-1])[::-1]
    small = Scorer(scorer._model, batch_tokens=64).log_probs(texts)
    for text, *found in zip(texts, together, backwards, small, strict=True):
        assert {one.log_probs.size for one in found} == {len(text.tokens)}
        assert np.allclose(found[0].log_probs, found[1].log_probs, atol=1e-4)
        assert np.allclose(found[0].log_probs, found[2].log_probs, atol=1e-4)


def test_an_adapter_is_not_left_out_in_silence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="scores without adapters"):
        Scorer.load(ModelSettings(path=str(llama(tmp_path)), adapter="adapters/mine"))
