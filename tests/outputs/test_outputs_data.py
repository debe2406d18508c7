"""Data, weights and problems with several outputs; the softmax row of the table of losses."""

import mpmath
import numpy as np
import pytest

import reluflow as rf
from reluflow.data.core import class_margins, one_hot
from reluflow.losses import LOSSES, SOFTMAX, TABLE


def test_labels_of_one_column_are_the_labels_themselves():
    x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, -2.0, 3.0])
    assert rf.Data(x, y[:, None]) == rf.Data(x, y)
    assert rf.Params(x, y[:, None]).a.shape == (3,)


def test_a_run_on_labels_of_one_column_has_the_bits_of_the_run_on_plain_labels():
    data, init = rf.data.five_points(), rf.init.balanced(8, 2, log_scale=-3.0)
    column = rf.Problem(rf.Data(data.x, data.y[:, None]), rf.Params(init.w, init.a[:, None], log_scale=-3.0))
    plain = rf.Problem(data, init)
    for method in (rf.Flow(1e-8), rf.SteppedFlow(1e-4), rf.Descent(1e-2)):
        one, two = (rf.solve(p, method, t1=20.0) for p in (column, plain))
        np.testing.assert_array_equal(one.outputs, two.outputs)
        np.testing.assert_array_equal(one.w, two.w)


def test_balanced_rows_have_equal_lengths_and_the_draws_of_the_handbook():
    init = rf.init.balanced(12, 7, outputs=3, seed=0)
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=(12, 7)), rng.normal(size=(12, 3))
    a *= (np.linalg.norm(w, axis=1) / np.linalg.norm(a, axis=1))[:, None]
    np.testing.assert_array_equal(init.w, w)
    np.testing.assert_allclose(init.a, a, rtol=1e-15)
    assert (init.outputs, init.arrays()[1].shape) == (3, (12, 3))


def test_one_output_is_drawn_as_before():
    for make in (rf.init.balanced, rf.init.gaussian):
        np.testing.assert_array_equal(make(5, 3, outputs=1).a, make(5, 3).a)
    assert rf.data.teacher(5, 3, outputs=1) == rf.data.teacher(5, 3)


def test_a_teacher_with_several_outputs_is_its_network():
    data, (w, a) = rf.data.teacher(6, 4, width=3, outputs=2), rf.data.teacher_weights(4, width=3, outputs=2)
    np.testing.assert_array_equal(data.y, np.maximum(data.x @ w.T, 0.0) @ a)


def test_one_hot_labels_and_the_softmax_targets_are_the_same():
    data = rf.Data(np.eye(4), [0, 2, 1, 2])
    init = rf.init.balanced(3, 4, outputs=3)
    square, softmax = rf.Problem(data.one_hot(), init), rf.Problem(data, init, loss="softmax")
    np.testing.assert_array_equal(square.targets, softmax.targets)
    assert square.outputs == softmax.outputs == 3
    np.testing.assert_array_equal(data.one_hot(5).y.argmax(axis=1), data.y)


def test_more_outputs_than_classes_seen_are_allowed():
    p = rf.Problem(rf.Data(np.eye(2), [0, 1]), rf.init.balanced(3, 2, outputs=4), loss="softmax")
    assert p.targets.shape == (2, 4)


@pytest.mark.parametrize("c", [0, 1, 2])
def test_softmax_value_and_force_are_those_of_fifty_digits(c):
    f = [0.3, -1.7, 2.2]
    with mpmath.workdps(50):
        value = lambda *z: mpmath.log(sum(map(mpmath.exp, z))) - z[c]
        force = [-mpmath.diff(value, f, tuple(int(i == k) for i in range(3))) for k in range(3)]
        expected, forces = float(value(*f)), np.array([float(v) for v in force])
    y = one_hot(np.array([c]), 3)
    np.testing.assert_allclose(SOFTMAX.value(y, np.array([f])), expected, rtol=1e-14)
    np.testing.assert_allclose(SOFTMAX.force(y, np.array([f]))[0], forces, rtol=1e-13)


