"""Fast-forwarded descent is stepped descent: the same events, the same weights, whatever is jumped or leapt over."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.drive import descent
from reluflow.engine import adams as leap

LOSSES = ("square", "logistic", "logistic2", "exponential")
STEP = 0.01
# A leap is allowed an error of 1e-13 of a neuron; hundreds of leaps and what training amplifies make it 1e-10.
PROMISE = 1e-10


def random_problem(seed):
    """Scales from e^-4 to e^-200, every loss, ReLU and leaky, balanced and not, general and orthogonal data."""
    rng = np.random.default_rng([seed, 93])
    n, d, width = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(3, 10))
    loss = LOSSES[seed % 4]
    x = rng.normal(size=(n, d))
    if seed % 5 == 0:
        x = np.linalg.qr(rng.normal(size=(d, d)))[0][:n]
    y = rng.normal(size=len(x)) if loss == "square" else rng.choice([-1.0, 1.0], len(x))
    scale = (-4.0, -20.0, -60.0, -200.0)[seed // 4 % 4]
    init = rf.init.balanced(width, d, log_scale=scale, seed=seed)
    if seed % 3 == 0:
        init = rf.init.gaussian(width, d, scale, seed, log_scale_a=scale - 1.0)
    reduction, activation = ("mean", "sum")[seed // 2 % 2], rf.LeakyReLU((0.0, 0.3)[seed // 3 % 2])
    return rf.Problem(rf.Data(x, y), init, loss=loss, reduction=reduction, activation=activation)


def regimes(sol):
    """How the iterations were made."""
    return sol.stats.regimes


def apart(one, two):
    """Largest difference of a neuron (w_j, a_j), relative to its own size."""
    rows = [np.hstack([p.w, p.a[:, None]]) for p in (one, two)]
    rows[1] = rows[1] * np.exp(two.log_scales[0] - one.log_scales[0])[:, None]
    size = np.linalg.norm(rows[0], axis=1)
    return np.max(np.linalg.norm(rows[0] - rows[1], axis=1)[size > 0] / size[size > 0])


def table(sol):
    """Events as rows in one order, whatever the order within an iteration."""
    e = sol.events
    return sorted(zip(np.rint(e.t / sol.method.step), e.neuron, e.datum, e.code))


def both_ways(problem, iterations, step=STEP):
    stepped, forward = (
        rf.solve(problem, rf.Descent(step, fast_forward=ff), t1=step * iterations) for ff in (False, True)
    )
    last = min(stepped.t[-1], forward.t[-1])
    times = np.linspace(0.0, last, 7)[1:]
    worst = max(apart(a, b) for a, b in zip(stepped.at(times), forward.at(times)))
    return stepped, forward, worst


@pytest.mark.parametrize("seed", range(20))
def test_random_problems_have_the_events_and_weights_of_stepping(seed):
    problem = random_problem(seed)
    scale = problem.init.log_scales[0][0]
    stepped, forward, worst = both_ways(problem, int((6.0 - 2.0 * scale) / STEP) + 4000)
    assert table(stepped) == table(forward) and len(forward.events) > 0
    assert np.array_equal(stepped.initial_bits, forward.initial_bits)
    assert stepped.outcome is forward.outcome
    assert worst < PROMISE


def first_layer(scale, seed):
    """General data at small scale; orthogonal ones, on which nothing chatters, at scale 1."""
    rng = np.random.default_rng([seed, 94])
    x = rng.normal(size=(5, 3)) if scale < 0.1 else np.linalg.qr(rng.normal(size=(3, 3)))[0]
    init = rf.Params(rng.normal(size=(8, 3)) * scale, rng.choice([-1.0, 1.0], 8) * scale)
    data = rf.Data(x, rng.choice([-1.0, 1.0], len(x)))
    return rf.Problem(data, init, loss="logistic", activation=rf.LeakyReLU(0.2 * (seed % 2)), train="first")


@pytest.mark.parametrize(("scale", "regime"), [(1e-12, "jumped"), (0.3, "leapt")])
@pytest.mark.parametrize("seed", range(2))
def test_the_first_layer_alone_jumps_along_straight_lines_and_leaps(scale, regime, seed):
    stepped, forward, worst = both_ways(first_layer(scale, seed), 20_000)
    assert table(stepped) == table(forward) and worst < PROMISE
    assert regimes(forward)[regime] > 1000


def test_a_jump_finds_the_very_iteration_of_a_crossing_from_e_minus_100000():
    # One neuron, b + p = P, b - p = M along D = x_1 / 2: <w, x_2> = c + a p_k crosses 0 once; both sides are evaluated.
    x = np.array([[1.0, 0.0], [0.6, 0.8]])
    w = np.array([[1.0, -2.0]])
    problem = rf.Problem(rf.Data(x, [1.0, 1.0]), rf.Params(w, [np.sqrt(5.0)], log_scale=-1e5), loss="square")
    step = 0.01
    sol = rf.solve(problem, rf.Descent(step), t1=10.0)
    plus, minus = np.sqrt(5.0) + 1.0, np.sqrt(5.0) - 1.0
    k = np.arange(1001)
    u = 0.8 * -2.0 + 0.6 * (plus * (1 + step / 2) ** k - minus * (1 - step / 2) ** k) / 2
    on = sol.events["on"]
    assert on.datum.tolist() == [1] and round(on.t[0] / step) == np.argmax(u > 0)
    assert regimes(sol)["jumped"] > 900


def test_one_neuron_crosses_e_100000_of_growth_in_a_few_evaluations():
    step = 0.01
    problem = rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.0]], [1.0], log_scale=-1e5))
    half = 1e5 / np.log1p(step)
    sol = rf.solve(problem, rf.Descent(step), t1=step * int(half + 3000))
    assert sol.stats.fields < 5000 < sol.stats.steps / 1000
    # Before the output is felt: (1 + step)^k exactly, its logarithm rounded once at 1e5.
    early = sol.t < 0.99 * step * half
    np.testing.assert_allclose(sol.log_norm[early, 0], -1e5 + sol.t[early] / step * np.log1p(step), rtol=1e-12)
    assert abs(sol.outputs[-1, 0] - 1.0) < 1e-12


def test_plateaus_between_saddles_are_jumped():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-1000.0, seed=0))
    sol = rf.solve(problem, rf.Descent(2e-3))
    # At rest step |D| is below the rounding of a neuron, 1.1e-16: residuals are below 1e-13.
    assert sol.outcome is rf.Outcome.STATIONARY and sol.loss[-1] < 1e-26
    assert regimes(sol)["jumps"] >= 2 and sol.stats.fields < sol.stats.steps / 50
    # Descent grows by log(1 + step |D|) an iteration, the flow by step |D|: later by the share step |D| / 2, and |D| is
    # 1.12 for the first class, 0.56 for the second.
    flow = rf.solve(problem, rf.Flow(1e-9), t1=sol.t[-1])
    for share_, rate in ((0.75, np.sqrt(5.0) / 2), (0.25, np.sqrt(1.25) / 2)):
        t = _first_below(flow, share_), _first_below(sol, share_)
        assert t[1] / t[0] - 1 == pytest.approx(2e-3 * rate / 2, rel=0.02)


def _first_below(sol, loss):
    """When the loss falls below a share of what it was, by bisection in time."""
    low, high = 0.0, sol.t[-1]
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if sol.loss_at(middle) < loss * sol.loss[0] else (middle, high)
    return high


def kou(slope, seed=0, n=8, m=20, p=0.0):
    """Kou et al.: fixed heads +-1/m, logistic; a Gram matrix 1 + p S with S symmetric, signs off the diagonal."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)), 1)
    x = np.linalg.cholesky(np.eye(n) + p * (upper + upper.T))
    init = rf.Params(1e-2 * rng.normal(size=(2 * m, n)), np.repeat([1.0 / m, -1.0 / m], m))
    activation = rf.LeakyReLU(slope) if slope else rf.ReLU(at_zero=1.0)
    data = rf.Data(x, np.repeat([1.0, -1.0], n // 2))
    return rf.Problem(data, init, loss="logistic", activation=activation, train="first")


@pytest.mark.parametrize(("slope", "p"), [(0.0, 0.0), (0.1, 0.0), (0.5, 0.02)])
def test_late_descent_agrees_with_stepping(slope, p):
    stepped, forward, worst = both_ways(kou(slope, p=p), 30_000, step=1.0)
    assert table(stepped) == table(forward) and worst < PROMISE
    # The relative error of the loss is the absolute error of the margins.
    assert np.max(np.abs(stepped.log_loss - forward.log_loss)) < PROMISE
    assert forward.stats.fields < 1500


@pytest.mark.exhaustive
@pytest.mark.parametrize(("slope", "p"), [(0.0, 0.0), (0.1, 0.0), (0.5, 0.02)])
def test_late_descent_agrees_with_stepping_at_a_million(slope, p):
    stepped, forward, worst = both_ways(kou(slope, p=p), 1_000_000, step=1.0)
    off = np.max(np.abs(stepped.log_loss - forward.log_loss))
    print(f"\nslope {slope}, p {p}: weights apart {worst:.1e}, log loss {off:.1e}, fields {forward.stats.fields}")
    assert table(stepped) == table(forward) and worst < PROMISE and off < PROMISE


def test_kou_s_descent_to_1e12_has_the_limits_computed_from_its_start():
    problem, m = kou(0.0), 20
    sol = rf.solve(problem, rf.Descent(1.0), t1=1e12, save=rf.Save(times=np.geomspace(1e2, 1e12, 11)))
    assert sol.stats.steps == 10**12 and sol.stats.fields < 4000 and regimes(sol)["leap_tolerance"] == 1e-13
    # Lemmas F.2, F.3 [gd_nearly_orthogonal]: t L -> sum_i m^2 / |S_i| and W_+ / log t -> A.
    w0, y = problem.init.w, problem.data.y
    own = (np.arange(2 * m)[:, None] < m) == (y > 0)
    active = own & (w0 >= 0)
    limit = np.sum(m**2 / np.sum(active, axis=0))
    assert abs(sol.t[-1] * sol.loss[-1] / limit - 1) < 1e-7
    A = active * (m / np.sum(active, axis=0))
    rank = [_stable_rank(p.w[:m]) for p in sol.at(sol.t)]
    gap = np.abs(np.array(rank) - _stable_rank(A[:m]))
    assert np.all(np.diff(gap[3:]) < 0) and gap[-1] * np.log(1e12) < 2 * gap[5] * np.log(sol.t[5])
    flow = rf.solve(problem, rf.Flow(1e-10), t1=1e12)
    # The flow itself is O(1 / t) away by then.
    assert abs(flow.log_loss[-1] - sol.log_loss[-1]) < 1e-7


def _stable_rank(w):
    s = np.linalg.svd(w, compute_uv=False)
    return np.sum(s**2) / s[0] ** 2


def test_leaps_add_no_more_than_their_tolerance_each():
    # Leaps of nine iterations from nodes two apart multiply the roundings of the changes by 1e5: each was off by 7e-13.
    start = rf.init.fixed_output(4, 2, log_scale=-3.0, seed=3)
    data, relu = rf.Data(np.array([[1.0, 0.0], [0.05, 1.0]]), [1.0, -1.0]), rf.ReLU(at_zero=1.0)
    problem = rf.Problem(data, start, loss="logistic", activation=relu, train="first")
    _, forward, worst = both_ways(problem, 200, 0.06)
    assert regimes(forward)["leaps"] > 5 and worst < leap.TOLERANCE * regimes(forward)["leaps"]


def test_a_leap_of_any_length_is_the_polynomial_s_sum(monkeypatch):
    monkeypatch.setattr(leap, "gammas", _python(leap.gammas))
    # d(k) of degree ORDER - 1 through nodes at uneven distances: the prediction is exact for any length.
    rng = np.random.default_rng(0)
    node = np.cumsum(rng.integers(1, 9, leap.ORDER))
    top, now = leap.ORDER - 1, int(node[-1])
    powers = np.arange(leap.ORDER)
    for length in (1, 2, 7, 40):
        ahead = _bare_ahead(node)
        _python(leap.prepare)(ahead, now, top, length)
        scaled = (np.arange(now, now + length) - now) / length
        at_nodes = ((node - now) / length)[:, None] ** powers
        found = ahead.predict[: leap.ORDER] @ at_nodes[::-1]
        truth = np.mean(scaled[:, None] ** powers, axis=0)
        # Rounding of every weight and value: a long extrapolation through near nodes is ill-conditioned by nature.
        slack = 4 * leap.ORDER * np.finfo(float).eps * np.sum(np.abs(share(ahead)) @ np.abs(at_nodes[::-1]))
        np.testing.assert_allclose(found, truth, rtol=0, atol=slack)


def share(ahead):
    """gamma_j times the coefficients of the divided differences."""
    return ahead.gamma[: leap.ORDER, None] * ahead.share


def _bare_ahead(node):
    ahead = leap.leap_room(np.ones((1, 1)), 1)
    ahead.node[:] = node
    return ahead


@pytest.mark.parametrize("ahead", [False, True])
def test_any_moment_is_replayed_bit_for_bit_whatever_was_asked_for(ahead):
    init = rf.init.balanced(12, 2, log_scale=-40.0, seed=1)
    problem = rf.Problem(rf.data.two_points(), init)
    method = rf.Descent(0.01, fast_forward=ahead)
    k = np.unique(np.r_[np.arange(0, 9000, 131), 1, 2, 17])
    every = rf.solve(problem, method, t1=90.0, save=rf.Save(times=k * 0.01))
    few = rf.solve(problem, method, t1=90.0, save=rf.Save(frames=5))
    for name in ("w", "a", "log_scale"):
        found = np.array([getattr(p, name) for p in few.at(k * 0.01)])
        assert np.array_equal(found, getattr(every, name))
    assert np.array_equal(few.bits_at(k * 0.01), every.bits_at(k * 0.01))
    assert table(few) == table(every)


def test_a_saved_run_replays_the_same_values(tmp_path):
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, log_scale=-40.0, seed=1))
    sol = rf.solve(problem, rf.Descent(0.01), t1=90.0)
    t = np.linspace(0.0, 90.0, 57)
    sol.save(tmp_path / "run")
    loaded = rf.load(tmp_path / "run")
    assert np.array_equal(loaded.loss, sol.loss)
    # Between its checkpoints a loaded run leaps from others than the run did.
    np.testing.assert_allclose(loaded.outputs_at(t), sol.outputs_at(t), rtol=PROMISE, atol=1e-300)


