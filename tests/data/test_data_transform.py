"""Data, and data made from other data."""

import numpy as np
import pytest

import reluflow.data as rfd
from reluflow.data import Data


def test_arrays_are_copied_and_read_only():
    x = np.ones((2, 3))
    data = Data(x, [1.0, -1.0])
    x[0, 0] = 5.0
    assert data.x[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.x[0, 0] = 2.0


def test_every_public_name_exists_and_is_sorted():
    assert rfd.__all__ == sorted(rfd.__all__)
    assert all(hasattr(rfd, name) for name in rfd.__all__)


def test_with_bias_appends_a_constant_column():
    data = Data([[2.0], [-3.0]], [1.0, 0.5]).with_bias(4.0)
    np.testing.assert_array_equal(data.x, [[2.0, 4.0], [-3.0, 4.0]])
    with pytest.raises(ValueError, match=r"`value` must be finite and not 0, got 0.0: try 1.0\."):
        data.with_bias(0.0)


def test_centred_data_have_opposite_class_sums():
    # Min et al.: mean-centred data give x+ = -x-.
    data = rfd.random_points(40, 6, labels="signs", seed=3).centred()
    np.testing.assert_allclose(data.x[data.y > 0].sum(axis=0), -data.x[data.y < 0].sum(axis=0), atol=1e-13)


def test_a_test_set_can_be_centred_by_the_training_mean():
    train, test = rfd.random_points(30, 4, seed=1).split(0.5)
    mean = train.x.mean(axis=0)
    np.testing.assert_array_equal(test.centred(mean).x, test.x - mean)
    with pytest.raises(ValueError, match=r"`mean` must have one number per column \(4\), got 3: use the training mean"):
        test.centred([0.0, 0.0, 0.0])


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_normalised_rows_have_norm_one_at_any_scale(scale):
    data = Data(scale * rfd.random_points(20, 5).x, np.ones(20)).normalised()
    np.testing.assert_allclose(np.linalg.norm(data.x, axis=1), 1.0, rtol=4e-16)


def test_a_zero_row_cannot_be_normalised():
    data = Data([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0])
    with pytest.raises(
        ValueError, match=r"Rows must not be zero to be normalised, got x\[1\] = 0: drop it with `data.sub"
    ):
        data.normalised()
    assert data.subset(data.x.any(axis=1)).normalised().n == 1


def test_flipping_twice_changes_nothing_and_no_zero_turns_negative():
    data = Data([[1.0], [2.0], [3.0]], [1.5, -2.0, 0.0])
    assert data.flipped().flipped() == data
    assert not np.any(np.signbit(data.flipped().y) & (data.flipped().y == 0))


def test_merging_takes_the_mean_row_and_the_mean_label_in_the_place_of_the_first():
    tilt = 1e-3
    data = Data([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [4 * np.cos(tilt), 4 * np.sin(tilt)]], [1.0, 2.0, 3.0, 6.0])
    merged = data.merged(angle=2e-3)
    np.testing.assert_array_equal(merged.x, [[0.0, 2.0], [1 + 2 * np.cos(tilt), 2 * np.sin(tilt)]])
    np.testing.assert_array_equal(merged.y, [2.0, 4.0])
    assert data.merged(angle=0.5e-3).n == 3


def test_a_chain_of_close_rows_is_one_group_whatever_their_order():
    angle = np.array([0.0, 0.2, 0.1, 0.3, 1.0])
    data = Data(np.column_stack([np.cos(angle), np.sin(angle)]), np.arange(5.0))
    for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1]):
        merged = data.subset(order).merged(angle=0.11)
        assert sorted(merged.y) == [1.5, 4.0]


def test_merging_at_angle_zero_merges_copies_and_multiples_and_never_opposite_or_zero_rows():
    x = [[1.0, 3.0], [1.0, 3.0], [0.1, 0.3], [-1.0, -3.0], [0.0, 0.0], [0.0, 0.0], [1.0, 3.0000001]]
    merged = Data(x, [1.0, 1.0, 4.0, 5.0, 6.0, 7.0, 8.0]).merged(angle=0.0)
    np.testing.assert_allclose(merged.y, [2.0, 5.0, 6.0, 7.0, 8.0])


