"""The flow at scales down to e^-100000: times by formula, the same limit, and regimes that nobody can see."""

import numpy as np
import pytest
from support import orthogonal, problems

import reluflow as rf
from reluflow.drive import exact as flow

SCALES = [-14.0, -100.0, -1000.0, -10000.0, -100000.0]


def first_time(value, lo, hi):
    """Where `value` (of a grid of times) first becomes positive, to rounding."""
    for _ in range(12):
        t = np.linspace(lo, hi, 33)
        k = int(np.clip(np.argmax(value(t) > 0), 1, 32))
        lo, hi = t[k - 1], t[k]
    return 0.5 * (lo + hi)


def two_points(log_scale):
    return rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0))


def squared_norm(params):
    return float(np.sum(np.exp(2 * params.log_scale) * (params.a**2 + np.sum(params.w**2, axis=1))))


@pytest.mark.parametrize("log_scale", SCALES)
def test_two_points_escape_when_the_formula_says(log_scale):
    problem = two_points(log_scale)
    sol = rf.solve(problem, rf.Flow(rtol=1e-12))
    predicted, _ = orthogonal.half_times(problem.data, problem.init)
    by_limit = [s.half(-log_scale) for s in rf.limit(problem).saddles]
    np.testing.assert_allclose(by_limit, predicted, rtol=1e-14)
    for i, half in ((1, predicted[0]), (0, predicted[1])):
        y = problem.data.y[i]
        found = first_time(lambda t, i=i, y=y: sol.outputs_at(t)[:, i] / y - 0.5, half - 2.0, half + 2.0)
        assert found == pytest.approx(half, rel=1e-9)
    assert squared_norm(sol.final) == pytest.approx(2 / np.sqrt(5) + 2 / np.sqrt(1.25), rel=1e-9)


def test_steps_do_not_grow_with_the_log_of_the_scale():
    steps = [rf.solve(two_points(s)).stats.steps for s in (-14.0, -1000.0, -100000.0)]
    assert max(steps) < 2 * steps[0]


def five_points(log_scale):
    return rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0))


@pytest.fixture(scope="module")
def five_limit():
    return rf.limit(five_points(0.0))


def exits(sol, losses):
    """When the loss is midway between consecutive values."""
    found = []
    for level in 0.5 * (losses[:-1] + losses[1:]):
        k = int(np.argmax(sol.loss < level))
        found.append(first_time(lambda t, level=level: level - sol.loss_at(t), sol.t[k - 1], sol.t[k]))
    return np.array(found)


def test_five_points_have_one_limit_network_at_every_scale(five_limit):
    # As a function on the line; down to e^-46 stray neurons of size scale^0.08 still share the groups' work.
    size = np.linalg.norm(five_limit.params.w, axis=1)
    grid = np.column_stack([np.linspace(-4.0, 12.0, 200), np.ones(200)])
    limit = np.maximum(grid @ five_limit.params.w.T, 0.0) @ five_limit.params.a
    for log_scale, tol in ((np.log(1e-4 / np.sqrt(60)), 2e-2), (-46.0, 1e-4), (-1000.0, 1e-6), (-10000.0, 1e-6)):
        final = rf.solve(five_points(log_scale)).final
        w, a = final.w * np.exp(final.log_scale)[:, None], final.a * np.exp(final.log_scale)
        found = np.maximum(grid @ w.T, 0.0) @ a
        np.testing.assert_allclose(found, limit, atol=tol * np.max(np.abs(limit)))
        if log_scale <= -1000.0:
            np.testing.assert_allclose(w, five_limit.params.w, atol=1e-6 * np.max(size))
    assert five_limit.determined and five_limit.squared_norm == pytest.approx(17.2950496, abs=1e-6)


