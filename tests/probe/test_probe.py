"""A PyTorch loop watched from outside is the run it is."""

import numpy as np
import pytest
from support.counted import all_calls

import reluflow as rf

torch = pytest.importorskip("torch")

from reluflow.torch import Probe, from_torch

STEP = 2e-3


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network(init, activation=None, dtype=torch.float64):
    """A model without biases that starts from `init`."""
    w, a = init.arrays()
    nn = torch.nn
    parts = nn.Linear(init.dim, init.width, bias=False), activation or nn.ReLU(), nn.Linear(init.width, 1, bias=False)
    model = nn.Sequential(*parts).to(dtype)
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor(w))
        model[2].weight.copy_(torch.tensor(a)[None])
    return model


def train(model, optimizer, data, steps, after=lambda: None):
    x, y = (torch.tensor(np.array(v)).to(model[0].weight.dtype) for v in (data.x, data.y))
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * torch.mean((model(x)[:, 0] - y) ** 2)).backward()
        optimizer.step()
        after()


def small(steps=300, every=50, dtype=torch.float64):
    """Two points, twelve neurons, and the probe that saw them train."""
    data, init = rf.data.two_points(), rf.init.balanced(12, 2, log_scale=-2.0, seed=1)
    model = network(init, dtype=dtype)
    probe = Probe(model, data.x, data.y, every=every, step=0.01)
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), data, steps, probe.step)
    return data, init, model, probe


@pytest.fixture(scope="module")
def figure2():
    """Figure 2 of Boursier et al. as its authors ran it: two points, width 60, scale 1e-6/sqrt(60), 15,000 steps."""
    torch.set_num_threads(1)
    data = rf.data.two_points()
    init = rf.init.balanced(60, 2, log_scale=np.log(1e-6 / np.sqrt(60)), seed=0)
    model = network(init)
    optimizer = torch.optim.SGD(model.parameters(), lr=STEP)
    probe = Probe(model, data.x, data.y, every=100, optimizer=optimizer)
    train(model, optimizer, data, 15_000)
    return probe.solution(), rf.solve(rf.Problem(data, init), rf.Descent(STEP), t1=15_000 * STEP)


def test_phases_of_figure_2_are_those_of_the_librarys_own_descent(figure2):
    watched, own = figure2
    assert len(watched.t) == 151 and watched.method == rf.Descent(STEP)
    found, expected = watched.phases(), own.phases()
    assert [p.kind for p in found] == ["alignment", "growth", "plateau", "growth", "convergence"]
    assert [p.kind for p in found] == [p.kind for p in expected]
    assert [p.neurons for p in found] == [p.neurons for p in expected]
    interval = 100 * STEP
    fastest = np.max(np.abs(np.diff(own.log_loss) / np.diff(own.t)))  # a loss at an edge moves with the edge
    for a, b in zip(found, expected):
        assert abs(a.start - b.start) < interval and abs(a.end - b.end) < interval
        assert (a.half is None) == (b.half is None) and (a.half is None or abs(a.half - b.half) < interval)
        assert abs(a.log_loss - b.log_loss) < fastest * interval


def test_a_recorded_state_of_figure_2_is_the_librarys_own(figure2):
    watched, own = figure2
    t = watched.t[[0, 10, 60, 150]]
    # 15,000 iterations, each rounding a few sums; before growth outputs are 1e-14, afterwards errors are damped.
    np.testing.assert_allclose(watched.outputs_at(t), own.outputs_at(t), rtol=1e-9, atol=1e-18)


def test_phases_notice_a_run_that_is_another(figure2):
    _, own = figure2
    other = rf.solve(own.problem, rf.Descent(STEP), t1=15.0)
    assert [p.kind for p in other.phases()] != [p.kind for p in figure2[0].phases()]