def test_untouched_rows_survive_merging_bit_for_bit():
    data = rfd.random_points(50, 8, seed=2)
    assert data.merged(angle=1e-3) == data


@pytest.mark.parametrize("angle", [0.05, 0.3, 1.0])
def test_groups_are_the_connected_components_of_the_angle_graph(angle, monkeypatch):
    from reluflow.data import _gram

    monkeypatch.setattr(_gram, "BLOCK", 7)  # many blocks
    data = rfd.random_points(60, 3, seed=5)
    u = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    reach = np.linalg.matrix_power((np.arccos(np.clip(u @ u.T, -1, 1)) <= angle).astype(float) + np.eye(60), 60) > 0
    means = [data.y[row].mean() for row in np.unique(reach, axis=0)]
    np.testing.assert_allclose(np.sort(data.merged(angle).y), np.sort(means), rtol=1e-12)


@pytest.mark.parametrize("angle", [-0.1, np.pi / 2, np.nan, "wide"])
def test_an_angle_is_in_radians_below_a_right_angle(angle):
    with pytest.raises(ValueError, match=r"`angle` must be in \[0, pi/2\), got .*: radians; 1e-3 merges near copies\."):
        rfd.two_points().merged(angle)


def test_subset_takes_indices_or_a_mask():
    data = rfd.five_points()
    assert data.subset([4, 0]).y.tolist() == [0.2, 0.7]
    assert data.subset(data.y > 0).n == 3
    assert data.subset(range(2)).name == "five_points, 2 rows"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([7], r"`rows` must lie in 0\.\.4, got 7: count rows from 0\."),
        ([True, False], r"A mask `rows` must have one entry per row \(5\), got shape \(2,\)\."),
        (np.zeros(5, bool), r"`rows` must be a list of row numbers or a mask that keeps at least one row, got int64"),
        ([0.5], r"got float64 of shape \(1,\)"),
    ],
)
def test_rows_that_are_not_there_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        rfd.five_points().subset(rows)


def test_a_split_is_disjoint_complete_stratified_and_seeded():
    y = np.repeat([1.0, -1.0], [80, 20])
    data = Data(np.arange(100.0)[:, None], y)
    train, test = data.split(0.75, seed=3)
    assert sorted([*train.x[:, 0], *test.x[:, 0]]) == list(range(100))
    assert (train.y > 0).sum() == 60 and (train.y < 0).sum() == 15
    assert data.split(0.75, seed=3)[0] == train and data.split(0.75, seed=4)[0] != train
    assert np.all(np.diff(train.x[:, 0]) > 0)


def test_real_labels_are_split_as_one_pool():
    train, test = rfd.random_points(50, 2).split(0.8)
    assert (train.n, test.n) == (40, 10)


def test_a_split_that_leaves_a_side_empty_is_refused():
    with pytest.raises(
        ValueError, match=r"`fraction` must leave rows on both sides, got 0.8 of 2 rows: give more rows"
    ):
        rfd.two_points().split(0.8)
    with pytest.raises(ValueError, match=r"`fraction` must be in \(0, 1\), got 1.0: the training share, try 0.8\."):
        rfd.five_points().split(1.0)


def test_label_noise_flips_the_share_asked_for_and_adds_what_it_says():
    data = rfd.random_points(n=200, d=2, labels="signs")
    noisy = data.noisy(flip=0.1, seed=3)
    assert np.sum(noisy.y != data.y) == 20 and np.array_equal(np.abs(noisy.y), np.ones(200))
    assert np.array_equal(noisy.x, data.x) and noisy == data.noisy(flip=0.1, seed=3) != data.noisy(flip=0.1, seed=4)
    spread = data.noisy(std=0.5).y - data.y
    assert abs(np.std(spread) - 0.5) < 0.1 and data.noisy() == data
    with pytest.raises(ValueError, match="`flip` must be in "):
        data.noisy(flip=1.5)
