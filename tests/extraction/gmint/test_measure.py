"""The MINT model, its splits and its intervals: what carries no signal has an AUC of one half, however well it fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from extraction.errors import InputError
from extraction.gmint.measure import PERMUTED, Material, measure, mixed_labels, repeated, repeated_interval
from extraction.gmint.mint import MintTraining, train_mint
from extraction.gmint.scaling import Scaling
from extraction.gmint.splits import group_splits, joined_groups, subset
from extraction.membership.intervals import Interval
from extraction.membership.usable import UNMATCHED

SIDE, WIDTH = 150, 200  # more columns than there are rows to fit: anything can be learnt by heart
FEW_EPOCHS = MintTraining(epochs=25)
WORDS = [f"word{n}" for n in range(60)]


def features(signal: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise, and in ten columns what tells members from others."""
    rng = np.random.default_rng(seed)
    member = np.arange(2 * SIDE) < SIDE
    rows = rng.normal(size=(2 * SIDE, WIDTH)).astype(np.float32)
    rows[member, :10] += signal
    return rows, member


def alone(member: np.ndarray) -> list[str]:
    return [str(n) for n in range(member.size)]


def test_without_signal_the_held_out_auc_is_a_half_though_the_training_auc_is_one() -> None:
    rows, member = features(signal=0)
    splits = group_splits(member, alone(member), np.arange(member.size), 5, seed=1)
    found = repeated(rows, [member] * 5, splits, FEW_EPOCHS)
    assert min(found.training_aucs) == 1.0
    assert found.auc.low <= 0.5 <= found.auc.high
    assert found.auc.high - found.auc.low < 0.4


def test_a_signal_is_found_and_the_interval_holds_every_splits_mean() -> None:
    rows, member = features(signal=1)
    splits = group_splits(member, alone(member), np.arange(member.size), 3, seed=1)
    found = repeated(rows, [member] * 3, splits, FEW_EPOCHS)
    assert found.auc.low > 0.8
    assert found.auc.estimate == pytest.approx(np.mean(found.aucs))
    assert found == repeated(rows, [member] * 3, splits, FEW_EPOCHS)


def test_the_weights_kept_are_those_of_the_best_epoch_and_no_alias_of_the_last() -> None:
    rows, member = features(signal=0.3)
    split = group_splits(member, alone(member), np.arange(member.size), 1, seed=2)[0]
    found = train_mint(rows, member, split, MintTraining(epochs=60))
    assert found.best_epoch == int(np.argmax(found.validation)) < 59
    assert found.validation[-1] < max(found.validation)  # or the last weights would do as well
    scores, truth = found.scores(rows, split.validation), member[split.validation]
    wins = (scores[truth][:, None] > scores[~truth]).mean()
    assert wins == pytest.approx(max(found.validation))
    shorter = train_mint(rows, member, split, MintTraining(epochs=found.best_epoch + 1))
    for one, other in zip(found.network.parameters(), shorter.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_mint_model_is_the_published_one_and_leaves_the_random_numbers_alone() -> None:
    rows, member = features(signal=0)
    split = group_splits(member, alone(member), np.arange(member.size), 1, seed=2)[0]
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    found = train_mint(rows, member, split, MintTraining(epochs=1))
    assert torch.equal(before, torch.random.get_rng_state())
    shapes = [tuple(parameter.shape) for parameter in found.network.parameters() if parameter.ndim == 2]
    assert shapes == [(256, WIDTH), (128, 256), (64, 128), (1, 64)]


def test_scaling_learns_from_its_rows_alone_and_keeps_small_gradients_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(50, 1500)) * 10.0 ** rng.integers(-6, 3, size=1500)).astype(np.float32)
    rows[:, 7] = 0.25
    np.save(tmp_path / "rows.npy", rows)
    scaling = Scaling.fitted(np.load(tmp_path / "rows.npy", mmap_mode="r"), np.arange(40))
    scaled = scaling(rows)
    assert np.isfinite(scaled).all()
    assert np.abs(scaled[:, 7]).max() < 1e-5
    others = np.delete(scaled[:40], 7, axis=1)
    np.testing.assert_allclose(others.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(others.std(axis=0), 1, atol=1e-3)
    rows[40:] *= 1000
    again = Scaling.fitted(rows, np.arange(40))
    assert np.array_equal(again.size, scaling.size)


def test_small_gradients_stay_apart_beside_huge_ones() -> None:
    # As of what is known by heart, of what is not, and of a few that nothing was learnt of.
    known, usual, huge = [1e-4] * 45, [1e-2] * 45, [1e3] * 10
    rows = np.float32([[value] for value in (*known, *usual, *huge)])
    scaled = Scaling.fitted(rows, np.arange(100))(rows)[:, 0]
    assert scaled[50] - scaled[0] > 0.1
    assert (rows[50] - rows[0])[0] / rows.std() < 1e-4


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 20)) for _ in range(count)]