def test_observables_plots_and_checks_read_a_watched_run(figure2):
    import matplotlib.pyplot as plt

    watched, own = figure2
    np.testing.assert_allclose(rf.observe.stable_rank(watched)[-1], rf.observe.stable_rank(own)[-1], rtol=1e-6)
    assert watched.to_xarray().sizes["frame"] == 151
    figure, axes = plt.subplots()
    rf.plot.loss(axes, watched)
    rf.plot.norms(axes, watched)
    plt.close(figure)
    assert rf.check("boursier2022.assumption1", watched).applies == rf.check("boursier2022.assumption1", own).applies
    with pytest.raises(TypeError, match=r"needs a Solution of rf\.solve with rf\.Flow"):
        rf.check("boursier2022.lemma3", watched)


def test_watching_costs_less_than_two_percent_of_the_calls_of_a_step():
    data, model = rf.data.two_points(), network(rf.init.balanced(60, 2, log_scale=-2.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=STEP)
    probe = Probe(model, data.x, data.y, every=100)

    def watch():
        for _ in range(99):
            probe.step()

    training = all_calls(lambda: train(model, optimizer, data, 99))
    assert len(probe.solution().t) == 1
    assert all_calls(watch) < 0.02 * training
    probe.step()
    assert probe.steps == 100 and len(probe.solution().t) == 2


def test_events_are_those_seen_from_one_record_to_the_next():
    data, init = rf.data.five_points(), rf.init.gaussian(12, 2, log_scale=-1.0, seed=0, log_scale_a=-2.0)
    model = network(init)
    probe = Probe(model, data.x, data.y, every=1, step=0.2)
    train(model, torch.optim.SGD(model.parameters(), lr=0.2), data, 200, probe.step)
    sol, own = probe.solution(), rf.solve(rf.Problem(data, init), rf.Descent(0.2, fast_forward=False), t1=40.0)
    # Recorded every step, they are all that the library's own descent sees.
    rows = [sorted(zip(np.rint(s.events.t / 0.2), s.events.neuron, s.events.datum, s.events.kind)) for s in (sol, own)]
    assert rows[0] == rows[1]
    assert set(sol.events.counts()) == {"on", "off", "dead", "sign"}
    assert sol.stats.events == own.stats.events


def test_times_that_were_not_recorded_are_refused():
    sol = small()[3].solution()
    assert sol.at(1.0).width == 12
    for ask in (sol.at, sol.loss_at, sol.outputs_at, sol.bits_at):
        with pytest.raises(ValueError, match=r"Only recorded times are known, got 1\.23"):
            ask(1.23)
    with pytest.raises(ValueError, match="must lie in"):
        sol.at(4.0)
    with pytest.raises(NotImplementedError, match=r"to_xarray\(\)\.to_zarr"):
        sol.save("nowhere")


def test_the_present_weights_are_the_last_frame():
    _, _, model, probe = small(steps=320)
    sol = probe.solution()
    np.testing.assert_allclose(sol.t, 0.01 * np.array([0, 50, 100, 150, 200, 250, 300, 320]))
    w, a = sol.final.arrays()
    # Log scales are kept in one number, whose rounding is what is lost.
    np.testing.assert_allclose(w, model[0].weight.detach().numpy(), rtol=1e-15)
    np.testing.assert_allclose(a, model[2].weight.detach().numpy()[0], rtol=1e-15)
    assert "320 steps, 8 recorded" in repr(sol)


def test_single_precision_models_are_read_as_they_are():
    _, _, model, probe = small(dtype=torch.float32)
    found = probe.solution().final.arrays()[0]
    np.testing.assert_allclose(found, model[0].weight.detach().numpy().astype(float), rtol=1e-15)


def test_biases_are_a_column_and_a_neuron():
    torch.manual_seed(0)
    nn = torch.nn
    x, y = torch.randn(7, 3, dtype=torch.float64), torch.randn(7, 1, dtype=torch.float64)
    for first, second in ((True, True), (True, False), (False, True)):
        parts = nn.Linear(3, 5, bias=first), nn.LeakyReLU(0.2), nn.Linear(5, 1, bias=second)
        model = nn.Sequential(*parts).double()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        probe = Probe(model, x, y, every=3, optimizer=optimizer)
        for _ in range(7):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        sol = probe.solution()
        np.testing.assert_array_equal(sol.t, [0, 3, 6, 7])  # not plain SGD: time counts steps
        np.testing.assert_allclose(sol.outputs[-1], model(x).detach().numpy()[:, 0], rtol=1e-13)
        np.testing.assert_allclose(sol.loss[-1], 0.5 * nn.functional.mse_loss(model(x), y).item(), rtol=1e-13)
        params = from_torch(model)
        assert (params.width, params.dim) == (5 + second, 4)


def test_from_torch_gives_weights_that_solve_trains_as_torch_does():
    data, init, model, _ = small(steps=0)
    start = from_torch(model)
    np.testing.assert_array_equal(start.arrays()[0], init.arrays()[0])
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), data, 300)
    own = rf.solve(rf.Problem(data, start), rf.Descent(0.01), t1=3.0).final.arrays()
    np.testing.assert_allclose(own[0], from_torch(model).arrays()[0], rtol=0, atol=300 * 8 * np.finfo(float).eps)


