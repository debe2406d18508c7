"""`probe.compare()`: where a training of the user's own leaves the flow; and models of any class."""

from dataclasses import replace

import numpy as np
import pytest
from tests.probe.test_output_bias import Net, trained

import reluflow as rf

torch = pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")
nn = torch.nn


def loop(model, optimizer, loss, x, y, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()


def points():
    torch.manual_seed(1)
    return torch.randn(8, 2, dtype=torch.float64), torch.sign(torch.randn(8, dtype=torch.float64))


def test_small_steps_follow_the_flow_and_large_ones_leave_it():
    near = trained(second=False, lr=1e-3, steps=2000)[0].compare()
    assert near.left is None and near.by == "time" and "follows the flow" in near.summary()
    far = trained(second=False, lr=0.2, steps=60, every=1)[0].compare()
    assert far.left is not None and f"leaves the flow at step {far.left}" in far.summary()
    k = int(np.flatnonzero(far.step == far.left)[0])
    assert far.gap[k] > far.threshold and np.all(far.gap[:k] <= far.threshold)
    np.testing.assert_allclose(far.t, 0.2 * far.step)


def test_the_flow_compared_with_is_the_flow_of_the_problem():
    probe, problem, _ = trained(second=False, steps=200)
    found = probe.compare(rtol=1e-9)
    own = rf.solve(problem, rf.Flow(1e-9), t1=2.0)
    np.testing.assert_allclose(found.loss_flow, own.loss_at(found.t), rtol=1e-6)
    gap = np.max(np.abs(own.outputs_at(found.t) - probe.solution().outputs), axis=1)
    np.testing.assert_allclose(found.gap, gap, atol=1e-6)


def test_numbers_and_picture_of_a_network_of_ones_own_class_with_every_bias():
    probe, _, _ = trained(steps=300)
    assert str(probe.layers) == "head(relu(hidden(x)))" and "head(relu(hidden(x)))" in repr(probe)
    found = probe.compare()
    table = found.to_pandas()
    assert list(table.columns) == ["t", "loss_training", "loss_flow", "gap", "bits"] and len(table) == 7
    assert "output bias" in found.summary() and "Your training" in repr(found)
    assert len(found.figure().axes) == 2 and "<img" in found._repr_html_()


def test_the_factor_of_the_loops_loss_is_measured():
    x, y = points()
    for loss, factor in (
        (nn.MSELoss(), 2.0),
        (nn.MSELoss(reduction="sum"), 16.0),
        (lambda f, t: 0.5 * ((f - t) ** 2).mean(), 1.0),
    ):
        torch.manual_seed(0)
        model = Net(second=False).double()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        probe = rf.torch.Probe(model, x, y, every=10, optimizer=optimizer)
        loop(model, optimizer, loss, x, y, 100)
        assert probe.rate == 1e-3 * factor and not probe.notes
        own = rf.solve(probe.problem, rf.Descent(1e-3 * factor), t1=probe.solution().t[-1])
        np.testing.assert_allclose(own.loss_at(own.t_end), probe.solution().loss[-1], rtol=1e-10)


def test_another_loss_is_named():
    x, y = points()
    model = Net(second=False).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    probe = rf.torch.Probe(model, x, y, optimizer=optimizer)
    loop(model, optimizer, nn.SoftMarginLoss(), x, y, 5)
    assert len(probe.notes) == 1 and "is not that of the mean square loss" in probe.notes[0]
    model = Net(second=False).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    right = rf.torch.Probe(model, x, y, optimizer=optimizer, loss="logistic")
    loop(model, optimizer, nn.SoftMarginLoss(), x, y, 5)
    assert right.notes == () and right.rate == 1e-2


@pytest.mark.parametrize("second", [False, True])
def test_the_weight_decay_of_a_plain_sgd_is_that_of_the_problem(second):
    x, y = points()
    torch.manual_seed(0)
    model = Net(second=second).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, weight_decay=1e-2)
    probe = rf.torch.Probe(model, x, y, every=20, optimizer=optimizer)
    loop(model, optimizer, nn.MSELoss(), x, y, 200)
    assert probe.problem.decay == pytest.approx(5e-3) and not probe.notes  # MSELoss counts twice, decay does not
    own = rf.solve(probe.problem, rf.Descent(probe.rate), t1=probe.solution().t[-1])
    np.testing.assert_allclose(own.outputs_at(own.t_end), probe.solution().outputs[-1], rtol=0, atol=1e-10)
    assert probe.compare().by == "time"


def test_weight_decay_of_other_optimisers_is_named_and_not_compared():
    x, y = points()
    model = Net(second=False).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    probe = rf.torch.Probe(model, x, y, optimizer=optimizer)
    loop(model, optimizer, nn.MSELoss(), x, y, 5)
    assert any("weight decay 0.01" in note for note in probe.notes)
    with pytest.raises(ValueError, match="weight decay"):
        probe.compare()


@pytest.mark.parametrize("second", [False, True])
def test_adam_is_compared_at_equal_losses(second):
    x, y = points()
    torch.manual_seed(0)
    model = Net(second=second).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    probe = rf.torch.Probe(model, x, y, every=20, optimizer=optimizer)
    loop(model, optimizer, nn.MSELoss(), x, y, 400)
    found = probe.compare()
    assert probe.rate is None and found.by == "loss" and "at equal losses" in found.summary()
    np.testing.assert_allclose(found.loss_flow, found.loss_training, rtol=1e-5)


