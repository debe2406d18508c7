"""The flow of networks with several outputs: known values, invariants, other implementations, tiny scales."""

from functools import cache

import numpy as np
import pytest
from tests.support.outputs import exit_times, half_times, random_problem, three_classes

import reluflow as rf
from reluflow.drive.frozen import first_below
from reluflow.reference import flow as reference

KINDS = ("slide", "release_on", "release_off")


@cache
def random_run(seed, k, loss):
    return rf.solve(random_problem(seed, k, loss), rf.Flow(rtol=1e-11), t1=10.0)


KNOWN = {
    (1, 2, "square"): (
        0.0372371971,
        [(3.9559189767, "slide", 4, 4), (5.4557206483, "slide", 3, 2), (6.1274550691, "release_on", 3, 2)],
    ),
    (3, 3, "square"): (
        0.1257390245,
        [
            (1.1251456050, "slide", 4, 3),
            (2.4381722138, "release_on", 4, 3),
            (2.7533205262, "slide", 4, 4),
            (2.9721543959, "release_off", 4, 4),
        ],
    ),
    (3, 3, "softmax"): (
        0.4931254999,
        [(0.6425289061, "slide", 0, 4), (1.5913585250, "slide", 5, 0), (3.9321689932, "release_on", 5, 0)],
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_losses_and_events_are_those_of_an_independent_integrator(case):
    sol = random_run(*case)
    loss, events = KNOWN[case]
    assert sol.loss[-1] == pytest.approx(loss, abs=1e-10)
    table = sol.events
    held = np.isin(table.kind, KINDS)
    found = list(zip(table.t[held], table.kind[held], table.neuron[held], table.datum[held], strict=True))
    for (t, *what), (t0, *what0) in zip(found, events, strict=False):
        assert what == what0
        assert t == pytest.approx(t0, abs=1e-9)
    assert len(found) >= len(events)


@pytest.mark.parametrize("case", KNOWN)
def test_the_loss_lost_is_the_energy_dissipated(case):
    assert random_run(*case).stats.energy_error < 1e-10


@pytest.mark.parametrize("case", KNOWN)
def test_bits_follow_the_signs(case):
    sol = random_run(*case)
    moments = sol.moments(np.linspace(0.0, 10.0, 41))
    u = np.einsum("tjd,nd->tjn", moments.w, sol.problem.data.x)
    free = ~moments.sliding
    assert np.all((u * np.where(moments.bits > 0.5, 1.0, -1.0))[free] > -1e-9)


def test_norm_differences_and_with_softmax_the_sums_of_output_weights_are_conserved():
    rng = np.random.default_rng(5)
    init = rf.Params(0.5 * rng.normal(size=(8, 3)), 0.5 * rng.normal(size=(8, 3)))
    data = rf.Data(rng.normal(size=(6, 3)), np.arange(6) % 3)
    sol = rf.solve(rf.Problem(data, init, loss="softmax"), rf.Flow(rtol=1e-11), t1=10.0)
    w, a = sol.at(10.0).arrays()
    np.testing.assert_allclose(
        np.sum(w**2, 1) - np.sum(a**2, 1), np.sum(init.w**2, 1) - np.sum(init.a**2, 1), atol=1e-9
    )
    np.testing.assert_allclose(a.sum(1), init.a.sum(1), atol=1e-9)


def test_an_output_that_is_always_zero_changes_nothing():
    rng = np.random.default_rng(2)
    x, y, w = rng.normal(size=(5, 3)), rng.normal(size=5), 0.3 * rng.normal(size=(6, 3))
    a = rng.choice([-1.0, 1.0], 6) * np.linalg.norm(w, axis=1)
    one = rf.solve(rf.Problem(rf.Data(x, y), rf.Params(w, a)), rf.Flow(rtol=1e-11), t1=10.0)
    padded = rf.Problem(rf.Data(x, np.column_stack([y, np.zeros(5)])), rf.Params(w, np.column_stack([a, np.zeros(6)])))
    two = rf.solve(padded, rf.Flow(rtol=1e-11), t1=10.0)
    t = np.linspace(0.0, 10.0, 21)
    np.testing.assert_allclose(two.outputs_at(t)[..., 0], one.outputs_at(t), atol=1e-9)
    assert np.all(two.at(10.0).a[:, 1] == 0.0)
    assert two.events.counts() == one.events.counts()


def test_two_classes_of_softmax_are_the_logistic_loss():
    # (a_1 - a_2)/sqrt 2 on sqrt 2 x.
    rng = np.random.default_rng(4)
    x, y, w, a = rng.normal(size=(6, 3)), np.arange(6) % 2, rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    two = rf.solve(rf.Problem(rf.Data(x, y), rf.Params(0.4 * w, 0.4 * a), loss="softmax"), rf.Flow(rtol=1e-11), t1=20.0)
    single = rf.Params(0.4 * w, 0.4 * (a[:, 1] - a[:, 0]) / np.sqrt(2))
    one = rf.solve(
        rf.Problem(rf.Data(np.sqrt(2) * x, 2.0 * y - 1.0), single, loss="logistic"), rf.Flow(rtol=1e-11), t1=20.0
    )
    t = np.linspace(0.0, 20.0, 21)
    f = two.outputs_at(t)
    np.testing.assert_allclose(f[..., 1] - f[..., 0], one.outputs_at(t), atol=1e-8)


def test_rotated_labels_and_output_weights_give_the_rotated_run():
    problem = random_problem(3, 3, "square")
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    data = rf.Data(problem.data.x, problem.data.y @ turn)
    other = rf.solve(rf.Problem(data, rf.Params(problem.init.w, problem.init.a @ turn)), rf.Flow(rtol=1e-11), t1=10.0)
    np.testing.assert_allclose(
        other.outputs_at([3.0, 10.0]), random_run(3, 3, "square").outputs_at([3.0, 10.0]) @ turn, atol=1e-8
    )


def test_the_error_falls_with_the_tolerance():
    problem, exact = random_problem(1, 2, "square"), random_run(1, 2, "square").outputs_at([10.0])
    errors = [
        np.max(np.abs(rf.solve(problem, rf.Flow(rtol=rtol), t1=10.0).outputs_at([10.0]) - exact))
        for rtol in (1e-4, 1e-6, 1e-8)
    ]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-5
    assert errors[2] < 1e-7


def descended(problem, t1, steps):
    """Plain gradient descent with a step of t1 / steps."""
    x, y, h = problem.data.x, problem.targets, t1 / steps
    w, a = problem.init.arrays()
    for _ in range(steps):
        u = x @ w.T
        f = np.maximum(u, 0.0) @ a
        if problem.loss == "square":
            g = (y - f) / len(x)
        else:
            p = np.exp(f - f.max(1, keepdims=True))
            g = (y - p / p.sum(1, keepdims=True)) / len(x)
        w, a = w + h * ((g @ a.T) * (u > 0)).T @ x, a + h * np.maximum(u, 0.0).T @ g
    return np.maximum(x @ w.T, 0.0) @ a


@pytest.mark.parametrize("case", [(1, 2, "square"), (3, 3, "softmax")])
def test_descent_tends_to_the_flow_as_its_step_goes_to_zero(case):
    flow = random_run(*case).outputs_at([10.0])[0]
    errors = [np.max(np.abs(descended(random_problem(*case), 10.0, steps) - flow)) for steps in (2_000, 32_000)]
    # Of order the step, with a factor that sliding neurons, which descent switches at every step, make irregular.
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] < 5e-4


def test_a_moment_replayed_is_the_run_that_ends_there():
    problem, sol = random_problem(3, 3, "square"), random_run(3, 3, "square")
    for t in (1.7, 2.8, 7.3):
        short = rf.solve(problem, rf.Flow(rtol=1e-11), t1=t)
        np.testing.assert_allclose(short.outputs_at([t]), sol.outputs_at([t]), atol=1e-9)


def test_a_square_run_without_end_converges():
    sol = rf.solve(random_problem(1, 2, "square"), rf.Flow(rtol=1e-8))
    assert sol.outcome is rf.Outcome.STATIONARY


# Tiny scales ----------------------------------------------------------------------------------------------------------


def test_a_frozen_neuron_slides_and_lets_go_by_itself():
    # The drive is G as long as the neuron is invisible: labels n G at a scale of e^-300.
    x = np.array([[1.0, 0.0], [-0.5, 1.0], [0.6, 0.8], [-1.0, -0.3]])
    g = np.array([[-1.2, 0.1], [-0.2, -0.5], [0.3, 0.9], [0.0, -1.2]])
    problem = rf.Problem(rf.Data(x, 4.0 * g), rf.Params([[0.6, 0.8]], [[1.0, 0.0]], log_scale=-300.0))
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), t1=6.0)
    table = sol.events[np.isin(sol.events.kind, KINDS)]
    assert list(table.kind) == ["slide", "release_on"]
    assert list(table.datum) == [0, 0]
    np.testing.assert_allclose(table.t, [1.1376959774, 2.9909503290], atol=1e-9)
    end = sol.moments([6.0])
    size = np.linalg.norm(end.w[0, 0])
    assert end.log_scale[0, 0] + np.log(size) + 300.0 == pytest.approx(1.3827193854, abs=1e-9)
    assert end.w[0, 0, 0] / size == pytest.approx(0.7839174018, abs=1e-9)


