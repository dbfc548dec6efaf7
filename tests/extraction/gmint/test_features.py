"""Rows of gradients: what a projection keeps, and what is written, whatever the batches."""

from pathlib import Path

import numpy as np
import pytest
import torch

from extraction.errors import InputError
from extraction.gmint.features import Compression, write_features
from extraction.gmint.gradients import Differentiated, single_gradients
from extraction.gmint.layers import matching_parameters
from extraction.gmint.projection import Projection
from extraction.gmint.readings import read
from extraction.gmint.samples import LABEL, NEXT_TOKEN
from tests.extraction.gmint.small_models import SAMPLES, Lstm, bert, gpt2


def test_a_projection_keeps_lengths_and_angles() -> None:
    width, rng = 512, np.random.default_rng(1)
    dense = rng.normal(size=(60, 5000)).astype(np.float32)
    sparse = dense * (rng.random((60, 5000)) < 0.002)  # as an embedding's gradient is
    projection = Projection.drawn(5000, width, seed=3, name="a")
    for rows in (dense, sparse.astype(np.float32)):
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        error = np.abs(projection(rows) @ projection(rows).T - rows @ rows.T)
        assert error.max() < 5 * (2 / width) ** 0.5
        assert np.square(error.diagonal()).mean() < 2 * (2 / width)
        assert abs(np.square(projection(rows)).sum(axis=1).mean() - 1) < 0.03


def test_a_projection_depends_on_the_seed_and_the_name_alone() -> None:
    rows = np.eye(100, dtype=np.float32)
    first = Projection.drawn(100, 16, 3, "a")(rows)
    assert (np.count_nonzero(first, axis=1) == 4).all()
    assert np.array_equal(first, Projection.drawn(100, 16, 3, "a")(rows))
    assert not np.array_equal(first, Projection.drawn(100, 16, 4, "a")(rows))
    assert not np.array_equal(first, Projection.drawn(100, 16, 3, "b")(rows))
    with pytest.raises(ValueError, match="multiple of 4"):
        Projection.drawn(100, 17, 3, "a")


def test_features_do_not_depend_on_the_batches(tmp_path: Path) -> None:
    model = gpt2()
    of = Differentiated(model, matching_parameters(model, "wte|h.1.mlp"), NEXT_TOKEN)
    shown: list[int] = []
    written = write_features(of, SAMPLES, tmp_path / "one", Compression(256, seed=5), shown.append)
    write_features(of, SAMPLES, tmp_path / "four", Compression(256, seed=5, memory_bytes=1))
    assert (written.vmapped, written.rows, sum(shown)) == (True, len(SAMPLES), len(SAMPLES))
    assert "transformer.wte.weight" in written.projected
    assert "transformer.h.1.mlp.c_fc.bias" not in written.projected
    one, four = np.load(tmp_path / "one"), np.load(tmp_path / "four")
    assert one.shape == (len(SAMPLES), written.width)
    np.testing.assert_allclose(one, four, rtol=1e-4, atol=1e-5)


def test_an_lstms_features_are_its_gradients_in_the_order_of_the_samples(tmp_path: Path) -> None:
    model = Lstm()
    of = Differentiated(model, matching_parameters(model, ""), LABEL)
    assert not write_features(of, SAMPLES, tmp_path / "rows.npy", Compression()).vmapped
    alone = torch.cat([g.flatten(1) for g in single_gradients(of, SAMPLES).values()], dim=1)
    assert np.array_equal(np.load(tmp_path / "rows.npy"), alone.numpy())


def test_a_gradient_that_is_no_number_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    model = bert()
    model.classifier.weight.data[0, 0] = float("nan")
    of = Differentiated(model, matching_parameters(model, "classifier"), LABEL)
    with pytest.raises(InputError, match="not finite"):
        write_features(of, SAMPLES, tmp_path / "rows.npy", Compression())
    assert not list(tmp_path.iterdir())


def test_readings_are_the_models_own_loss_and_what_its_last_layer_is_given() -> None:
    encoder, decoder = bert(), gpt2()
    of = Differentiated(encoder, matching_parameters(encoder, ""), LABEL)
    found = read(of, SAMPLES)
    causal = read(Differentiated(decoder, matching_parameters(decoder, ""), NEXT_TOKEN), SAMPLES)
    for row, sample in enumerate(SAMPLES):
        ids = torch.tensor([sample.tokens])
        with torch.no_grad():
            one = encoder(input_ids=ids, labels=torch.tensor([sample.label]))
            other = decoder(input_ids=ids, labels=ids, output_hidden_states=True)
        assert found.losses[row] == pytest.approx(one.loss.item(), rel=1e-5)
        given = torch.from_numpy(found.embeddings[row])
        torch.testing.assert_close(encoder.classifier(given), one.logits[0], rtol=1e-4, atol=1e-5)
        assert causal.losses[row] == pytest.approx(other.loss.item(), rel=1e-5)
        mean = other.hidden_states[-1][0].mean(dim=0)
        torch.testing.assert_close(torch.from_numpy(causal.embeddings[row]), mean, rtol=1e-4, atol=1e-5)