def test_softmax_logarithms_hold_where_the_loss_underflows():
    y, f = one_hot(np.array([1]), 3), np.array([[0.0, 5000.0, 1.0]])
    # -log p = e^-5000 + e^-4999 there
    np.testing.assert_allclose(SOFTMAX.log_value(y, f), np.logaddexp(-5000.0, -4999.0), rtol=1e-15)
    assert SOFTMAX.value(y, f) == 0.0
    np.testing.assert_allclose(SOFTMAX.log_total(y, f, 0.5), np.logaddexp(-5000.0, -4999.0) + np.log(0.5))


def test_softmax_of_two_classes_is_the_logistic_loss_of_the_difference():
    f = np.random.default_rng(0).normal(size=(5, 2))
    y = one_hot(np.array([0, 1, 1, 0, 1]), 2)
    margin = class_margins(y, f)
    np.testing.assert_allclose(SOFTMAX.value(y, f), LOSSES["logistic"].value(1.0, margin), rtol=1e-14)
    assert list(TABLE) == [*LOSSES, "softmax"] and len({row.code for row in TABLE.values()}) == len(TABLE)


def test_words_of_a_csv_file_are_classes_in_alphabetical_order(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text("length,width,kind\n1,2,setosa\n3,4,iris\n5,6,setosa\n")
    data = rf.data.from_csv(path)
    assert data.classes == ("iris", "setosa") and data.y.tolist() == [1.0, 0.0, 1.0] and data.d == 2


def test_a_csv_file_whose_labels_are_words_and_numbers_is_refused(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("a,y\n1,cat\n2,3\n")
    with pytest.raises(ValueError, match="all words or all numbers"):
        rf.data.from_csv(path)


def test_labels_of_several_columns_survive_a_csv_and_an_npz_file(tmp_path):
    data = rf.data.teacher(5, 3, outputs=2)
    data.to_csv(tmp_path / "a.csv")
    data.to_npz(tmp_path / "a.npz")
    assert rf.data.from_csv(tmp_path / "a.csv") == rf.data.from_npz(tmp_path / "a.npz") == data
    assert rf.data.from_csv(tmp_path / "a.csv", label=["y1", "y0"]).y.tolist() == data.y[:, ::-1].tolist()


def test_transformed_data_keep_their_classes():
    data = rf.data.blobs(30)
    train, test = data.split(0.8)
    assert train.classes == test.classes == data.with_bias().classes == ("0", "1", "2")
    assert np.bincount(train.y.astype(int)).tolist() == [8, 8, 8]


def test_digits_are_numbered_by_their_place_in_the_list(monkeypatch):
    import os

    if "RELUFLOW_DATA" not in os.environ:
        pytest.skip("MNIST is not here")
    data = rf.data.mnist(digits=(3, 5, 7), size=9)
    images, digits = rf.data.mnist_arrays()
    assert data.classes == ("3", "5", "7") and sorted(data.y.tolist()) == [0.0] * 3 + [1.0] * 3 + [2.0] * 3
    for x, y in zip(data.x, data.y):
        same = np.flatnonzero(np.all(images.reshape(len(images), -1) == np.rint(255 * x), axis=1))
        assert digits[same[0]] == (3, 5, 7)[int(y)]
        break


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_labels_of_one_column_change_no_bit_of_random_runs(seed):
    rng = np.random.default_rng(seed)
    n, d, m = rng.integers(3, 9), rng.integers(2, 5), rng.integers(4, 14)
    x, y, w, a = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(m, d)), rng.normal(size=m)
    loss, log_scale = ("square", "logistic", "exponential")[seed % 3], (0.0, -3.0, -10.0, -100.0, -300.0)[seed % 5]
    y = y if loss == "square" else np.sign(y)
    decay = 1e-2 if seed % 7 == 0 else 0.0
    for method, t1 in ((rf.Flow(rtol=1e-8), 12.0 - 3.0 * log_scale), (rf.Descent(0.01), 5.0)):
        one, column = (
            rf.solve(
                rf.Problem(rf.Data(x, labels), rf.Params(w, out, log_scale=log_scale), loss=loss, decay=decay),
                method,
                t1=t1,
                throw=False,
            )
            for labels, out in ((y, a), (y[:, None], a[:, None]))
        )
        for mine, other in ((one.t, column.t), (one.outputs, column.outputs), (one.events.t, column.events.t)):
            assert np.array_equal(mine, other, equal_nan=True)
        assert np.array_equal(one.frames.w, column.frames.w, equal_nan=True)
