"""The reference against itself at other digits, polar Euler, symmetries, and its stored results."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flint", reason="the reference needs python-flint")

from flint import ctx

from reluflow.data import Data, five_points
from reluflow.init import Params, balanced
from reluflow.problem import LeakyReLU, Problem
from reluflow.reference import descent, flow

STORED = Path(__file__).parents[1] / "references"


@pytest.fixture(autouse=True)
def precision():
    with ctx.workdps(60):
        yield


def problem_of(seed, kind="balanced", log_scale=-1.0, loss="square"):
    """Small random problems, most of which cross and slide."""
    rng = np.random.default_rng([seed, 500])
    x = rng.normal(size=(5, 2 + seed % 2))
    y = rng.normal(size=5) if loss == "square" else rng.choice([-1.0, 1.0], size=5)
    slope = LeakyReLU((0.0, 0.0, 0.3)[seed % 3])
    if kind == "balanced":
        init = balanced(5, x.shape[1], log_scale, seed=seed)
    else:
        scale_a = 0.0 if kind == "first" else log_scale
        a = rng.choice([-0.4, 0.4], size=5) if kind == "first" else rng.normal(size=5)
        init = Params(rng.normal(size=(5, x.shape[1])), a, log_scale=log_scale, log_scale_a=scale_a)
    return Problem(Data(x, y), init, loss=loss, activation=slope, train="first" if kind == "first" else "both")


def force(loss, y, f):
    tails = {"logistic": lambda: y / (1 + np.exp(y * f)), "exponential": lambda: y * np.exp(-y * f)}
    return y - f if loss == "square" else tails[loss]()


def euler(problem, t1, steps):
    """Outputs at t1 by Euler with literal masks: on (unit direction, log norm) for balanced neurons, else plain."""
    x, y, slope = problem.data.x, problem.data.y, problem.activation.slope
    w, a = problem.init.arrays()
    polar = np.allclose(np.abs(a), np.linalg.norm(w, axis=1)) and problem.train == "both"
    norm, s, h = np.linalg.norm(w, axis=1), np.sign(a), t1 / steps
    q, rho = w / norm[:, None], np.log(norm)
    for _ in range(steps + 1):
        u = (q if polar else w) @ x.T
        m = np.where(u > 0, 1.0, slope)
        f = (s * np.exp(2 * rho) if polar else a) @ (m * u)
        D = (m * problem.weight * force(problem.loss, y, f)) @ x
        if polar:
            grow = s * np.sum(D * q, axis=1)
            q = q + h * (s[:, None] * D - grow[:, None] * q)
            q /= np.linalg.norm(q, axis=1)[:, None]
            rho = rho + h * grow
        else:
            w, a = w + h * a[:, None] * D, a + (h * np.sum(w * D, axis=1) if problem.train == "both" else 0.0)
    return f


def changes(ref):
    return [(e.neuron, e.datum, e.kind) for e in ref.events]


def gap(one, two):
    return max(abs(float(u - v)) for p, q in zip(one.f, two.f, strict=True) for u, v in zip(p, q, strict=True))


@pytest.mark.parametrize("kind", ["balanced", "unbalanced", "first"])
@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
def test_euler_tends_to_the_reference(kind, loss):
    for seed in range(2):
        problem = problem_of(seed, kind, loss=loss)
        ref = flow(problem, [6.0], digits=15)
        assert ref.unique
        errors = [np.abs(euler(problem, 6.0, k) - ref.outputs()[0]).max() for k in (1000, 16000)]
        # First order: 16 times as many steps; chatter on slid surfaces makes the ratio noisy.
        assert errors[1] < 3e-4 and errors[1] < errors[0] / 4


def test_thirty_and_forty_five_digits_agree_to_thirty():
    for seed, kind in [(0, "balanced"), (1, "balanced"), (3, "unbalanced"), (2, "first")]:
        problem = problem_of(seed, kind, log_scale=-3.0)
        low, high = (flow(problem, [5.0, 15.0], digits=k) for k in (30, 45))
        assert changes(low) == changes(high) and low.events
        assert gap(low, high) < 1e-30
        assert all(abs(float(p.t - q.t)) < 1e-30 for p, q in zip(low.events, high.events, strict=True))


def test_the_step_and_order_do_not_matter():
    problem = problem_of(4, log_scale=-3.0)
    assert gap(flow(problem, [12.0], order=30), flow(problem, [12.0], order=64)) < 1e-30


def test_balance_is_an_invariant_of_unbalanced_neurons():
    ref = flow(problem_of(3, "unbalanced"), [0.0, 8.0])
    for j in range(5):
        start, end = (ref.a[k][j] ** 2 - sum(c * c for c in ref.w[k][j]) for k in (0, 1))
        assert abs(float(end - start)) < 1e-28


def test_initial_bits_and_events_give_the_bits_at_the_end():
    words = {"on": "on", "release_on": "on", "off": "off", "release_off": "off", "slide": "slide"}
    for seed in range(6):
        problem = problem_of(seed, log_scale=-3.0)
        ref = flow(problem, [25.0], digits=20)
        bits = [list(row) for row in ref.initial_bits]
        for e in ref.events:
            if e.datum >= 0:
                assert bits[e.neuron][e.datum] != words[e.kind]
                assert e.kind.startswith("release") == (bits[e.neuron][e.datum] == "slide")
                bits[e.neuron][e.datum] = words[e.kind]
        u = ref.directions()[0] @ problem.data.x.T
        for row, words_now in zip(u, bits, strict=True):
            for v, word in zip(row, words_now, strict=True):
                # A neuron may rest on a surface it left to the off side, when nothing pulls it across.
                assert word in ({"on"} if v > 1e-14 else {"off"} if v < -1e-14 else {"slide", "off"})


def test_symmetries():
    problem = problem_of(1, log_scale=-2.0)
    x, y, init = problem.data.x, problem.data.y, problem.init
    base = flow(problem, [10.0])

    def outputs(x=x, y=y, w=init.w, a=init.a, t=10.0):
        return flow(Problem(Data(x, y), Params(w, a, log_scale=-2.0)), [t])

    assert gap(base, outputs(x=x[:, ::-1], w=init.w[:, ::-1])) < 1e-30  # a rotation of space
    assert gap(base, outputs(w=init.w[::-1], a=init.a[::-1])) < 1e-30  # neurons renamed
    assert max(abs(float(u + v)) for u, v in zip(base.f[0], outputs(y=-y, a=-init.a).f[0], strict=True)) < 1e-30
    doubled = outputs(x=2 * x, y=2 * y, t=2.5)  # f doubles, time runs four times as fast
    assert max(abs(float(2 * u - v)) for u, v in zip(base.f[0], doubled.f[0], strict=True)) < 1e-30
    dead = outputs(w=[*init.w, [0.0, 0.0, 0.0]], a=[*init.a, 0.0])
    assert gap(base, dead) == 0
    summed = flow(Problem(problem.data, init, reduction="sum", activation=problem.activation), [2.0])
    assert gap(base, summed) < 1e-30  # five points: the mean runs five times slower
    parts = [*init.w[:4], 0.6 * init.w[4], 0.8 * init.w[4]]  # one neuron split in two, up to float rounding
    assert gap(base, outputs(w=parts, a=[*init.a[:4], 0.6 * init.a[4], 0.8 * init.a[4]])) < 1e-13


def test_a_repeated_point_weighs_as_one_longer_point():
    problem = problem_of(4, log_scale=-2.0)
    x, y = problem.data.x, problem.data.y
    twice = Data([*x, x[2]], [*y, y[2]])
    longer = Data([*x[:2], math.sqrt(2) * x[2], *x[3:]], [*y[:2], math.sqrt(2) * y[2], *y[3:]])
    one, two = (flow(Problem(data, problem.init, reduction="sum"), [3.0]) for data in (twice, longer))
    assert float(one.f[0][0]) == pytest.approx(float(two.f[0][0]), abs=1e-13)
    assert len({e.t for e in one.events}) == len({e.t for e in two.events}) > 3


def test_duplicates_and_opposites_are_one_surface():
    # x_2 = -2 x_0 and x_3 = x_1 with conflicting labels; Euler with literal masks is the judge.
    x = np.array([[1.0, 0.3], [-0.4, 0.9], [-2.0, -0.6], [-0.4, 0.9]])
    problem = Problem(Data(x, [0.8, -0.5, 0.4, 0.7]), balanced(6, 2, -1.0, seed=2))
    ref = flow(problem, [20.0], digits=15)
    assert ref.outputs()[0] == pytest.approx(euler(problem, 20.0, 40000), abs=2e-4)
    assert {e.kind for e in ref.events} >= {"slide"}
    times = {}
    for e in ref.events:
        times.setdefault((e.neuron, float(e.t)), set()).add(e.datum)
    assert all(data - {-1} in ({0, 2}, {1, 3}) for data in times.values())


def test_starting_on_a_repelling_surface_keeps_the_bit_off_and_says_so():
    # s g_0 > 0: active pushes up, inactive (by the second point) down; both may happen, the regular solution is off.
    data = Data([[1.0, 0.0], [-0.5, 1.0]], [1.0, 1.0])
    ref = flow(Problem(data, Params([[0.0, 1.0]], [1.0])), [0.25], digits=15)
    assert [(float(e.t), e.datum, e.kind, e.unique) for e in ref.events] == [(0.0, 0, "off", False)]
    assert ref.initial_bits == [["off", "on"]] and ref.margin == 0.0
    assert float(ref.w[0][0][0]) < 0


def test_a_neuron_may_be_held_at_the_origin():
    # First layer only, points all around, all outputs to go down: a positive neuron shrinks to w = 0 and stays.
    x = np.array([[1.0, 0.0], [-0.6, 0.9], [-0.5, -0.8], [0.3, 1.1]])
    w = [[0.1, 0.06], [0.5, -0.4], [-0.4, 0.4], [-0.3, -0.6]]
    problem = Problem(Data(x, -np.ones(4)), Params(w, [1.0, -1.0, -1.0, -1.0]), train="first")
    ref = flow(problem, [3.0, 8.0], digits=15)
    assert [e.neuron for e in ref.events if e.kind == "origin"] == [0, 0]
    assert [float(c) for c in ref.w[0][0]] == [0.0, 0.0] and float(ref.w[1][0][0]) != 0.0
    assert ref.outputs()[1] == pytest.approx(euler(problem, 8.0, 40000), abs=2e-5)


def test_descent_with_small_steps_tends_to_the_flow():
    problem = problem_of(0, "unbalanced")
    exact = flow(problem, [1.0], digits=15).outputs()[0]
    errors = [np.abs(descent(problem, 1 / k, k, digits=20).outputs()[0] - exact).max() for k in (50, 200)]
    assert errors[1] < errors[0] / 3


def test_times_out_of_order_are_refused():
    with pytest.raises(ValueError, match="`times` must be increasing"):
        flow(problem_of(0), [2.0, 1.0])


# --- stored results ------------------------------------------------------------------------------------------------


def stored(name):
    return json.loads((STORED / f"{name}.json").read_text())


def rebuilt(spec):
    init = Params(spec["w"], spec["a"], log_scale=spec["log_scale"], log_scale_a=spec["log_scale_a"])
    data = Data(spec["x"], spec["y"])
    activation = LeakyReLU(spec["slope"])
    return Problem(
        data, init, loss=spec["loss"], reduction=spec["reduction"], activation=activation, train=spec["train"]
    )


def agrees(spec, ref, tol):
    assert changes(ref) == [tuple(e[1:4]) for e in spec["events"]]
    assert ref.outputs() == pytest.approx(np.array(spec["f"], dtype=float), rel=tol, abs=tol)
    assert [float(e.t) for e in ref.events] == pytest.approx([float(e[0]) for e in spec["events"]], rel=tol)


@pytest.mark.parametrize("name", ["random_balanced", "unbalanced_first"])
def test_stored_results_are_reproduced_at_other_digits(name):
    problems = stored(name)["problems"]
    assert len(problems) == {"random_balanced": 200, "unbalanced_first": 50}[name]
    assert min(spec["agree"] for spec in problems) > 24
    for spec in problems[::25]:
        agrees(spec, flow(rebuilt(spec), spec["times"], digits=18), 1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["random_balanced", "unbalanced_first"])
def test_all_stored_results_are_reproduced_at_other_digits(name):
    for spec in stored(name)["problems"]:
        agrees(spec, flow(rebuilt(spec), spec["times"], digits=22), 1e-14)


def test_two_points_are_stored_with_their_32_crossings():
    for run, half_times in zip(stored("two_points")["runs"], [(2, 4), (1, 4)], strict=True):
        assert run["counts"] == {"dead": 10, "off": 32} and run["agree"] > 35
        early, late = (float(run["f"][k][i]) for k, i in zip(half_times, (1, 0), strict=True))
        assert early == pytest.approx(0.5, abs=1e-8) and late == pytest.approx(-0.5, abs=1e-8)


def test_near_bifurcations_are_reproduced():
    problems = stored("near_bifurcation")["problems"]
    assert len(problems) == 60
    for spec in problems[::7]:
        agrees(spec, flow(rebuilt(spec), spec["times"], digits=18), 1e-12)


def test_five_points_are_those_of_the_handbook():
    # numerics.md section 3, from a sketch with embedded pairs: 189 events, 49 slides.
    run = stored("five_points")["runs"][0]
    known = [0.031928212, 0.02244407, 0.0049688047, 7.8833501e-5]
    assert [float(v) for v in run["losses"][:4]] == pytest.approx(known, rel=3e-8)
    early = [e for e in run["events"] if float(e[0]) < 600 and e[3] != "dead"]
    assert len(early) == 189 and sum(e[3] == "slide" for e in early) == 49


def test_five_points_begin_as_stored():
    run = stored("five_points")["runs"][0]
    problem = Problem(five_points(), balanced(60, 2, math.log(1e-4 / math.sqrt(60)), seed=0))
    ref = flow(problem, [20.0], digits=12)
    begun = [e for e in run["events"] if float(e[0]) < 20]
    assert len(begun) > 50 and changes(ref) == [tuple(e[1:4]) for e in begun]
    assert [float(e.t) for e in ref.events] == pytest.approx([float(e[0]) for e in begun], rel=1e-11)


@pytest.mark.exhaustive
def test_five_points_are_reproduced_to_the_end():
    for run in stored("five_points")["runs"]:
        problem = Problem(five_points(), balanced(60, 2, run["log_scale"], seed=0))
        ref = flow(problem, run["times"], digits=25)
        assert ref.losses() == pytest.approx([float(v) for v in run["losses"]], rel=1e-14)
        assert changes(ref) == [tuple(e[1:4]) for e in run["events"]]