def test_mini_batches_and_float32_never_fast_forward():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(6, 2, log_scale=-30.0, seed=1))
    for method in (rf.Descent(0.01, batch=1), rf.Descent(0.01, dtype="float32"), rf.Descent(0.01, fast_forward=False)):
        assert regimes(rf.solve(problem, method, t1=10.0)) == {"descent": 1000}
    with pytest.raises(ValueError, match="`fast_forward` must be True or False"):
        rf.Descent(0.1, fast_forward="yes")


def test_a_leap_that_would_pass_a_surface_and_come_back_is_refused():
    from reluflow.engine.adams import dipped

    ends = leap.leap_room(np.ones((1, 1)), 1)
    ends.u0[:], ends.v0[:], ends.u1[:], ends.v1[:] = 1.0, -0.3, 1.0, 0.3  # by 3 in ten: the tangents meet at -0.5
    assert _python(dipped)(ends, 10)
    ends.v0[:], ends.v1[:] = -0.1, 0.1  # they meet at +0.5
    assert not _python(dipped)(ends, 10)


def _python(kernel):
    return getattr(kernel, "py_func", kernel)


def wide(loss, scale):
    """Orthonormal rows of so many dimensions that the gradient is made of matrix products."""
    rng = np.random.default_rng(7)
    x = np.linalg.qr(rng.normal(size=(60, 40)))[0].T
    y = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    init = rf.init.balanced(50, 60, log_scale=scale, seed=0)
    return rf.Problem(rf.Data(x, y), init, loss=loss, reduction="sum")