def test_five_points_leave_their_saddles_at_times_linear_in_the_log_of_the_scale(five_limit):
    losses = np.array([s.loss for s in five_limit.saddles] + [0.0])
    np.testing.assert_allclose(losses[:3], [0.087, 0.038, 0.0318157895], rtol=1e-6)
    ells = np.array([1000.0, 3000.0, 10000.0])
    runs = [rf.solve(five_points(-ell)) for ell in ells]
    times = np.array([exits(sol, losses) for sol in runs])
    slope = np.diff(times, axis=0) / np.diff(ells)[:, None]
    np.testing.assert_allclose(slope, [[s.slope for s in five_limit.saddles]] * 2, rtol=1e-6)
    # Slopes from the rates on each saddle alone: e_j = log|w_j| / ell grows at rate_j and the saddle ends at 0.
    sol, data = runs[-1], rf.data.five_points()
    e, T = -np.ones(60), 0.0
    for k, saddle in enumerate(five_limit.saddles):
        t = times[-1, k] - 0.02 * ells[-1]
        drive = (data.y - sol.outputs_at(t)) / data.n
        now = sol.at(t)
        unit = now.w / np.linalg.norm(now.w, axis=1, keepdims=True)
        rate = np.sign(now.a) * np.sum((sol.bits_at(t) * drive) @ data.x * unit, axis=1)
        leaving = list(saddle.neurons)
        np.testing.assert_allclose(T - e[leaving] / rate[leaving], saddle.slope, rtol=2e-4)
        e, T = e + rate * (saddle.slope - T), saddle.slope
    assert five_limit.saddles[0].slope == pytest.approx(1 / np.max(five_limit.early.rate), rel=1e-9)


def test_five_points_take_no_more_steps_at_e_to_the_minus_10000():
    few = rf.solve(five_points(np.log(1e-4 / np.sqrt(60)))).stats.steps
    assert rf.solve(five_points(-10000.0)).stats.steps < 3 * few


def theorem_1_log_eps(data, init):
    """log of min(eps_A, eps_B) of Min et al., handbook of early alignment, section 1 (sum of losses)."""
    n, h = data.n, init.width
    size = np.linalg.norm(data.x, axis=1)
    u = data.y[:, None] * data.x / size[:, None]
    mu = np.min((u @ u.T)[~np.eye(n, dtype=bool)])
    unit = init.w / np.linalg.norm(init.w, axis=1, keepdims=True)
    other = {s: (data.y * s < 0) @ data.x for s in (1.0, -1.0)}
    cosines = [unit[j] @ other[s] / np.linalg.norm(other[s]) for j, s in enumerate(np.sign(init.a))]
    m = min(1 - max(0.0, max(cosines)) ** 2, mu**2)
    log_w = np.log(np.max(np.linalg.norm(init.w, axis=1)))
    log_a = np.log(m * np.sqrt(mu) * size.min() / (8 * np.sqrt(h) * n * size.max() ** 2)) - 2 * log_w
    log_b = -64 * n * size.max() * np.log(n) / (m * np.sqrt(mu) * size.min()) - 0.5 * np.log(h)
    return float(min(log_a, log_b))


@pytest.mark.parametrize("n, mu, seed", [(6, 0.64, 0), (8, 0.6, 1), (12, 0.7, 2)])
def test_theorem_1_at_its_own_scale_goes_through_both_drops_of_the_loss(n, mu, seed):
    data = rf.data.orthogonally_separable(n, 4, mu, seed=seed)
    draws = (rf.init.balanced(20, 4, log_scale=0.0, seed=k) for k in range(seed, 100))
    init = next(i for i in draws if -14500 < theorem_1_log_eps(data, i) < -4000)
    log_eps = theorem_1_log_eps(data, init)
    problem = rf.Problem(data, rf.Params(init.w, init.a, log_scale=log_eps), loss="exponential", reduction="sum")
    limit = rf.limit(problem)
    rates = [np.linalg.norm((data.y * s > 0) @ data.x) for s in (1.0, -1.0)]
    np.testing.assert_allclose([t.rate for t in limit.early.targets], sorted(rates, reverse=True), rtol=1e-12)
    sol = rf.solve(problem, t1=-log_eps / min(rates) + 20.0)
    assert sol.stats.steps + sol.stats.rejected < 3000
    assert sol.outcome is rf.Outcome.REACHED
    # Margins leave 0 when the fastest neurons of their class arrive, log(1/eps) / rate up to a time of order 1.
    for s, rate in zip((1.0, -1.0), rates, strict=True):
        cls = data.y == s
        k = int(np.argmax(np.min(s * sol.outputs[:, cls], axis=1) > 0.25))
        assert sol.t[k] == pytest.approx(-log_eps / rate, abs=8.0)
    assert np.all(data.y * sol.outputs[-1] > 1.0)
    assert len(sol.events) == len(limit.early.events)
    np.testing.assert_allclose(np.sort(sol.events.t), np.sort(limit.early.events.t), rtol=1e-9)