def test_duplicates_and_groups_never_straddle_a_split() -> None:
    own = texts(60, seed=1)
    records = [*own, *own[:20], *(f"{text} again" for text in own[20:40])]  # equal, and nearly so
    groups = [f"account {n // 3}" if n < 30 else None for n in range(100)]
    joined = joined_groups(records, groups, similarity=0.7)
    assert joined[0] == joined[60] == joined[1] and joined[25] == joined[85] == joined[24]
    assert joined[50] not in (*joined[:50], *joined[51:])
    member = np.arange(100) % 60 < 30
    for split in group_splits(member, joined, np.arange(100), 20, seed=0):
        parts = [split.fit, split.validation, split.test]
        assert sorted(np.concatenate(parts).tolist()) == list(range(100))
        names = [{joined[n] for n in part} for part in parts]
        assert not names[0] & names[1] and not names[0] & names[2] and not names[1] & names[2]
        assert abs(len(split.test) - 35) <= 12


def test_parts_have_their_shares_of_each_side_and_splits_differ() -> None:
    member = np.arange(1000) < 500
    splits = group_splits(member, alone(member), np.arange(1000), 3, seed=0)
    for split in splits:
        for part, size in ((split.test, 350), (split.validation, 130), (split.fit, 520)):
            assert abs(len(part) - size) <= 2
            assert abs(np.count_nonzero(member[part]) - size / 2) <= 1
    assert not np.array_equal(splits[0].test, splits[1].test)
    again = group_splits(member, alone(member), np.arange(1000), 3, seed=0)
    assert np.array_equal(splits[2].fit, again[2].fit)
    with pytest.raises(InputError, match="too few to split"):
        group_splits(member, ["one"] * 1000, np.arange(1000), 1, seed=0)


def test_a_smaller_draw_is_part_of_a_larger_one() -> None:
    member = np.arange(200) < 80
    small, large = subset(member, 20, seed=3), subset(member, 60, seed=3)
    assert np.count_nonzero(member[small]) == 20 and len(small) == 40
    assert set(small.tolist()) < set(large.tolist())
    with pytest.raises(InputError, match="80 members"):
        subset(member, 81, seed=3)


def test_the_interval_is_never_narrower_than_a_single_splits() -> None:
    agreed = [Interval(0.7, 0.6, 0.8, "")] * 4
    found = repeated_interval(agreed)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.7, 0.6, 0.8))
    apart = [Interval(value, value - 0.01, value + 0.01, "") for value in (0.6, 0.7, 0.8)]
    found = repeated_interval(apart)
    half = 4.3027 * 0.1 * (1 / 3 + 0.35 / 0.65) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.7 - half, 1.0), abs=1e-4)


def material(signal: float, untrained: float) -> Material:
    rows, member = features(signal)
    return Material(
        member=member,
        groups=alone(member),
        texts=texts(member.size, seed=4),
        gradients=rows,
        untrained=features(untrained, seed=1)[0],
        embeddings=features(0, seed=2)[0][:, :8],
        losses=np.where(member, 1.0, 2.0) + np.random.default_rng(0).normal(size=member.size),
        known={"length": [20] * member.size},
    )