@pytest.mark.parametrize(("scale", "iterations"), [(-20.0, 1600), (-40.0, 1300)])
def test_iterations_by_matrix_products_are_jumped_and_leapt_over_too(scale, iterations):
    # From e^-40 the run ends before the outputs count: from then on descent multiplies rounding by 1e12.
    stepped, forward, worst = both_ways(wide("logistic", scale), iterations)
    assert table(stepped) == table(forward) and worst < PROMISE
    assert regimes(forward)["jumped"] + regimes(forward)["leapt"] > 0.6 * iterations
    assert np.max(forward.log_norm[-1]) > 0.5 * scale


def test_jumps_by_matrix_products_are_those_by_loops_at_e_minus_1000(monkeypatch):
    # Stepping is no peer there: a preactivation that shrinks to 1e-16 of its neuron gets a random sign.
    problem = wide("square", -1000.0)
    products = rf.solve(problem, rf.Descent(STEP), t1=200.0)
    monkeypatch.setattr(descent, "BLAS_ABOVE", 10**12)
    loops = rf.solve(problem, rf.Descent(STEP), t1=200.0)
    assert regimes(products)["jumped"] > 19_000 and np.max(products.log_norm[-1]) > -200.0
    assert table(products) == table(loops)
    assert apart(products.final, loops.final) < PROMISE
