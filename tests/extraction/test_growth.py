from itertools import combinations

import numpy as np
import pytest

from extraction.growth import (
    DUPLICATES,
    FEW_REPEATS,
    NOTHING,
    ONE_DOMINATES,
    Incidence,
    chao2,
    chao2_estimate,
    chao2_variance,
    distinct_count,
    extrapolated,
    interval,
    rarefied,
    unseen_interval,
    unseen_mass,
)
from extraction.shares import FEW_HITS, Stratum, clopper_pearson, share_interval


def incidence(requests: list[set[int]], duplicates: int = 0) -> Incidence:
    pairs = [(c, r) for r, classes in enumerate(requests) for c in classes]
    classes, numbers = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    return Incidence.of(classes, numbers, len(requests), duplicates)


def test_the_worked_value_and_its_interval():
    assert chao2(6, 3, 2, 12) == 8.0625
    assert chao2(6, 3, 0, 12) == 6 + 11 / 12 * 3
    # Colwell's formula: 2 (a/2 r^2 + a^2 r^3 + a^2/4 r^4) with r = 1.5 and a = 11/12
    assert chao2_variance(6, 3, 2, 12) == pytest.approx(9.861328125)
    low, high = unseen_interval(6, 2.0625, chao2_variance(6, 3, 2, 12))
    assert (low, high) == (pytest.approx(6.2411, abs=1e-4), pytest.approx(23.6446, abs=1e-4))


def test_chao2_of_an_incidence_is_the_formula():
    found = incidence([{0, 1}, {0, 2}, {1, 3}, {4, 5}, {5}, set(), set(), set(), {5}, {5}, {5}, {5}])
    assert (found.distinct, found.seen(1), found.seen(2)) == (6, 3, 2)
    value = chao2_estimate(found)
    assert value.estimate == pytest.approx(8.0625)
    assert 6 <= value.low <= value.estimate <= value.high
    assert value.flag == FEW_REPEATS


def test_rarefaction_against_every_subsample():
    found = incidence([{0, 1}, {0, 2}, {1, 3}, {4}, set(), {0, 4}])
    sets = [{0, 1}, {0, 2}, {1, 3}, {4}, set(), {0, 4}]
    expected, variance = rarefied(found, np.arange(1, 7))
    for size in range(1, 7):
        counts = [len(set().union(*chosen)) for chosen in combinations(sets, size)]
        assert expected[size - 1] == pytest.approx(np.mean(counts))
    assert (variance >= 0).all() and variance[-1] > 0


def test_rarefaction_variance_against_leaving_each_request_out():
    sets = [{0, 1}, {0, 2}, {1, 3}, {4}, set(), {0, 4}, {5, 6}]
    for size in (1, 3, 6):
        left = [
            np.mean([len(set().union(*c)) for c in combinations(sets[:i] + sets[i + 1 :], size)])
            for i in range(len(sets))
        ]
        direct = (len(sets) - 1) / len(sets) * ((np.array(left) - np.mean(left)) ** 2).sum()
        assert rarefied(incidence(sets), np.array([size]))[1][0] == pytest.approx(direct)


def test_five_passages_one_a_request_follow_the_exact_expectation():
    chances = np.array([0.5, 0.3, 0.1, 0.09, 0.01])
    rng = np.random.default_rng(1)
    sizes = np.array([1, 2, 5, 10, 20, 40])
    curves = []
    for _ in range(400):
        drawn = rng.choice(5, size=40, p=chances)
        curves.append(rarefied(Incidence.of(drawn, np.arange(40), 40), sizes)[0])
    exact = np.array([(1 - (1 - chances) ** n).sum() for n in sizes])
    error = np.std(curves, axis=0) / 20
    assert (np.abs(np.mean(curves, axis=0) - exact) <= 4 * error + 1e-9).all()


def test_extrapolation_by_no_more_requests_is_what_was_seen():
    found = incidence([{0, 1}, {0, 2}, {1, 3}, {4}, set(), {0, 4}])
    assert extrapolated(found, 0)[0] == pytest.approx(5)
    assert 5 < extrapolated(found, 1)[0] < extrapolated(found, 9)[0] <= 5 + 2 * 2


def test_nothing_passes_silently():
    empty = Incidence.of(np.zeros(0, np.int64), np.zeros(0, np.int64), 500)
    assert (unseen_mass(empty).estimate, unseen_mass(empty).reason) == (None, NOTHING)
    assert (chao2_estimate(empty).estimate, chao2_estimate(empty).reason) == (None, NOTHING)
    assert chao2_estimate(incidence([{0}])).reason
    none_new = unseen_mass(incidence([{0}] * 12))
    assert none_new.estimate == 0 and none_new.high > 0.1
    all_new = unseen_mass(incidence([{i} for i in range(12)]))
    assert all_new.estimate == 1 and all_new.low < 0.9
    none = Stratum(np.zeros(1000, np.int64), np.full(1000, 100), 50, 100)
    share = share_interval([none])
    assert (
        share.estimate == 0
        and share.high == pytest.approx(1 - 0.025 ** (1 / 1000))
        and share.flag == FEW_HITS
    )
    assert share_interval([]).reason


