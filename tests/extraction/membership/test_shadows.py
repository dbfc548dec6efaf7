import math

import numpy as np
import pytest

from extraction.membership.classifiers import label_right, true_label_confidence
from extraction.membership.perturb import neighbours
from extraction.membership.scopes import within
from extraction.membership.shadows import Population, logit, rmia_ratio


def test_worked_values() -> None:
    assert rmia_ratio(np.array([0.9]), np.array([0.5]), 0.3) == pytest.approx([1.3333], abs=5e-5)
    assert logit(np.array([0.9])) == pytest.approx([2.1972], abs=5e-5)


def test_rmia_is_the_share_of_the_population_that_a_text_exceeds() -> None:
    outside = np.full((4, 1), 0.5)
    population = Population.of(np.array([0.2, 0.4, 0.6, 0.8]), outside)
    found = population.rmia(np.array([0.1, 0.5, 0.6, 0.9]), outside)
    assert found.tolist() == [
        0.0,
        0.5,
        0.5,
        1.0,
    ]  # one that is as likely as a text of them does not exceed it
    assert population.rmia(np.array([0.9]), outside[:1], gamma=2.0).tolist() == [0.5]
    assert math.isnan(population.rmia(np.array([np.nan]), outside[:1])[0])


def test_lira_is_zero_on_average_for_texts_that_no_model_saw() -> None:
    rng = np.random.default_rng(0)
    outside = rng.uniform(0.2, 0.8, (200, 3))
    own = np.clip(outside.mean(axis=1) + rng.normal(0, 0.05, 200), 0.01, 0.99)
    population = Population.of(own, outside)
    scores = population.lira(own, outside)
    assert scores.mean() == pytest.approx(0, abs=1e-9)
    assert scores.std(ddof=1) == pytest.approx(1)
    assert population.lira(np.array([0.95]), outside[:1])[0] > 3
    flat = Population.of(np.array([0.5, 0.5]), np.full((2, 1), 0.5))
    assert math.isnan(flat.lira(np.array([0.5]), np.full((1, 1), 0.5))[0])


def test_neighbours_are_the_same_words_and_depend_on_the_text_alone() -> None:
    text = " ".join(f"word{n}" for n in range(30))
    found = neighbours(text, 5)
    assert found == neighbours(text, 5)
    for copy in found:
        assert copy != text
        assert sorted(copy.split()) == sorted(text.split())
    assert neighbours("one", 2) == ["one", "one"]


def test_a_classifiers_confidence_and_label() -> None:
    probabilities, labels = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1])
    assert true_label_confidence(probabilities, labels).tolist() == [0.9, 0.4]
    assert label_right(probabilities, labels).tolist() == [1.0, 0.0]


def test_no_score_sees_more_than_its_scope() -> None:
    assert within("min_k_plus_plus", "full_logits")
    assert not within("min_k_plus_plus", "log_probabilities")
    assert within("loss", "log_probabilities")
    assert not within("loss", "top_k_probabilities")
    assert not within("confidence", "label_only")
    assert within("label", "label_only")
