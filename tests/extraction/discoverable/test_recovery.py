"""What a sampling run found of what the true opening brings out."""

import numpy as np

from extraction.discoverable.recovery import Finder, recovery
from extraction.membership.intervals import wilson


def test_targets_are_told_apart_by_both() -> None:
    brought_out = np.array([True, True, True, False, False])
    written = np.array([True, False, False, True, False])
    found = recovery(brought_out, written)
    assert (found.brought_out, found.both, found.opening_alone, found.run_alone, found.neither) == (
        3,
        1,
        2,
        1,
        1,
    )
    assert found.share == wilson(1, 3)
    assert recovery(~brought_out & brought_out, written).share is None


def test_texts_are_found_whole_and_each_that_is_alike() -> None:
    finder = Finder([b"bcd", b"cde", b"bcd", b"x"])
    assert set(finder.in_text(b"abcdef")) == {0, 1, 2}
    assert set(finder.in_text(b"abc")) == set()