def test_controls_stand_beside_the_auc_and_say_when_it_is_no_evidence() -> None:
    found = measure(material(signal=1, untrained=0), 100, 3, FEW_EPOCHS)
    assert found.samples_per_side == 100
    assert found.gradients.auc.low > 0.65
    for control in (found.permuted, found.untrained, found.embeddings):
        assert control.auc.low <= 0.5 <= control.auc.high
    assert found.words is not None and not found.words.tells_apart
    assert 0.65 < found.loss.estimate < 0.85
    assert found.holds == ()
    confounded = measure(material(signal=1, untrained=1), 100, 3, replace(FEW_EPOCHS, epochs=10))
    assert confounded.holds == (UNMATCHED,)
    assert replace(found, permuted=found.gradients).holds == (PERMUTED,)


def test_members_of_another_length_put_the_auc_on_hold() -> None:
    """No control of words or of an untrained model need see it: all members have 8 words, and all others 9."""
    given = material(signal=1, untrained=0)
    lengths = np.where(given.member, 8, 9).tolist()
    found = measure(replace(given, known={"length": lengths}), 60, 2, replace(FEW_EPOCHS, epochs=2))
    assert found.words is not None and not found.words.tells_apart
    assert [(one.name, one.beyond) for one in found.differences] == [("length", True)]
    assert found.holds == (UNMATCHED,)


def test_few_samples_are_mixed_up_until_no_part_is_left_with_one_side() -> None:
    found = measure(material(signal=0, untrained=0), 10, 4, replace(FEW_EPOCHS, epochs=1))
    assert len(found.permuted.aucs) == 4 and np.isfinite(found.permuted.aucs).all()


def test_a_mint_model_that_diverges_is_no_result() -> None:
    rows, member = features(signal=0)
    split = group_splits(member, alone(member), np.arange(member.size), 1, seed=2)[0]
    with pytest.raises(InputError, match=r"method\.learning_rate: a MINT model diverged"):
        train_mint(rows, member, split, MintTraining(epochs=2, learning_rate=1e30))


def test_a_mint_model_takes_one_thread_and_gives_the_others_back() -> None:
    rows, member = features(signal=0)
    split = group_splits(member, alone(member), np.arange(member.size), 1, seed=2)[0]
    before, during = torch.get_num_threads(), []
    torch.set_num_threads(2)

    class Watched(np.ndarray):
        def __getitem__(self, key: object) -> np.ndarray:
            during.append(torch.get_num_threads())
            return np.asarray(self)[key]

    try:
        train_mint(rows.view(Watched), member, split, MintTraining(epochs=1))
        assert set(during) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_what_was_seen_before_it_was_tested_on_shows_in_the_controls_or_is_kept_together() -> None:
    """Each record stands twice. Copies apart leak the real labels, and not the mixed ones: hence the groups."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(100, WIDTH)).astype(np.float32)
    rows, labels = np.repeat(own, 2, axis=0), np.repeat(rng.permutation(100) % 2 == 0, 2)
    places, few = np.arange(200), replace(FEW_EPOCHS, epochs=15)
    leaking = group_splits(labels, alone(labels), places, 3, seed=0)
    kept = group_splits(labels, [str(n // 2) for n in range(200)], places, 3, seed=0)
    assert repeated(rows, [labels] * 3, leaking, few).auc.low > 0.5
    held = repeated(rows, [labels] * 3, kept, few).auc
    assert held.low <= 0.5 <= held.high
    seen = [replace(split, fit=np.concatenate([split.fit, split.test])) for split in kept]
    mixed = [mixed_labels(labels, places, split, seed) for seed, split in enumerate(seen)]
    assert repeated(rows, mixed, seen, few).auc.low > 0.5