def test_labels_of_a_classifier_and_a_frozen_head():
    model = network(rf.init.fixed_output(6, 2, log_scale=-1.0))
    model[2].weight.requires_grad_(False)
    probe = Probe(model, rf.data.two_points().x, [0, 1], loss="logistic")
    assert probe.problem.train == "first" and probe.problem.data.y.tolist() == [-1.0, 1.0]


def test_a_long_loop_keeps_within_its_memory():
    data, init = rf.data.two_points(), rf.init.balanced(12, 2, log_scale=-2.0)
    probe = Probe(network(init), data.x, data.y, every=1, memory="3 KiB")
    for _ in range(500):
        probe.step()
    assert probe.every > 1 and len(probe.solution().t) <= 12
    assert np.all(np.diff(probe.solution().t[:-1]) == probe.every)


def test_a_schedule_makes_time_count_steps():
    data, model = rf.data.two_points(), network(rf.init.balanced(12, 2, log_scale=-2.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    probe = Probe(model, data.x, data.y, every=10, optimizer=optimizer)
    train(model, optimizer, data, 20)
    np.testing.assert_allclose(probe.solution().t, [0.0, 0.1, 0.2])
    optimizer.param_groups[0]["lr"] = 0.005
    train(model, optimizer, data, 10)
    np.testing.assert_array_equal(probe.solution().t, [0, 10, 20, 30])


def test_a_run_that_overflowed_ends_at_its_last_number():
    data, model = rf.data.two_points(), network(rf.init.balanced(12, 2, log_scale=2.0), torch.nn.LeakyReLU(0.5))
    probe = Probe(model, data.x, data.y, every=1, step=1.0)
    train(model, torch.optim.SGD(model.parameters(), lr=1.0), data, 20, probe.step)
    sol = probe.solution()
    assert sol.outcome is rf.Outcome.NOT_FINITE and np.all(np.isfinite(sol.final.w))


def test_models_that_do_not_fit_are_named():
    nn, x, y = torch.nn, np.eye(2), np.ones(2)
    with pytest.raises(ValueError, match="got Linear, Tanh, Linear"):
        Probe(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), x, y)
    with pytest.raises(ValueError, match="no output bias with several outputs, got one with 2"):
        from_torch(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)))
    with pytest.raises(TypeError, match=r"torch\.nn\.Module, got int"):
        from_torch(3)
    with pytest.raises(ValueError, match="the model's 4 columns, got 2"):
        Probe(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), x, y)

    class Doubled(nn.Sequential):
        def forward(self, x):
            return 2.0 * super().forward(x)

    with pytest.raises(ValueError, match="its forward does more"):
        Probe(Doubled(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), x, y)
