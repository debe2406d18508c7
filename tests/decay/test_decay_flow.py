"""Weight decay in the flow: closed forms, laws, both regimes, descent, an independent solver."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf
from reluflow.drive import driver_for, loop
from reluflow.losses import LOSSES as TABLE
from reluflow.solution import recorded
from reluflow.solve import end_clock

RTOL = 1e-8
LOSSES = ("square", "logistic", "exponential", "logistic2", "hinge2")


def drawn(seed, *, decay, loss=None, train="both", balanced=True, slope=0.0, scale=0.3):
    """Small random problems: n 2-6, d 2-3, m 4-10."""
    sizes = np.random.default_rng(1000 + seed)
    n, d, m = int(sizes.integers(2, 7)), int(sizes.integers(2, 4)), int(sizes.integers(4, 11))
    rng = np.random.default_rng(seed)
    x, y, w = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(m, d))
    signs = rng.choice([-1.0, 1.0], m)
    a = signs * np.linalg.norm(w, axis=1) if balanced else 1.5 * rng.normal(size=m)
    loss = loss or LOSSES[seed % 3]
    y = y if loss == "square" else np.sign(y)
    return rf.Problem(
        rf.Data(x, y),
        rf.Params(scale * w, scale * a),
        loss=loss,
        train=train,
        activation=rf.LeakyReLU(slope),
        decay=decay,
    )


def in_regime(problem, regime, t1, rtol=RTOL):
    """The run in a regime of the engine, whatever the size of the problem."""
    method = rf.Flow(rtol=rtol)
    driver = driver_for(problem, method, end_clock(problem, t1, None, method), regime=regime)
    with loop.stops() as stop:
        return recorded(problem, method, loop.run(driver, rf.Save(), rf.Limits(), None, stop))


def one_neuron(log_scale, decay, x=2.0, y=3.0):
    return rf.Problem(rf.Data([[x]], [y]), rf.Params([[1.0]], [1.0], log_scale=log_scale), decay=decay)


@pytest.mark.parametrize("log_scale", [-7.0, -700.0, -70000.0])
def test_one_aligned_neuron_follows_the_logistic_curve_to_the_shifted_label(log_scale):
    # n = width = d = 1, balanced: f' = 2 f (x (y - f) - decay), the logistic curve with the label y - decay / x.
    x, y, decay = 2.0, 3.0, 0.8
    top = y - decay / x
    half = (np.log(top / x) - 2 * log_scale) / (2 * x * top)
    sol = rf.solve(one_neuron(log_scale, decay, x, y), rf.Flow(rtol=1e-10), t1=half + 4.0)
    t = half + np.linspace(-1.0, 4.0, 50)
    np.testing.assert_allclose(sol.outputs_at(t)[:, 0], top / (1 + np.exp(-2 * x * top * (t - half))), rtol=1e-6)


def test_a_run_without_end_time_stops_at_the_shifted_label():
    sol = rf.solve(one_neuron(-30.0, 0.8), rf.Flow(rtol=1e-10))
    assert sol.outcome is rf.Outcome.STATIONARY
    np.testing.assert_allclose(sol.end.outputs[0], [3.0 - 0.8 / 2.0], rtol=1e-12)


def test_decay_above_every_pull_sends_all_weights_to_zero():
    sol = rf.solve(one_neuron(0.0, 6.5), rf.Flow(rtol=1e-8))  # the pull at 0 is x y = 6
    assert sol.outcome is rf.Outcome.STATIONARY
    assert sol.end.outputs[0, 0] < 1e-12


def test_a_neuron_that_no_datum_moves_shrinks_by_decay_alone():
    data = rf.Data([[1.0, 0.2], [0.5, 1.0]], [1.0, -0.5])
    start = rf.Params([[1.0, 0.3], [-1.0, -1.0]], [1.1, 0.7])
    for train in ("both", "first"):
        sol = rf.solve(rf.Problem(data, start, train=train, decay=0.3), rf.Flow(rtol=RTOL), t1=5.0)
        w, a = sol.at(2.5).arrays()
        np.testing.assert_allclose(w[1], np.exp(-0.3 * 2.5) * start.w[1], rtol=1e-12)
        np.testing.assert_allclose(a[1], 0.7 * (np.exp(-0.3 * 2.5) if train == "both" else 1.0), rtol=1e-12)


@pytest.mark.parametrize("regime", ["coupled", "windows"])
def test_the_difference_of_the_layers_decays_exponentially(regime):
    problem = drawn(3, decay=0.2, balanced=False)
    w, a = problem.init.arrays()
    first = a**2 - np.sum(w**2, axis=1)
    sol = in_regime(problem, regime, 6.0)
    for t in (1.0, 6.0):
        w, a = sol.at(t).arrays()
        np.testing.assert_allclose(a**2 - np.sum(w**2, axis=1), first * np.exp(-0.4 * t), rtol=1e-9, atol=1e-12)


def test_the_first_layer_alone_has_the_closed_form_of_a_linear_equation():
    # One neuron, one datum, a fixed: w' = a x (y - a x w) - decay w.
    a, x, y, decay, w0 = 0.7, 2.0, 3.0, 0.4, 0.1
    data, start = rf.Data([[x]], [y]), rf.Params([[w0]], [a])
    sol = rf.solve(rf.Problem(data, start, train="first", decay=decay), rf.Flow(rtol=1e-10), t1=3.0)
    rate = (a * x) ** 2 + decay
    t = np.linspace(0.0, 3.0, 9)
    w = a * x * y / rate + (w0 - a * x * y / rate) * np.exp(-rate * t)
    np.testing.assert_allclose(sol.outputs_at(t)[:, 0], a * x * w, rtol=1e-9)


CASES = [
    dict(seed=0),
    dict(seed=1),
    dict(seed=2),
    dict(seed=3, balanced=False),
    dict(seed=5),
    dict(seed=6, train="first"),
    dict(seed=7, balanced=False),
    dict(seed=8, slope=0.3),
    dict(seed=9),
    dict(seed=12),
    dict(seed=16, loss="hinge2"),
    dict(seed=17, loss="logistic2", balanced=False, slope=0.1),
]


def decay_of(case):
    return (0.02, 0.1, 0.3)[case["seed"] // 3 % 3]


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["seed"]))
def test_the_two_regimes_agree_and_account_for_the_energy(case):
    problem = drawn(**case, decay=decay_of(case))
    a = in_regime(problem, "coupled", 6.0)
    t = np.linspace(0.5, 6.0, 7)
    assert a.stats.energy_error <= 100 * RTOL
    if problem.train == "both":
        b = in_regime(problem, "windows", 6.0)
        assert b.stats.regimes["windows"] > 0 and b.stats.energy_error <= 100 * RTOL
        np.testing.assert_allclose(a.outputs_at(t), b.outputs_at(t), atol=100 * RTOL)
        assert a.stats.events == b.stats.events
    tight = in_regime(problem, "coupled", 6.0, rtol=1e-12)
    np.testing.assert_allclose(a.outputs_at(t), tight.outputs_at(t), atol=100 * RTOL)


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["seed"]))
def test_descent_with_small_steps_tends_to_the_flow(case):
    problem = drawn(**case, decay=decay_of(case))
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), t1=6.0)
    far, near = (rf.solve(problem, rf.Descent(step=s), t1=6.0).end.outputs[0] for s in (1e-3, 5e-4))
    spread = np.max(np.abs(far - near))
    # Of first order; where neurons slide, descent chatters, which extrapolation does not remove: a tenth of the step.
    chatter = 0.1 * 5e-4 if sol.stats.slides else 1e-8
    assert np.max(np.abs(2 * near - far - sol.end.outputs[0])) <= 2.0 * spread + chatter


@pytest.mark.parametrize("case", [CASES[k] for k in (1, 3, 5)], ids=lambda c: str(c["seed"]))
def test_the_stepped_flow_agrees(case):
    problem = drawn(**case, decay=decay_of(case))
    flow = rf.solve(problem, rf.Flow(rtol=1e-8), t1=2.0)
    stepped = rf.solve(problem, rf.SteppedFlow(rtol=1e-4), t1=2.0)
    np.testing.assert_allclose(stepped.end.outputs[0], flow.end.outputs[0], atol=1e-2)
    assert stepped.stats.energy_error < 1e-2


@pytest.mark.parametrize("case", [CASES[k] for k in (0, 1, 3, 5, 7)], ids=lambda c: str(c["seed"]))
def test_the_independent_solver_agrees(case):
    pytest.importorskip("flint")
    from reluflow import reference

    problem = drawn(**case, decay=decay_of(case))
    exact_run = reference.flow(problem, [1.5, 6.0], digits=20)
    sol = rf.solve(problem, rf.Flow(rtol=1e-11), t1=6.0)
    expected = np.array([[float(v) for v in row] for row in exact_run.f])
    np.testing.assert_allclose(sol.outputs_at([1.5, 6.0]), expected, atol=1e-9)
    assert len(exact_run.events) == np.sum(sol.events.t > 0)  # neurons dead from the start are no events there
    w = np.array([[float(v) for v in row] for row in exact_run.w[-1]])
    np.testing.assert_allclose(sol.final.arrays()[0], w, atol=1e-8)


def test_descent_with_decay_is_the_plain_loop():
    problem = drawn(4, decay=0.1, loss="square")
    x, y = problem.data.x, problem.data.y
    w, a = problem.init.arrays()
    for _ in range(500):
        u = x @ w.T
        g = (y - np.maximum(u, 0.0) @ a) / len(y)
        D = ((u > 0) * g[:, None]).T @ x
        w, a = w + 0.01 * (a[:, None] * D - 0.1 * w), a + 0.01 * (np.sum(w * D, axis=1) - 0.1 * a)
    for fast in (True, False):
        sol = rf.solve(problem, rf.Descent(step=0.01, fast_forward=fast), t1=5.0)
        np.testing.assert_allclose(sol.final.arrays()[0], w, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(sol.final.arrays()[1], a, rtol=1e-11, atol=1e-14)


def test_descent_without_end_time_stops_where_the_flow_does():
    problem = drawn(1, decay=0.1, loss="logistic")
    flow = rf.solve(problem, rf.Flow(rtol=1e-10))
    descent = rf.solve(problem, rf.Descent(step=0.05))
    assert flow.outcome is descent.outcome is rf.Outcome.STATIONARY
    np.testing.assert_allclose(descent.end.outputs, flow.end.outputs, atol=1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
def test_at_the_end_every_neuron_is_pulled_by_the_decay_or_gone(loss):
    problem = drawn(13, decay=0.02, loss=loss)
    sol = rf.solve(problem, rf.Flow(rtol=1e-10))
    assert sol.outcome is rf.Outcome.STATIONARY
    bits, f = sol.end.bits[0], sol.end.outputs[0]
    g = TABLE[loss].force(problem.data.y, f, problem.weight)
    pull = np.linalg.norm((bits * g) @ problem.data.x, axis=1)
    alive = sol.end.log_scale[0] > -10.0
    assert np.any(alive)
    np.testing.assert_allclose(pull[alive], 0.02, rtol=1e-7)


def test_a_replayed_moment_is_that_of_a_run_which_ends_there():
    problem = drawn(9, decay=0.1)
    long, short = (rf.solve(problem, rf.Flow(rtol=1e-10), t1=t) for t in (6.0, 2.3))
    np.testing.assert_allclose(long.outputs_at(2.3), short.end.outputs[0], atol=1e-9)


def test_a_second_run_confirms_the_first_and_the_record_is_consistent():
    sol = rf.solve(drawn(9, decay=0.1), rf.Flow(rtol=1e-8), t1=6.0)
    assert rf.confirm(sol)
    assert all(claim.ok for claim in rf.observe.consistency(sol))


def test_theorems_about_the_plain_loss_do_not_apply():
    sol = rf.solve(drawn(3, decay=0.1, balanced=False), t1=2.0)
    report = rf.check("boursier2022.lemma1", sol)  # a^2 - |w|^2 is conserved: not with decay
    assert not report.applies and any(h.text == "no weight decay" for h in report.hypotheses)
    assert any(claim.verdict == "violated" for claim in report.claims)


def test_a_saved_run_keeps_its_decay(tmp_path):
    problem = drawn(3, decay=0.1, balanced=False)
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=6.0)
    back = rf.load(sol.save(tmp_path / "run"))
    assert back.problem.decay == 0.1
    np.testing.assert_array_equal(back.outputs_at(3.7), sol.outputs_at(3.7))


def test_an_experiment_file_may_name_the_decay():
    text = 'format = 1\n[data]\nkind = "two_points"\n[init]\nkind = "balanced"\nwidth = 4\n[problem]\n'
    made = rf.Experiment.parse(text + "decay = 0.25\n")
    assert made.problem().decay == 0.25
    plain = rf.Experiment.parse(text)
    assert plain.problem().decay == 0.0 and "decay" not in str(plain.to_dict()["problem"])


@pytest.mark.parametrize("bad", [-0.1, np.inf, np.nan, "much"])
def test_a_decay_that_is_no_decay_is_refused(bad):
    with pytest.raises(ValueError, match="`decay` must be finite and >= 0, got"):
        drawn(0, decay=bad)


def test_a_step_that_turns_all_weights_round_is_refused():
    with pytest.raises(ValueError, match="`step` times `decay` must be below 1, got 2 "):
        rf.solve(drawn(0, decay=0.6), rf.Descent(step=2.0), t1=4.0)


def test_the_limit_of_vanishing_scale_refuses_decay():
    with pytest.raises(ValueError, match=r"`rf\.limit` needs `decay=0`, got 0\.1"):
        rf.limit(drawn(0, decay=0.1))


@pytest.mark.parametrize("log_scale", [-30.0, -300.0])
def test_fast_forwarded_descent_with_decay_is_the_stepped_one(log_scale):
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, log_scale, seed=0), decay=0.05)
    t1 = -4.0 * log_scale
    fast, slow = (rf.solve(problem, rf.Descent(step=0.02, fast_forward=way), t1=t1) for way in (True, False))
    assert fast.stats.regimes["jumped"] > 0.3 * fast.stats.steps and fast.stats.regimes["jumps"] < 10
    t = np.linspace(0.0, t1, 9)
    np.testing.assert_allclose(fast.outputs_at(t), slow.outputs_at(t), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(fast.events.neuron, slow.events.neuron)
    np.testing.assert_allclose(fast.events.t, slow.events.t)
    seen = [sol.moments([0.5 * min(fast.t_end, slow.t_end)]) for sol in (fast, slow)]
    sizes = [m.log_scale[0] + np.log(np.hypot(m.a[0], np.linalg.norm(m.w[0], axis=1))) for m in seen]
    np.testing.assert_allclose(*sizes, rtol=1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge2"])
def test_dead_neurons_shrink_by_decay_alone_and_are_no_error_of_the_energy(loss):
    problem = rf.Problem(rf.Data([[1.0, 1.0]], [1.0]), rf.Params([[-1.0, -2.0]], [0.5]), loss=loss, decay=0.3)
    sol = rf.solve(problem, t1=10.0)
    assert sol.outcome is rf.Outcome.REACHED and sol.stats.energy_error < 1e-12
    assert sol.final.a * np.exp(sol.final.log_scales[1]) == pytest.approx([0.5 * np.exp(-3.0)], rel=1e-12)
    end = rf.solve(problem)  # at rest once nothing is left of it
    assert end.outcome is rf.Outcome.STATIONARY and rf.bias.optimal(end).verdict != "not at rest"
    there = end.at(10.0)
    np.testing.assert_allclose(there.w * np.exp(there.log_scales[0]), np.exp(-3.0) * problem.init.w, rtol=1e-12)


@pytest.mark.parametrize("rtol", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("a", [0.0, 1e-100, -1e-100])
def test_an_output_weight_at_zero_waits_until_the_margin_comes_back_to_the_kink(a, rtol):
    """f starts at 1.5, beyond the kink, and decays to 1; before, nothing pulls the second neuron."""
    problem = rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.5], [1.0]], [1.0, a]), loss="hinge2", decay=0.3)
    sol = rf.solve(problem, rf.Flow(rtol=rtol), t1=3.0)

    def velocity(t, theta):
        w, b = theta[:2], theta[2:]
        force = max(0.0, 1.0 - w @ b)
        return np.r_[force * b - 0.3 * w, force * w - 0.3 * b]

    kink = np.log(1.5) / 0.6  # f = 1.5 e^{-2 decay t} until then
    start = np.r_[1.5, 1.0, 1.0, 0.0] * np.exp(-0.3 * kink)
    there = solve_ivp(velocity, (kink, 3.0), start, rtol=1e-11, atol=1e-13).y[:, -1]
    assert sol.final.a * np.exp(sol.final.log_scales[1]) == pytest.approx(there[2:], abs=20 * rtol + 1e-9)
    assert len(sol.events) <= 1