def test_models_of_any_class_are_found_by_what_they_compute():
    class Backwards(nn.Module):  # the head is defined first, the activation is a function
        def __init__(self, act):
            super().__init__()
            self.out, self.act, self.body = nn.Linear(5, 1), act, nn.Linear(3, 5)

        def forward(self, x):
            return self.out(self.act(self.body(x)))

    for act, slope in (
        (torch.relu, 0.0),
        (nn.functional.leaky_relu, 0.01),
        (lambda z: nn.functional.leaky_relu(z, 0.3), 0.3),
        (nn.LeakyReLU(0.2), 0.2),
    ):
        model = Backwards(act).double()
        found = rf.torch._model.layers(model)
        assert found.names == ("body", "out") and abs(found.activation.slope - slope) < 1e-12
        w, a = rf.from_torch(model).arrays()
        x = np.random.default_rng(0).normal(size=(4, 3))
        z = np.column_stack([x, np.ones(4)]) @ w.T
        own = model(torch.tensor(x)).detach().numpy()[:, 0]
        np.testing.assert_allclose(np.maximum(z, slope * z) @ a, own, rtol=1e-12)
    for act in (torch.tanh, nn.functional.gelu, torch.abs):
        with pytest.raises(ValueError, match="must compute second"):
            rf.from_torch(Backwards(act).double())


def test_models_with_other_parts_are_refused_with_their_names():
    class Scaled(Net):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

    with pytest.raises(ValueError, match="got `scale` besides"):
        rf.from_torch(Scaled())
    with pytest.raises(ValueError, match="got Linear, Dropout, ReLU, Linear"):
        rf.from_torch(nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.ReLU(), nn.Linear(3, 1)))
    with pytest.raises(ValueError, match="takes what the first gives, got 3 outputs and 4 inputs"):
        rf.from_torch(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(4, 1)))
    frozen = Net()
    frozen.head.bias.requires_grad_(False)
    with pytest.raises(ValueError, match="`head` must be trained as a whole"):
        rf.from_torch(frozen)
    frozen = Net()
    frozen.hidden.weight.requires_grad_(False)
    with pytest.raises(ValueError, match=r"`hidden\.weight` must be trained"):
        rf.from_torch(frozen)


def test_a_training_of_no_steps_cannot_be_compared():
    x, y = points()
    with pytest.raises(ValueError, match="at least one step"):
        rf.torch.Probe(Net().double(), x, y).compare()


def test_every_leaving_and_return_is_named_with_the_largest_and_the_last_difference():
    found = trained(second=False, steps=300)[0].compare()
    assert found.step.tolist() == [0, 50, 100, 150, 200, 250, 300]
    pattern = lambda *away: replace(
        found, gap=found.threshold * np.where(np.isin(np.arange(7), away), [2.0] * 6 + [3.0], 0.5)
    )
    back = pattern(1, 2, 4)
    assert back.absences == ((50, 150), (200, 250)) and back.left == 50
    assert "away from the flow 2 times: from step 50 to 150 and from step 200 to 250." in back.summary()
    assert f"From step 250 on it is near the flow again, {back.gap[-1]:.2g} away at the end" in back.summary()
    away = pattern(1, 3, 6)
    assert away.absences == ((50, 100), (150, 200), (300, None))
    assert f"and from step 300 on. At the end it is {away.gap[-1]:.2g} away." in away.summary()
    assert f"largest difference is {away.gap[-1]:.3g}, at step 300" in away.summary()
    assert pattern().left is None and pattern().absences == ()


def test_the_constant_that_stands_for_an_output_bias_is_no_neuron():
    with_bias, without = (trained(second=second, steps=100)[0].compare() for second in (True, False))
    assert with_bias.activations == without.activations == 16 * 10
    assert with_bias.flow.problem.init.width == 17 and "of 160 activations differ" in with_bias.summary()


def test_the_error_of_an_approximated_flow_is_estimated_where_it_is_known_in_closed_form():
    # No neuron is active: f is the output bias, which follows 2 + (c - 2) e^-t.
    torch.manual_seed(0)
    model = Net().double()
    with torch.no_grad():
        model.hidden.bias.fill_(-100.0)
        start = float(model.head.bias)
    x = torch.randn(5, 2, dtype=torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    probe = rf.torch.Probe(model, x, torch.full((5,), 2.0, dtype=torch.float64), every=1, optimizer=optimizer)
    loop(model, optimizer, lambda f, y: 0.5 * ((f - y) ** 2).mean(), x, torch.full((5,), 2.0, dtype=torch.float64), 30)
    found = probe.compare()
    exact = 2.0 + (start - 2.0) * np.exp(-found.t)
    true = np.max(np.abs(found.flow.outputs_at(found.t)[:, 0] - exact))
    assert 0.8 * true < found.error < 1.25 * true
    assert f"right to about {found.error:.1g}" in found.summary()
    assert trained(second=False, steps=50)[0].compare().error == 0.0