MORE = [pytest.param(*one, marks=pytest.mark.exhaustive) for one in ((-300, 1), (-3000, 2))]


@pytest.mark.parametrize(("log_scale", "rotation"), [(-300, None), (-100000, 3), *MORE])
def test_three_classes_are_learnt_one_after_another_at_any_scale(log_scale, rotation):
    expected = exit_times(log_scale)
    sol = rf.solve(three_classes(log_scale, rotation), rf.Flow(rtol=1e-10), t1=expected[-1] + 100.0)
    np.testing.assert_allclose(half_times(sol, expected), expected, rtol=1e-12, atol=1e-8)
    assert 2.0 * np.sum(np.exp(2.0 * sol.moments([sol.t[-1]]).log_norm)) == pytest.approx(8.8284271247, abs=1e-8)
    plateaus = 0.5 * (expected[:-1] + expected[1:])
    np.testing.assert_allclose(sol.loss_at([0.5 * expected[0], *plateaus]), [0.5, 3 / 14, 1 / 14], atol=1e-9)
    assert sol.stats.steps < 3000


def test_the_first_root_of_a_sum_of_exponentials_is_found():
    rng = np.random.default_rng(1)
    t = np.linspace(0.0, 8.0, 40_001)
    for _ in range(50):
        terms = rng.integers(2, 6)
        coef, log, rate = rng.normal(size=terms), rng.normal(size=terms), rng.normal(size=terms)
        coef[0] = abs(coef[0]) + np.sum(np.abs(coef) * np.exp(log - log[0]))  # positive at 0
        values = np.exp(log + rate * t[:, None]) @ coef
        below = np.flatnonzero(values < 0.0)
        found = first_below(coef, log, rate, 8.0)
        if len(below) == 0:
            assert found == np.inf
        else:
            assert found == pytest.approx(t[below[0]], abs=2.1e-4)


