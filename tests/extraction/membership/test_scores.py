import math
import zlib

import numpy as np
import pytest

from extraction.membership.scores import lowest_mean, membership_scores, standardised
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
    assert len(zlib.compress(text.encode())) == 51
    known, unknown = token_scores([ROWS[0], ROWS[3]]), token_scores([ROWS[1], ROWS[2]])
    other = token_scores([ROWS[2]])
    high = membership_scores(text, known, other, other, 0.5)
    low = membership_scores(text, unknown, other, other, 0.5)
    assert all(high[name] > low[name] for name in high)
    assert high["loss"] == pytest.approx((math.log(0.7) + math.log(0.8)) / 2)
    assert high["zlib"] == pytest.approx(high["loss"] / 51)
    assert high["reference"] == pytest.approx(-math.log(0.3) + high["loss"])
    assert high["lowercase"] == pytest.approx(math.log(0.3) / high["loss"])


def test_what_has_no_tokens_has_no_score() -> None:
    nothing = token_scores([ROWS[0]])
    empty = TokenScores(*(np.zeros(0, dtype=np.float32),) * 3, 0)
    assert all(math.isnan(value) for value in membership_scores("", empty, None, empty, 0.2).values())
    assert math.isnan(membership_scores("a", nothing, None, empty, 0.2)["reference"])
