"""Minimum group norm and multi-class margin: closed forms, one output, and bounds that must hold."""

import numpy as np
import pytest

import reluflow as rf


def test_orthonormal_classes_have_the_closed_form_norm():
    # One neuron a class: 2 sum sqrt(n_c) [vector_outputs, fact C].
    found = rf.bias.min_norm(rf.Data(np.eye(7), [0, 0, 0, 0, 1, 1, 2]).one_hot())
    least = 2 * (2 + np.sqrt(2) + 1)
    assert found.value == pytest.approx(least, rel=1e-7) and found.lower == pytest.approx(least, rel=1e-6)
    assert found.lower <= least * (1 + 1e-9) and found.residual < 1e-8


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_labels_along_one_direction_have_the_norm_of_one_output(angle):
    data = rf.data.five_points()
    turned = np.outer(data.y, [np.cos(angle), np.sin(angle)])
    one, two = rf.bias.min_norm(data), rf.bias.min_norm(rf.Data(data.x, turned))
    assert two.exact and two.value == pytest.approx(one.value, rel=1e-7)
    assert two.lower == pytest.approx(one.lower, rel=1e-7)


def test_the_margin_of_two_classes_is_that_of_signs_over_the_root_of_two():
    # a = (s, -s)/sqrt(2) has the same norm and sqrt(2) times the difference of outputs.
    x, y = np.random.default_rng(0).normal(size=(8, 2)), np.array([0, 1, 0, 1, 1, 0, 1, 0])
    one, two = rf.bias.max_margin(rf.Data(x, 1.0 - 2.0 * y)), rf.bias.max_margin(rf.Data(x, y, classes=("a", "b")))
    assert two.exact and two.margin == pytest.approx(np.sqrt(2) * one.margin, rel=1e-6)


def test_the_network_of_the_bound_fits_and_has_its_norm():
    rng = np.random.default_rng(1)
    data = rf.Data(rng.normal(size=(6, 3)), rng.normal(size=(6, 2)))
    found = rf.bias.min_norm(data)
    w, a = found.params.arrays()
    np.testing.assert_allclose(np.maximum(data.x @ w.T, 0.0) @ a, data.y, atol=1e-7)
    assert np.sum(w**2) + np.sum(a**2) == pytest.approx(found.value, rel=1e-9)
    sampled = found.bounds["lower sampled"].value
    assert found.lower <= sampled * (1 + 1e-9) <= found.value * (1 + 1e-6) and not found.exact
    assert "may be below the minimum" in found.note


def test_no_run_has_more_than_the_largest_margin():
    p = rf.Problem(rf.data.blobs(18), rf.init.balanced(10, 2, outputs=3, log_scale=-2.0), loss="softmax")
    sol = rf.solve(p, rf.Flow(1e-6), log_t1=10.0)
    found = rf.bias.max_margin(sol)
    reached = float(rf.observe.normalised_margin(sol)[-1])
    assert 0.8 * found.margin < reached <= found.margin_bound


def test_many_cells_give_bounds_without_a_certificate():
    rng = np.random.default_rng(2)
    found = rf.bias.min_norm(
        rf.Data(rng.normal(size=(12, 8)), rng.normal(size=(12, 2))), most=50, samples=200, seconds=2
    )
    assert found.lower == 0.0 and found.note.startswith("No certificate") and "lower sampled" in found.bounds


def test_a_margin_of_labels_that_are_no_classes_and_a_fit_of_classes_are_refused():
    data = rf.data.teacher(5, 3, outputs=2)
    with pytest.raises(ValueError, match="A margin needs classes"):
        rf.bias.max_margin(data)
    p = rf.Problem(rf.data.blobs(6), rf.init.balanced(3, 2, outputs=3), loss="softmax")
    with pytest.raises(ValueError, match=r"does not fit labels exactly: use `rf.bias.max_margin`"):
        rf.bias.min_norm(p)
