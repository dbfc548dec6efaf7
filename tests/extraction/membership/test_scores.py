import math
import zlib

import numpy as np
import pytest

from extraction.membership.scores import NAMES, Readings, lowest_mean, membership_scores, standardised
from extraction.membership.shadows import Population
from extraction.scoring import TokenScores

ROWS = [
    ([0.7, 0.1, 0.1, 0.1], 0),
    ([0.97, 0.01, 0.01, 0.01], 2),
    ([0.4, 0.3, 0.2, 0.1], 1),
    ([0.05, 0.05, 0.1, 0.8], 3),
]


def token_scores(rows: list[tuple[list[float], int]]) -> TokenScores:
    chances = np.array([row for row, _ in rows])
    logs = np.log(chances)
    means = (chances * logs).sum(1)
    spread = np.sqrt((chances * logs**2).sum(1) - means**2)
    chosen = np.array([np.log(row[token]) for row, token in rows])
    return TokenScores(chosen.astype(np.float32), means.astype(np.float32), spread.astype(np.float32), 0)


def test_worked_min_k_and_its_successor() -> None:
    scored = token_scores(ROWS)
    assert standardised(scored) == pytest.approx([0.6547, -5.6862, 0.1784, 0.4937], abs=5e-4)
    assert lowest_mean(scored.log_probs, 0.5) == pytest.approx(-2.9046, abs=5e-5)
    assert lowest_mean(standardised(scored), 0.5) == pytest.approx(-2.7539, abs=5e-4)


def test_a_uniform_row_is_no_division_by_zero() -> None:
    assert standardised(token_scores([([0.25] * 4, 1)])).tolist() == [0.0]


def test_short_texts_look_at_one_token_at_least() -> None:
    assert lowest_mean(np.array([-3.0, -1.0]), 0.1) == -3.0
    assert lowest_mean(np.array([-3.0, -1.0, -2.0]), 0.7) == -2.5


def test_every_score_rises_with_the_probability_of_the_text() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    assert (len(text.encode()), len(zlib.compress(text.encode()))) == (44, 51)
    known, unknown = token_scores([ROWS[0], ROWS[3]]), token_scores([ROWS[1], ROWS[2]])
    high, low = (membership_scores(text, readings(scored), 0.5, POPULATION) for scored in (known, unknown))
    assert set(high) == set(NAMES)
    assert all(high[name] > low[name] for name in high)
    assert high["loss"] == pytest.approx((math.log(0.7) + math.log(0.8)) / 2)
    assert high["zlib"] == pytest.approx(high["loss"] / 51)
    assert high["reference"] == pytest.approx(-math.log(0.3) + high["loss"])
    assert high["lowercase"] == pytest.approx(math.log(0.3) / high["loss"])
    assert high["neighbourhood"] == pytest.approx(-math.log(0.3) + high["loss"])
    assert high["conditional"] == pytest.approx(
        math.log(0.3) / math.log(0.7)
    )  # over the token that both have


def readings(scored: TokenScores) -> Readings:
    """A text under a model, everything else as in the third row."""
    other = token_scores([ROWS[2]]).log_probs
    return Readings(scored.log_probs, scored, other, other, (other,), other, (other,))


POPULATION = Population.of(np.array([0.2, 0.3, 0.5]), np.array([[0.25], [0.3], [0.4]]))


def test_what_has_no_tokens_has_no_score() -> None:
    empty = TokenScores(*(np.zeros(0, dtype=np.float32),) * 3, 0)
    none = empty.log_probs
    read = Readings(none, empty, none, none, (none,), none, (none,))
    scores = membership_scores("", read, 0.2, POPULATION)
    assert set(scores) == set(NAMES)
    assert all(math.isnan(value) for value in scores.values())


def test_what_was_not_read_has_no_score() -> None:
    scores = membership_scores("a", Readings(token_scores([ROWS[0]]).log_probs), 0.2)
    assert set(scores) == {"loss", "zlib", "min_k"}
