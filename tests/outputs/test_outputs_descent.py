"""Descent and the stepped flow with several outputs, against a plain loop, PyTorch, and closed forms."""

import numpy as np
import pytest
from tests.support.outputs import plain_descent, problem

import reluflow as rf

WAYS = {
    "full batches": dict(),
    "mini-batches": dict(batch=4),
    "float32": dict(dtype="float32"),
}


@pytest.mark.parametrize("loss", ["square", "softmax"])
@pytest.mark.parametrize("way", WAYS)
def test_descent_is_the_plain_loop(loss, way):
    p = problem(loss, activation=rf.LeakyReLU(0.1), decay=0.01)
    sol = rf.solve(p, rf.Descent(0.02, **WAYS[way]), t1=4.0)
    path = plain_descent(p, 0.02, 200, WAYS[way].get("batch"))
    tolerance = 1e-5 if way == "float32" else 1e-13
    for k in (0, 77, 200):
        for mine, theirs in zip(sol.at(0.02 * k).arrays(), path[k]):
            np.testing.assert_allclose(mine, theirs, atol=tolerance)


def test_large_problems_take_matrix_products_and_are_the_plain_loop():
    p = problem("softmax", n=60, d=40, width=50, k=4)
    for batch in (None, 16):
        sol = rf.solve(p, rf.Descent(0.02, batch=batch), t1=0.4)
        w, a = plain_descent(p, 0.02, 20, batch)[-1]
        np.testing.assert_allclose(sol.final.arrays()[0], w, atol=1e-13)
        np.testing.assert_allclose(sol.final.arrays()[1], a, atol=1e-13)


def test_descent_of_the_first_layer_alone_leaves_the_output_weights():
    p = problem(train="first", reduction="sum")
    sol = rf.solve(p, rf.Descent(0.01), t1=1.0)
    w, a = plain_descent(p, 0.01, 100)[-1]
    np.testing.assert_allclose(sol.final.arrays()[0], w, atol=1e-13)
    np.testing.assert_array_equal(sol.final.arrays()[1], a)


def test_descent_by_softmax_is_that_of_pytorch():
    torch = pytest.importorskip("torch")
    p = problem("softmax")
    w, a = (torch.tensor(v, requires_grad=True) for v in p.init.arrays())
    x, y = torch.tensor(np.array(p.data.x)), torch.tensor(p.data.y.astype(int))
    for _ in range(200):
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ w.T) @ a, y)
        for value, grad in zip((w, a), torch.autograd.grad(loss, (w, a))):
            value.data -= 0.05 * grad
    sol = rf.solve(p, rf.Descent(0.05), t1=10.0)
    np.testing.assert_allclose(sol.final.arrays()[0], w.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(sol.loss[-1], torch.nn.functional.cross_entropy(torch.relu(x @ w.T) @ a, y).item())


def test_a_scale_below_the_smallest_number_multiplies_outputs_alone():
    # The first iterations see outputs of 0: mantissas move alike whatever the scale.
    one, two = (rf.solve(problem(log_scale=s), rf.Descent(0.02), t1=0.4) for s in (-400.0, -2000.0))
    np.testing.assert_array_equal(one.w[-1], two.w[-1])
    np.testing.assert_array_equal(one.a[-1], two.a[-1])
    np.testing.assert_allclose(two.log_scale - one.log_scale, -1600.0)


def padded(p):
    data, init = p.data, p.init
    zero = np.zeros(data.n)
    more = rf.Params(init.w, np.column_stack([init.a, np.zeros(init.width)]), log_scale=init.log_scale)
    return rf.Problem(rf.Data(data.x, np.column_stack([data.y, zero])), more)


@pytest.mark.parametrize("method", [rf.Descent(1e-2, fast_forward=False), rf.SteppedFlow(1e-6)], ids=str)
def test_a_second_output_that_is_0_changes_nothing(method):
    p = rf.Problem(rf.data.five_points(), rf.init.balanced(8, 2, log_scale=-2.0))
    one, two = (rf.solve(q, method, t1=20.0) for q in (p, padded(p)))
    np.testing.assert_allclose(two.outputs_at(20.0)[:, 0], one.outputs_at(20.0), atol=1e-12)
    assert np.all(two.a[..., 1] == 0.0) and len(two.events) == len(one.events)


def test_the_stepped_flow_is_the_limit_of_descent():
    p = problem("softmax", activation=rf.LeakyReLU(0.1))
    sol = rf.solve(p, rf.SteppedFlow(1e-5), t1=4.0)
    coarse, fine = (rf.solve(p, rf.Descent(h), t1=4.0).outputs_at(4.0) for h in (4e-4, 2e-4))
    np.testing.assert_allclose(sol.outputs_at(4.0), 2 * fine - coarse, atol=3e-4)


def test_the_stepped_flow_follows_the_softmax_margin_to_1e100():
    # Handbook, fact D: three classes of two orthonormal points, one neuron a class, one against the rest.
    q, b = np.kron(np.eye(3), [1.0, 1.0]) / np.sqrt(2), (3 * np.eye(3) - 1) / np.sqrt(6)
    p = rf.Problem(rf.Data(np.eye(6), np.repeat([0, 1, 2], 2)), rf.Params(q, b, log_scale=-5.0), loss="softmax")
    sol = rf.solve(p, rf.SteppedFlow(1e-8), log_t1=100 * np.log(10))
    margins = rf.observe.margins(sol, log_t=np.array([3, 6, 100]) * np.log(10)).values
    expected = np.array([9.0881451868, 16.7087516686, 235.861327293])
    np.testing.assert_allclose(margins, np.tile(expected[:, None], 6), rtol=1e-7)


def test_the_energy_error_is_of_first_order_in_the_step_and_small_for_the_stepped_flow():
    # Without kinks: where descent chatters on a surface its gradients have a part that the flow's have not.
    p = problem(seed=3, activation=rf.LeakyReLU(1.0))
    coarse, fine = (rf.solve(p, rf.Descent(h), t1=2.0).stats.energy_error for h in (2e-3, 1e-3))
    assert coarse / fine == pytest.approx(2.0, rel=0.02)
    # What is promised of outputs, 100 rtol, holds for the energy.
    assert rf.solve(p, rf.SteppedFlow(1e-6), t1=2.0).stats.energy_error < 1e-4
