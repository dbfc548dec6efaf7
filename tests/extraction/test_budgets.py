import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.budgets import prefix_cutoffs, tokens_needed


def test_the_request_that_crosses_counts_whole():
    cut = prefix_cutoffs({"a": np.array([40, 40, 40, 40])}, {"a": 1.0}, [1, 40, 41, 160, 161])["a"]
    assert cut.requests.tolist() == [1, 1, 2, 4, 4]
    assert cut.tokens.tolist() == [40, 40, 80, 160, 160]
    assert cut.reached.tolist() == [True, True, True, True, False]


def test_shares_are_decimals_as_written():
    assert tokens_needed(0.3, 1_000_000) == 300_000  # 0.3 * 1_000_000 is a little more in binary
    assert tokens_needed(0.1, 5) == 1
    assert tokens_needed(0.0, 100) == 0


def test_families_without_requests_do_not_reach():
    cuts = prefix_cutoffs({"a": np.array([100])}, {"a": 0.5, "b": 0.5, "c": 0.0}, [10])
    assert [cuts[name].reached[0] for name in "abc"] == [True, False, True]
    with pytest.raises(ValueError, match="without a share"):
        prefix_cutoffs({"x": np.array([1])}, {"a": 1.0}, [10])


@given(st.lists(st.integers(0, 30), max_size=20), st.floats(0, 1), st.lists(st.integers(1, 500), max_size=5))
def test_against_a_recount(lengths, share, budgets):
    cut = prefix_cutoffs({"a": np.array(lengths, dtype=np.int64)}, {"a": share}, budgets)["a"]
    for place, budget in enumerate(budgets):
        needed = tokens_needed(share, budget)
        prefixes = [n for n in range(len(lengths) + 1) if sum(lengths[:n]) >= needed]
        assert cut.reached[place] == bool(prefixes)
        assert cut.requests[place] == min(prefixes, default=len(lengths))
        assert cut.tokens[place] == sum(lengths[: cut.requests[place]])
