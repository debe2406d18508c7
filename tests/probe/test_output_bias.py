"""Fixed weights and PyTorch's output bias: the same dynamics as PyTorch's own, in descent and in the stepped flow."""

import numpy as np
import pytest

import reluflow as rf

torch = pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")


class Net(torch.nn.Module):
    """As a beginner writes it: no Sequential, a functional ReLU, PyTorch's default biases."""

    def __init__(self, first=True, second=True):
        super().__init__()
        self.hidden = torch.nn.Linear(2, 16, bias=first)
        self.head = torch.nn.Linear(16, 1, bias=second)

    def forward(self, x):
        return self.head(torch.relu(self.hidden(x))).squeeze(-1)


def trained(first=True, second=True, steps=2000, lr=0.01, every=50, **more):
    """Ten points, SGD on half the mean square error; the probe, the start and the data as this library has them."""
    torch.manual_seed(0)
    x, y = torch.randn(10, 2, dtype=torch.float64), torch.randn(10, dtype=torch.float64)
    model = Net(first, second).double()
    start = rf.from_torch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    probe = rf.torch.Probe(model, x, y, every=every, optimizer=optimizer, **more)
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * torch.mean((model(x) - y) ** 2)).backward()
        optimizer.step()
    data = rf.Data(x.numpy(), y.numpy())
    return probe, rf.Problem(data if start.dim == 2 else data.with_bias(), start), model


@pytest.mark.parametrize(("first", "second"), [(True, True), (False, True), (True, False), (False, False)])
def test_descent_from_a_torch_model_is_torchs_own_descent(first, second):
    probe, problem, _ = trained(first, second)
    watched, own = probe.solution(), rf.solve(problem, rf.Descent(0.01), t1=20.0)
    np.testing.assert_allclose(own.loss_at(20.0), watched.loss[-1], rtol=1e-10)
    np.testing.assert_allclose(own.outputs_at(watched.t), watched.outputs, rtol=0, atol=1e-10)


def test_an_output_bias_trained_like_any_neuron_is_another_training():
    probe, problem, _ = trained()
    free = rf.Problem(problem.data, rf.Params(*problem.init.arrays()))
    gap = abs(rf.solve(free, rf.Descent(0.01), t1=20.0).loss_at(20.0) / probe.solution().loss[-1] - 1.0)
    assert gap > 1e-3


def test_the_constant_of_a_dead_network_follows_its_closed_form():
    # Neurons inactive on all data: f is the constant, and c' = mean(y) - c.
    y = np.array([1.0, 3.0, 2.0])
    data = rf.Data(np.ones((3, 1)), y).with_bias()
    init = rf.Params([[-5.0, 0.0], [0.0, 1.0]], [1.0, 0.5], fixed=[[False, False], [True, True]])
    t = np.array([0.5, 1.0, 3.0])
    expected = 2.0 + (0.5 - 2.0) * np.exp(-t)
    flow = rf.solve(rf.Problem(data, init), rf.SteppedFlow(1e-9), t1=3.0)
    np.testing.assert_allclose(flow.outputs_at(t)[:, 0], expected, rtol=1e-8)
    np.testing.assert_array_equal(flow.final.arrays()[0][1], [0.0, 1.0])
    step = 2.0**-7
    descent = rf.solve(rf.Problem(data, init), rf.Descent(step), t1=3.0)
    np.testing.assert_allclose(descent.outputs_at(t)[:, 0], 2.0 - 1.5 * (1.0 - step) ** (t / step), rtol=1e-12)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_stepped_flow_is_the_limit_of_descents(loss):
    rng = np.random.default_rng(3)
    data = rf.Data(rng.normal(size=(6, 2)), np.sign(rng.normal(size=6))).with_bias()
    w = np.vstack([rng.normal(size=(5, 3)), [0.0, 0.0, 1.0]])
    fixed = np.zeros((6, 3), bool)
    fixed[-1] = True
    problem = rf.Problem(data, rf.Params(w, rng.normal(size=6), fixed=fixed), loss=loss)
    t = np.array([0.1, 0.3, 0.6])
    flow = rf.solve(problem, rf.SteppedFlow(1e-7), t1=0.6).outputs_at(t)
    gaps = [np.max(np.abs(rf.solve(problem, rf.Descent(h), t1=0.6).outputs_at(t) - flow)) for h in (1e-3, 1e-4)]
    assert gaps[1] < 1e-3 and 7.0 < gaps[0] / gaps[1] < 13.0  # order 1


def test_only_the_fixed_entries_stay_and_mini_batches_leave_them_too():
    rng = np.random.default_rng(0)
    data = rf.Data(rng.normal(size=(8, 3)), rng.normal(size=8))
    fixed = rng.random((5, 3)) < 0.4
    init = rf.Params(rng.normal(size=(5, 3)), rng.normal(size=5), fixed=fixed)
    for method in (rf.Descent(1e-2), rf.Descent(1e-2, batch=3), rf.SteppedFlow(1e-4)):
        end = rf.solve(rf.Problem(data, init), method, t1=2.0).final.arrays()[0]
        np.testing.assert_allclose(end[fixed], init.w[fixed], rtol=1e-14)
        assert np.all(end[~fixed] != init.w[~fixed])


def test_a_run_with_a_constant_is_saved_and_loaded(tmp_path):
    _, problem, _ = trained(steps=1)
    sol = rf.solve(problem, rf.Descent(0.01), t1=1.0)
    again = rf.load(sol.save(tmp_path / "run"))
    np.testing.assert_array_equal(again.problem.init.fixed, problem.init.fixed)
    np.testing.assert_array_equal(again.outputs_at([0.37, 0.9]), sol.outputs_at([0.37, 0.9]))
    assert again.final.fixed is not None


def test_what_is_not_made_for_a_constant_refuses_it():
    _, problem, _ = trained(steps=1)
    sol = rf.solve(problem, rf.Descent(0.01), t1=0.1)
    asks = [
        lambda: rf.solve(problem),
        lambda: rf.limit(problem),
        lambda: rf.bias.kernel(problem),
        lambda: rf.bias.report(sol),
        lambda: rf.check("boursier2022.assumption3", sol),
        lambda: rf.solve_many([problem], rf.Descent(0.01), t1=0.1),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match="fixed"):
            ask()
    first = rf.Problem(problem.data, problem.init, train="first")
    with pytest.raises(ValueError, match='must be "both" with fixed weights'):
        rf.solve(first, rf.Descent(0.01), t1=1.0)
    with pytest.raises(ValueError, match="for every entry of `w`"):
        rf.Params([[1.0]], [1.0], fixed=[True])