def coupled_only(monkeypatch):
    """No jumps: there is no public switch, but a machine that has been told to wait does not look for them."""
    plain = flow.Machine.__init__

    def init(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        self.run.wait = 2**62

    monkeypatch.setattr(flow.Machine, "__init__", init)


def without_regimes(seed, monkeypatch):
    """(jumps, largest output, difference without jumps over the promise) of a random problem; None at a bifurcation."""
    rtol = 1e-8
    problem, t1 = problems.random_balanced(seed, scales=(-25.0, -50.0, -100.0, -200.0))
    rate = np.max(rf.limit(problem, follow=False).early.rate)
    if rate > 0:
        # Past the first escape, and with the square loss past a few more.
        t1 = (8.0 - (4.0 if problem.loss == "square" else 1.2) * problem.init.log_scale) / rate
    sol = rf.solve(problem, rf.Flow(rtol=rtol), t1=t1)
    t = np.linspace(0.0, t1, 60)
    found = sol.outputs_at(t)
    with monkeypatch.context() as patch:
        coupled_only(patch)
        slow = rf.solve(problem, rf.Flow(rtol=rtol), t1=t1)
        assert slow.stats.regimes["jumps"] == 0
        expected = slow.outputs_at(t)
    if min(s.stats.nearest_bifurcation for s in (sol, slow)) < 1e-6 or sol.stats.non_unique or slow.stats.non_unique:
        return None
    size = np.maximum(1.0, np.abs(expected))
    return (
        sol.stats.regimes["jumps"],
        float(np.max(np.abs(found))),
        float(np.max(np.abs(found - expected) / size)) / (100 * rtol),
    )


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_regimes_are_invisible(seed, monkeypatch):
    found = without_regimes(seed, monkeypatch)
    assert found is None or found[2] < 1.0


@pytest.mark.exhaustive
def test_regimes_are_invisible_on_a_hundred_problems(monkeypatch):
    found = [without_regimes(seed, monkeypatch) for seed in range(100)]
    judged = [f for f in found if f is not None]
    assert len(judged) >= 95
    assert sum(jumps > 0 and size > 0.1 for jumps, size, _ in judged) >= 90
    assert max(ratio for _, _, ratio in judged) < 1.0


def test_a_neuron_in_a_jump_does_not_spin_on_a_surface():
    # A neuron with 14 crossings and no slide, one of them on a datum of label 0, whose force is 1e-39.
    rng = np.random.default_rng(4)
    x, teacher = rng.normal(size=(40, 80)), rng.normal(size=(6, 80))
    y = np.maximum(x @ teacher.T, 0.0) @ rng.normal(size=6) / 30
    init = rf.init.balanced(20, 80, log_scale=-46.0, seed=0)
    problem = rf.Problem(rf.Data(x, y), rf.Params(init.w[15:16], init.a[15:16], log_scale=-46.0))
    sol = rf.solve(problem, t1=10.0)
    assert len(sol.events) == 14
    assert sol.stats.fields < 5000