def test_the_interval_of_a_count_leaves_out_each_request_of_each_family():
    first, second = [{0, 1}, {0, 2}, set(), {3}], [{2, 4}, {5, 6}, {0}]
    value = distinct_count(incidence(first + second), [4, 3])
    assert value.estimate == 7
    variance = 0.0
    for own, others in ((first, second), (second, first)):
        left = [len(set().union(*own[:i], *own[i + 1 :], *others)) for i in range(len(own))]
        variance += (len(own) - 1) / len(own) * ((np.array(left) - np.mean(left)) ** 2).sum()
    assert (value.low, value.high) == interval(7, variance, incidence(first + second))
    nothing = distinct_count(incidence([set(), set()]), [1, 1])
    assert (nothing.estimate, nothing.low, nothing.high) == (0, None, None) and nothing.flag


def test_one_hit_gives_no_interval():
    found = incidence([{0, 1, 2}, set(), set()])
    assert interval(*extrapolated(found, 1), found) == (None, None)
    bound = chao2_estimate(found)
    assert (bound.low, bound.high, bound.flag) == (3, None, FEW_REPEATS)
    assert found.flag == FEW_REPEATS


def test_flags():
    many = [{i % 7} for i in range(40)]
    assert incidence(many).flag is None
    assert incidence([{1}, {1}, {1}, set()]).flag == FEW_REPEATS
    assert incidence([{i} for i in range(40)]).flag == FEW_REPEATS
    assert incidence([set(range(100)), *many]).flag == ONE_DOMINATES
    assert incidence(many, duplicates=10).flag == DUPLICATES


def test_clopper_pearson_is_exact():
    from scipy.stats import binom

    low, high = clopper_pearson(3, 200)
    assert binom.sf(2, 200, low) == pytest.approx(0.025)
    assert binom.cdf(3, 200, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 10)[0] == 0 and clopper_pearson(10, 10)[1] == 1


def test_few_hits_are_bounded_by_requests_times_the_longest_output():
    extracted, generated = np.zeros(500, np.int64), np.full(500, 60)
    extracted[:3] = 55
    share = share_interval([Stratum(extracted, generated, 50, 256)])
    low, high = clopper_pearson(3, 500)
    assert (share.low, share.high) == (pytest.approx(low * 50 / 60), pytest.approx(high * 256 / 60))


def test_share_intervals_cover():
    rng = np.random.default_rng(5)
    for chance in (0.01, 0.1):
        covered = 0
        for _ in range(300):
            strata = []
            for scale in (1, 3):
                hit = rng.random(400) < chance / scale
                generated = rng.integers(50, 257, 400)
                extracted = np.where(hit, np.minimum(rng.integers(50, 257, 400), generated), 0)
                strata.append(Stratum(extracted, generated, 50, 256))
            lengths = np.arange(50, 257)
            mean = np.minimum.outer(lengths, lengths).mean()
            truth = (chance + chance / 3) / 2 * mean / lengths.mean()
            share = share_interval(strata)
            covered += share.low <= truth <= share.high
        assert covered >= 0.92 * 300


def sampled(rng, chances: np.ndarray, weights: np.ndarray, total: int) -> Incidence:
    """A run in which each request gives one passage or none; passage k is made of weights[k] windows."""
    first = np.concatenate([[0], np.cumsum(weights)])
    drawn = rng.choice(len(chances) + 1, size=total, p=[*chances, 1 - chances.sum()])
    hits = np.flatnonzero(drawn < len(chances))
    classes = [np.arange(first[k], first[k + 1]) for k in drawn[hits]]
    return Incidence.of(np.concatenate(classes), np.repeat(hits, weights[drawn[hits]]), total)


FREQUENCIES = {
    "uniform": np.ones(200),
    "zipf": 1 / np.arange(1, 201),
    "clustered": np.repeat([10.0, 1.0, 0.2], [10, 50, 140]),
}


@pytest.mark.parametrize("weights", [1, 120], ids=["one window a hit", "many windows a hit"])
@pytest.mark.parametrize("name", FREQUENCIES)
def test_intervals_cover_the_expected_curve_up_to_twice_the_budget(name, weights):
    rng = np.random.default_rng(17)
    chances = FREQUENCIES[name] / FREQUENCIES[name].sum() * 0.3
    sizes = np.random.default_rng(2).integers(1, weights + 1, 200) if weights > 1 else np.ones(200, int)
    total, points, runs = 300, np.array([15, 75, 150, 225, 300]), 200
    covered, below = np.zeros(len(points) + 1), 0
    for _ in range(runs):
        found = sampled(rng, chances, sizes, total)
        spots = [*zip(*rarefied(found, points), strict=True), extrapolated(found, 1)]
        for place, (spot, n) in enumerate(zip(spots, [*points, 2 * total], strict=True)):
            low, high = interval(*spot, found)
            covered[place] += low <= (sizes * (1 - (1 - chances) ** n)).sum() <= high
        below += chao2_estimate(found).low <= sizes.sum()
    assert (covered >= 0.9 * runs).all()
    assert below >= 0.9 * runs