# The reference ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", KNOWN)
def test_the_reference_has_the_losses_and_events_of_an_independent_integrator(case):
    """Both losses of several outputs; t = 3 for the sake of time."""
    found = reference(random_problem(*case), [3.0], digits=20)
    sol = random_run(*case)
    np.testing.assert_allclose(found.outputs()[0], sol.outputs_at([3.0])[0], atol=1e-10)
    assert float(found.losses()[0]) == pytest.approx(sol.loss_at([3.0])[0], abs=1e-11)


# Late times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("log10_t", "margin"), [(3, 9.0881451868), (6, 16.7087516686), (100, 235.861327293)])
def test_softmax_margins_follow_the_exponential_integral(log10_t, margin):
    # Three classes of two orthonormal points, one against the rest: t = (n / (2 sqrt n_c)) sqrt((k-1)/k) [log(mu/mu0) +
    # (Ei mu - Ei mu0)/(k-1)].
    y = np.repeat(np.arange(3), 2)
    w = (y == np.arange(3)[:, None]) / np.sqrt(2.0)
    a = (3.0 * np.eye(3) - 1.0) / np.sqrt(6.0)
    problem = rf.Problem(rf.Data(np.eye(6), y), rf.Params(w, a, log_scale=-5.0), loss="softmax")
    sol = rf.solve(problem, rf.Flow(rtol=1e-12), t1=10.0**log10_t)
    f = sol.outputs_at([sol.t[-1]])[0]
    np.testing.assert_allclose(f[y == 0, 0] - np.max(f[y == 0, 1:], axis=1), margin, rtol=1e-11)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_what_is_not_supported_says_so():
    problem = random_problem(1, 2, "square")
    for change in ({"train": "first"}, {"decay": 1e-3}):
        with pytest.raises(ValueError, match="several outputs"):
            rf.solve(rf.Problem(problem.data, problem.init, **change), t1=1.0)
