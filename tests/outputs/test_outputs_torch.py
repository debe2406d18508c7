"""PyTorch models with several outputs: read, watched, compared with the flow."""

import numpy as np
import pytest

import reluflow as rf

torch = pytest.importorskip("torch")


def model(k=3, d=4, width=5, slope=0.0):
    torch.manual_seed(0)
    between = torch.nn.LeakyReLU(slope) if slope else torch.nn.ReLU()
    layers = torch.nn.Linear(d, width, bias=False), between, torch.nn.Linear(width, k, bias=False)
    return torch.nn.Sequential(*layers).double()


def test_a_model_with_several_outputs_is_read_and_computes_the_same():
    net = model(slope=0.2)
    params = rf.from_torch(net)
    x = np.random.default_rng(0).normal(size=(7, 4))
    u = x @ params.w.T
    found = np.where(u > 0, u, 0.2 * u) @ params.a
    np.testing.assert_allclose(found, net(torch.tensor(x)).detach().numpy(), rtol=1e-12)


def test_a_model_with_several_outputs_and_an_output_bias_is_refused():
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    with pytest.raises(ValueError, match="no output bias with several outputs, got one with 3"):
        rf.from_torch(net)


@pytest.mark.parametrize("loss, factor", [("softmax", 1.0), ("square", 2.0 / 3.0)])
def test_a_watched_training_is_the_descent_of_its_problem(loss, factor):
    net, rng = model(), np.random.default_rng(1)
    x = rng.normal(size=(9, 4))
    y = np.arange(9) % 3 if loss == "softmax" else rng.normal(size=(9, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    probe = rf.torch.Probe(net, x, y, every=10, optimizer=optimizer, loss=loss)
    measure = torch.nn.CrossEntropyLoss() if loss == "softmax" else torch.nn.MSELoss()
    for _ in range(100):
        optimizer.zero_grad()
        measure(net(torch.tensor(x)), torch.tensor(y)).backward()
        optimizer.step()
    assert probe.rate == pytest.approx(0.05 * factor) and probe.notes == ()
    sol = probe.solution()
    again = rf.solve(sol.problem, rf.Descent(probe.rate), t1=100 * probe.rate)
    np.testing.assert_allclose(sol.outputs[-1], again.outputs_at(100 * probe.rate), atol=1e-12)
    found = probe.compare(rtol=1e-6)
    assert found.gap[0] < 1e-12 and np.max(found.gap) < 0.2 and "training" in str(found)
