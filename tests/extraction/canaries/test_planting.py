from dataclasses import replace

import numpy as np
import pytest

from extraction.canaries.formats import parse_format
from extraction.canaries.key import Canary, Key, opened, sealed
from extraction.canaries.planting import ValueScan, choose_canaries, draw_fillings, draw_places
from extraction.canaries.settings import FormatSettings

FORMATS = [parse_format("account", "number {digits:6}"), parse_format("code", "code {digits:6}")]


def test_values_are_drawn_by_the_seed_and_none_twice() -> None:
    drawn = draw_fillings(FORMATS, 50, seed=1)
    assert drawn == draw_fillings(FORMATS, 50, seed=1)
    assert drawn != draw_fillings(FORMATS, 50, seed=2)
    values = [form.value(filling) for form in FORMATS for filling in drawn[form.name]]
    assert len(set(values)) == len(values) == 400


def test_values_are_spread_over_the_whole_space() -> None:
    drawn = draw_fillings([FORMATS[0]], 2000, seed=3)["account"]
    first = np.bincount([filling // 100_000 for filling in drawn], minlength=10)
    assert first.min() > 650 and first.max() < 950  # 800 of each, give or take five deviations


def test_a_space_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="format pin: 100 fillings are too few for 51 canaries"):
        draw_fillings([parse_format("pin", "{digits:2}")], 51, seed=0)
    three = [parse_format(name, "{digits:1}") for name in "abc"]
    with pytest.raises(ValueError, match="format c: its values went to another format"):
        draw_fillings(three, 5, seed=0)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("call 123456 now", True),
        ("call 123 456 now", True),
        ("call 12-34-56 now", True),
        ("99123456", True),
        ("Code ABC-xyz", True),
        ("a line\nends: amber\n  basket", True),
        ("call 1234\n56 now", True),
        ("123457", False),
        ("12345 and 6", False),
        ("", False),
    ],
)
def test_a_value_is_found_whatever_its_spelling(text: str, stands: bool) -> None:
    scan = ValueScan(["123456", "abc-XYZ", "amber basket"])
    scan.look(text)
    assert bool(scan.standing) == stands


def test_values_of_the_corpus_are_passed_over() -> None:
    form, counts = FORMATS[0], {0: 2, 10: 3}
    drawn = draw_fillings([form], 5, seed=0)
    taken = {form.value(filling) for filling in drawn["account"][:6]}
    chosen = choose_canaries([form], drawn, taken, counts)
    assert [canary.insertions for canary in chosen] == [0, 0, 10, 10, 10]
    assert [canary.filling for canary in chosen] == drawn["account"][6:11]
    assert len({canary.id for canary in chosen}) == 5
    everything = {form.value(filling) for filling in drawn["account"]}
    with pytest.raises(ValueError, match="20 of 20 values drawn stand in the corpus already"):
        choose_canaries([form], drawn, everything, counts)


def test_places_are_seeded_ascending_and_anywhere() -> None:
    canaries = [Canary(f"c{n}", "account", n, n) for n in (0, 1, 10, 1000)]
    gaps, which = draw_places(canaries, 9, seed=5)
    assert np.bincount(which, minlength=4).tolist() == [0, 1, 10, 1000]
    assert (np.diff(gaps) >= 0).all()
    assert set(gaps.tolist()) == set(range(10))  # before the first record and behind the last too
    assert np.array_equal(gaps, draw_places(canaries, 9, seed=5)[0])


def test_a_key_comes_back_and_a_changed_one_does_not() -> None:
    form = FormatSettings(name="account", template="number {digits:6}")
    key = Key((form,), (Canary("account-x1-000", "account", 7, 1),), 3, 99)
    content = sealed(key)
    assert opened(content) == key
    assert content["canaries"][0]["text"] == "number 000007"
    assert sealed(key)["seal"] != content["seal"]  # the nonce: a seal does not give the values away
    content["canaries"][0]["insertions"] = 2
    with pytest.raises(ValueError, match="changed after it was sealed"):
        opened(content)
    with pytest.raises(ValueError, match="no key"):
        opened({"schema_version": 1})
    assert opened(sealed(replace(key, seed=4))).seed == 4
