"""Small problems that reach every branch of the engine, for runs as plain Python (NUMBA_DISABLE_JIT=1).

    python tests/gates/pure.py            runs them under coverage and prints the share of lines reached, file by file
    python tests/gates/pure.py folder     the same, and writes results.npz and lines.json there
    python tests/gates/pure.py folder 6   every sixth case, without counting lines: results.npz alone

`test_pure.py` holds the results against the compiled ones, and the share of lines above 95%.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

# What is compiled: every other file runs as plain Python in all tests.
ENGINE = ("engine/*", "engine/vector/*")
# Of no use to plain Python (tests/engine/test_jit.py).
COMPILER = ("engine/_jit.py", "engine/_parts.py")
SOURCE = Path(__file__).parents[2] / "src" / "reluflow"

if __name__ == "__main__":
    # Before numba is imported.
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import coverage

    watch = coverage.Coverage(
        include=[str(SOURCE / name) for name in ENGINE],
        omit=[str(SOURCE / name) for name in COMPILER],
        data_file=None,
        config_file=False,
    )
    if len(sys.argv) < 3:  # counting lines takes as long as the runs
        watch.start()

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `support`

import numpy as np
from reference_comparison import judge
from support.counted import Clock, press_ctrl_c
from support.outputs import random_problem
from support.problems import random_balanced, random_unbalanced

import reluflow as rf
from reluflow.drive import exact as flow
from reluflow.engine import field, frozen, surfaces

CASES = {}
RTOL = 1e-5
# Some hundred iterations, each summing a few numbers; fast-forward allows itself 1e-10 (tests/descent).
ROUNDING = {"float64": 1e-9, "float32": 1e-4}


def case(make):
    CASES[make.__name__] = make
    return make


def some(step):
    """Every `step`-th case."""
    return {name: CASES[name] for name in sorted(CASES)[::step]}


def several(**settings):
    """One case for each setting, called name[setting]."""

    def add(make):
        for name, values in settings.items():
            CASES[f"{make.__name__}[{name}]"] = lambda values=values: make(*values)
        return make

    return add


def seen(sol, log_t=None) -> dict[str, np.ndarray]:
    """What a run gave: outputs between its frames, bits, events in an order that rounding cannot change, how it ended.

    `tol` is how far two runs of it may be apart: 200 rtol for flows, each being right to 100; rounding for descent.
    """
    when = dict(t=np.linspace(0.0, float(sol.t[-1]), 7)) if log_t is None else dict(log_t=np.asarray(log_t))
    sliding, e = sol.sliding_at(**when), sol.events
    order = np.lexsort((e.datum, e.neuron, np.round(e.t, 3)))
    return {
        "f": sol.outputs_at(**when),
        "sliding": sliding,
        "on": np.where(sliding, np.nan, sol.bits_at(**when)),
        "event": np.column_stack([e.neuron, e.datum, e.code, e.unique])[order],
        "event_t": e.t[order],
        "outcome": np.array(sol.outcome.name),
        "tol": np.array(
            200 * sol.method.rtol if isinstance(sol.method, rf.Flow | rf.SteppedFlow) else ROUNDING[sol.method.dtype]
        ),
    }


def solved(problem, method=None, t1=None, **options) -> dict[str, np.ndarray]:
    return seen(rf.solve(problem, method or rf.Flow(rtol=RTOL), t1=t1, **options))


# Flows ----------------------------------------------------------------------------------------------------------------


def drawn(problem, t1, **options):
    return solved(problem, None, t1, **options)


@several(**{str(seed): (seed,) for seed in (0, 16, 21, 35, 73, 77, 81, 83, 88, 90)})
def balanced(seed):
    return drawn(*random_balanced(seed))


@several(both2=(2, "both"), both11=(11, "both"), first3=(3, "first"), first6=(6, "first"), first8=(8, "first"))
def unbalanced(seed, train):
    return drawn(*random_unbalanced(seed, train))


def spread(seed, loss, slope, make, width=5, log_scale=-1.0):
    """Four points in three dimensions."""
    rng = np.random.default_rng([seed, 77])
    x = rng.normal(size=(4, 3))
    y = rng.normal(size=4) if loss == "square" else rng.choice([-1.0, 1.0], 4)
    init = make(width, 3, log_scale=log_scale, seed=seed)
    return rf.Problem(rf.Data(x, y), init, loss=loss, activation=rf.LeakyReLU(slope))


@several(
    square=(1, "square", 0.0, rf.init.balanced),
    leaky=(1, "square", 0.3, rf.init.gaussian),
    linear=(1, "square", 1.0, rf.init.balanced),
    logistic=(1, "logistic", 0.0, rf.init.gaussian),
    exponential=(1, "exponential", 0.0, rf.init.gaussian),
    small=(1, "square", 0.0, rf.init.balanced, 5, -30.0),
)
def windows(*draw):
    flow.REGIME = "windows"
    try:
        return solved(spread(*draw), rf.Flow(rtol=1e-4), 60.0 if draw[-1] == -30.0 else 6.0)
    finally:
        flow.REGIME = None


@several(
    square=("square", "both", rf.init.balanced, -1.0),
    logistic=("logistic", "both", rf.init.gaussian, -1.0),
    first=("square", "first", rf.init.fixed_output, -1.0),
    jumps=("square", "both", rf.init.balanced, -30.0),
)
def with_decay(loss, train, make, log_scale):
    problem = spread(2, loss, 0.0, make, 5, log_scale)
    problem = rf.Problem(problem.data, problem.init, loss=loss, train=train, decay=0.05)
    return solved(problem, None, 120.0 if log_scale == -30.0 else 8.0)


@case
def with_decay_in_windows():
    flow.REGIME = "windows"
    try:
        problem = spread(1, "square", 0.0, rf.init.gaussian)
        return solved(rf.Problem(problem.data, problem.init, decay=0.05), rf.Flow(rtol=1e-4), 6.0)
    finally:
        flow.REGIME = None


@case
def with_decay_until_rest():
    problem = rf.Problem(rf.Data([[1.0, 0.0]], [1.0]), rf.Params([[0.9, 0.1], [-1.0, 0.0]], [0.8, 0.5]), decay=0.3)
    return solved(problem)


@several(both=("both",), first=("first",))
def descent_with_decay(train):
    problem = rf.Problem(rf.Data([[1.0, 0.2]], [1.0]), rf.Params([[0.9, 0.1], [-1.0, 0.0]], [0.8, 0.5]), train=train,
                         decay=0.3)  # fmt: skip
    return solved(problem, rf.Descent(step=0.1), 40.0)


@several(both=("both",), first=("first",))
def stepped_with_decay(train):
    problem = rf.Problem(rf.Data([[1.0, 0.2]], [1.0]), rf.Params([[0.9, 0.1]], [0.8]), train=train, decay=0.3)
    return solved(problem, rf.SteppedFlow(rtol=1e-4), 2.0)


@several(wide=("square", -40.0, -38.5, 0.0), near=("square", -14.0, -14.0, 0.0))
def jumps_of_unbalanced_neurons(loss, log_scale, log_scale_a, slope):
    problem = spread(6, loss, slope, rf.init.balanced)
    init = rf.init.gaussian(8, 3, log_scale=log_scale, seed=4, log_scale_a=log_scale_a)
    return solved(rf.Problem(problem.data, init, loss=loss, activation=problem.activation), None, -2.5 * log_scale)


@several(square=("square",), logistic=("logistic",))
def a_change_of_sign_in_a_jump(loss):
    problem = rf.Problem(rf.Data([[1.0, 0.0]], [1.0]), rf.Params([[1.0, 0.5]], [-0.3], log_scale=-30.0), loss=loss)
    return solved(problem, None, 80.0)


@several(steps=("coupled",), windows=("windows",))
def a_graze(regime):
    # Label 1e-6 past a bifurcation: neuron 1 leaves datum 0 for an instant, and is another neuron from then on.
    spec = next(s for s in judge.stored("near_bifurcation") if s["seed"] == 43 and s["offset"] == 1e-6)
    flow.REGIME = regime
    try:
        return solved(judge.problem(spec), rf.Flow(rtol=1e-8), float(spec["times"][-1]))
    finally:
        flow.REGIME = None


@case
def a_surface_that_is_nearly_touched():
    # The same on the other side of the bifurcation: it comes near and turns back.
    spec = next(s for s in judge.stored("near_bifurcation") if s["seed"] == 43 and s["offset"] == -1e-6)
    return solved(judge.problem(spec), rf.Flow(rtol=1e-8), float(spec["times"][-1]))


@case
def a_neuron_held_on_dependent_normals():
    # Three rows in one plane push it back from all sides; the fourth pulls it along their common normal, and a little
    # out of it.
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    x = np.vstack([np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)]), [0.1, 0.0, 1.0]])
    init = rf.Params([[0.0, 0.0, 1.0], [0.0, 0.1, 1.0]], [1.0, np.sqrt(1.01)], log_scale=-1.0)
    return solved(rf.Problem(rf.Data(x, [-1.0, -1.0, -1.0, 1.0]), init), None, 12.0)


@case
def a_first_layer_whose_squares_underflow():
    start = rf.Params([[1.0], [-1.0], [-1.0], [-1.0]], [0.5, 0.5, -0.5, -0.5], log_scale=-500.0, log_scale_a=0.0)
    return solved(rf.Problem(rf.Data([[1.0]], [1.0]), start, loss="logistic", train="first"), None, 4.0)


@case
def windows_to_rest():
    flow.REGIME = "windows"
    try:
        return solved(rf.Problem(rf.data.two_points(), rf.init.balanced(6, 2, log_scale=-20.0, seed=2)))
    finally:
        flow.REGIME = None


@case
def windows_from_w_0():
    flow.REGIME = "windows"
    try:
        data = rf.Data([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8]], [-1.0, -0.5, -0.7])
        init = rf.Params([[0.0, 0.0], [0.3, 0.4], [-0.5, 0.2]], [0.5, -0.5, -0.5385164807134504])
        return solved(rf.Problem(data, init), None, 3.0)
    finally:
        flow.REGIME = None


@case
def a_neuron_that_shrinks_for_ever():
    w = np.array([[0.6, 0.3]])
    return solved(rf.Problem(rf.Data([[1.0, 0.2]], [1.0]), rf.Params(w, [-np.linalg.norm(w)], log_scale=-40.0)))


@case
def a_neuron_whose_pulls_cancel():
    data = rf.Data([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    w = np.array([[1.0, -0.5], [0.3, 1.0]])
    return solved(rf.Problem(data, rf.Params(w, np.linalg.norm(w, axis=1), log_scale=-40.0)), None, 60.0)


@case
def neurons_that_are_all_dead():
    return solved(rf.Problem(rf.Data([[1.0, 0.5]], [1.0]), rf.Params([[-1.0, -1.0]], [np.sqrt(2.0)])))


@case
def weights_beyond_float64():
    problem = rf.Problem(rf.Data([[1e200, 1.0]], [1.0]), rf.Params([[1.0, 1.0]], [np.sqrt(2.0)], log_scale=300.0))
    return {"outcome": np.array(rf.solve(problem, rf.Flow(rtol=RTOL), t1=1.0, throw=False).outcome.name)}


@case
def matrix_products():
    field.BLAS_ABOVE, kept = 0, field.BLAS_ABOVE  # compiled kernels have their own, and take loops here
    try:
        return solved(spread(2, "square", 0.0, rf.init.balanced), None, 4.0)
    finally:
        field.BLAS_ABOVE = kept


@case
def opposite_rows():
    rng = np.random.default_rng([5, 79])
    base = rng.normal(size=(2, 2))
    x = np.vstack([base, -2.0 * base[:1], 0.5 * base[1:], np.zeros((1, 2))])
    return solved(rf.Problem(rf.Data(x, rng.normal(size=5)), rf.init.balanced(6, 2, log_scale=-1.0, seed=5)), None, 6.0)


@case
def a_start_on_a_repelling_surface():
    data = rf.Data([[1.0, 0.0]], [1.0])
    return solved(rf.Problem(data, rf.Params([[0.0, 1.0]], [1.0]), loss="exponential", reduction="sum"), None, 3.0)


@case
def a_start_on_surfaces_at_w_0_and_at_a_0():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    init = rf.Params([[0.0, 1.0], [0.0, 0.0], [0.3, 0.4], [-1.0, -1.0]], [1.0, 0.5, 0.0, np.sqrt(2.0)], log_scale=-1.0)
    return solved(rf.Problem(rf.Data(x, [1.0, -0.5, 0.7]), init), None, 3.0)


@case
def a_neuron_held_at_the_origin():
    x = np.array([[1.0, 0.0], [-0.6, 0.9], [-0.5, -0.8], [0.3, 1.1]])
    w = [[0.1, 0.06], [0.5, -0.4], [-0.4, 0.4], [-0.3, -0.6]]
    init = rf.Params(w, [1.0, -1.0, -1.0, -1.0])
    return solved(rf.Problem(rf.Data(x, -np.ones(4)), init, train="first"), None, 8.0)


@case
def mirror_images_meet_a_surface_at_once():
    w = np.array([[0.3, 1.0], [-0.3, 1.0], [0.3, 1.0], [-0.3, 1.0]])
    init = rf.Params(w, np.linalg.norm(w, axis=1) * np.array([1.0, 1.0, -1.0, -1.0]), log_scale=-1.0)
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    return solved(rf.Problem(rf.Data(x, [1.0, 1.0, -1.0]), init), None, 10.0)


@several(logistic=("logistic",), exponential=("exponential",), logistic2=("logistic2",))
def late_times(loss):
    data = rf.Data([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.5]], [1.0, -1.0, 1.0])
    problem = rf.Problem(data, rf.init.balanced(3, 2, log_scale=-3.0, seed=1), loss=loss)
    return seen(rf.solve(problem, rf.Flow(rtol=RTOL), log_t1=230.0), log_t=[0.0, 3.0, 30.0, 230.0])


def forced(regime, problem, method, t1=None):
    """A flow in one regime."""
    flow.REGIME = regime
    try:
        return solved(problem, method, t1)
    finally:
        flow.REGIME = None


@several(steps=("coupled", 8, 1e-4), windows=("windows", 8, 1e-4), fine=("windows", 8, 1e-6), more=("coupled", 9, 1e-7))
def a_kink_of_the_loss(regime, seed, rtol):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(8, 3)), rng.choice([-1.0, 1.0], 8)
    problem = rf.Problem(rf.Data(x, y), rf.init.balanced(6, 3, log_scale=-1.0, seed=seed), loss="hinge2")
    return forced(regime, problem, rf.Flow(rtol=rtol), 12.0)


@case
def a_neuron_slides_into_w_0():
    # E7 of the findings: solutions are not unique from there on.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    w, a = 0.1 * rng.normal(size=(20, 2)), 0.1 * rng.normal(size=20)
    problem = rf.Problem(rf.Data(np.sqrt(0.3) * x, y), rf.Params(w[:12] / 2, a[:12] / np.sqrt(0.075)))
    return solved(problem, rf.Flow(rtol=1e-6), 5.0)


@several(leaky=(0.2, 1), relu=(0.0, 0))
def a_neuron_at_w_0_among_many_rows(slope, seed):
    # More ways out than are tabulated: they are climbed to.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(14, 6))
    x[:, 0] = np.abs(x[:, 0]) + 1.0
    w = np.zeros((2, 6))
    w[0, 0] = 0.05
    problem = rf.Problem(rf.Data(x, rng.uniform(0.5, 3.0, 14)), rf.Params(w, [1.0, -0.8]), train="first",
                         activation=rf.LeakyReLU(slope))  # fmt: skip
    return solved(problem, rf.Flow(rtol=1e-4), 5.0)


@several(norms=(5,), parallel=(0,))
def very_stiff_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 3))
    if seed == 5:
        X *= (np.logspace(-2, 2, 6) / np.linalg.norm(X, axis=1))[:, None]
    else:
        X[1] = X[0] + 1e-6 * rng.normal(size=3)
    y = np.r_[1.0, -1.0, rng.normal(size=4)]
    return solved(rf.Problem(rf.Data(X, y), rf.init.balanced(8, 3, -2.0, seed=seed)), rf.Flow(rtol=1e-5), 300.0)


@several(square=("square",), logistic=("logistic",))
def stiff_steps_that_end_at_events(loss):
    # The rates of the residuals are six decades apart.
    x = np.array([[30.0, 0.0, 1.0], [0.0, 0.03, 0.02], [0.5, 0.4, -1.0]])
    y = np.array([1.0, -1.0, 1.0]) if loss == "logistic" else np.array([1.0, 0.02, -0.5])
    return solved(rf.Problem(rf.Data(x, y), rf.init.balanced(5, 3, log_scale=-2.0, seed=3), loss=loss), None, 300.0)


@case
def five_points_until_rest():
    return solved(rf.Problem(rf.data.five_points(), rf.init.balanced(6, 2, log_scale=-4.0, seed=1)))


@case
def a_stiff_linear_network():
    w = np.array([[0.3, 0.2], [0.1, -0.3]])
    data = rf.Data(np.diag([1.0, 1e-2]), [1.0, 1.0])
    return solved(rf.Problem(data, rf.Params(w, np.linalg.norm(w, axis=1)), activation="linear"), None, 3e4)


@several(space=(3,), four=(4,))
def a_neuron_at_w_0_leaves_by_the_first_way(d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(4, d))
    x[:, 0] = np.abs(x[:, 0]) + 1.0
    w = np.zeros((2, d))
    w[0, 0] = 0.05
    return solved(rf.Problem(rf.Data(x, rng.uniform(0.5, 3.0, 4)), rf.Params(w, [1.0, -0.8]), train="first"), None, 6.0)


@several(sooner=(0, 0), later=(10_000, 10_000))
def regimes_that_follow_the_rate_of_events(small, large):
    kept = flow.SMALL, flow.LARGE
    flow.SMALL, flow.LARGE = small, large
    try:
        rng = np.random.default_rng(8)
        x = rng.normal(size=(8, 2))
        init = rf.init.balanced(12, 2, log_scale=-1.0, seed=8)
        return solved(rf.Problem(rf.Data(x, rng.normal(size=8)), init), rf.Flow(rtol=1e-4), 20.0)
    finally:
        flow.SMALL, flow.LARGE = kept


@several(one=(1,), two=(2,))
def neurons_shared_among_threads(threads):
    kept, flow.PAYS = flow.PAYS, 0
    flow.REGIME = "windows"
    try:
        problem = spread(1, "square", 0.0, rf.init.balanced, 20)
        return solved(problem, rf.Flow(rtol=1e-4), 2.0, limits=rf.Limits(threads=threads))
    finally:
        flow.PAYS, flow.REGIME = kept, None


# Several outputs ------------------------------------------------------------------------------------------------------


def outputs(seed, k, loss, width=4, log_scale=-1.0, slope=0.0):
    """Four points in three dimensions, k outputs."""
    rng = np.random.default_rng([seed, 78])
    x = rng.normal(size=(4, 3))
    y = rng.normal(size=(4, k)) if loss == "square" else np.arange(4) % k
    init = rf.init.balanced(width, 3, log_scale, seed=seed, outputs=k)
    return rf.Problem(rf.Data(x, y), init, loss=loss, activation=rf.LeakyReLU(slope))


@several(
    square=(1, 2, "square"),
    softmax=(3, 3, "softmax"),
    leaky=(2, 2, "square", 4, -1.0, 0.3),
    small=(1, 2, "square", 3, -30.0),
    small_softmax=(2, 3, "softmax", 3, -30.0),
)
def several_outputs(*draw):
    return solved(outputs(*draw), rf.Flow(rtol=1e-4), 70.0 if draw[4:5] == (-30.0,) else 5.0)


@several(
    **{
        f"{regime} {loss} {seed}": (regime, seed, k, loss)
        for regime in ("coupled", "windows")
        for seed, k, loss in ((1, 2, "square"), (3, 3, "square"), (3, 3, "softmax"), (6, 2, "square"))
    }
)
def several_outputs_that_slide(regime, seed, k, loss):
    return forced(regime, random_problem(seed, k, loss), rf.Flow(rtol=1e-4), 8.0)


@case
def several_outputs_from_w_0():
    data = rf.Data([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8]], [[-1.0, -0.5], [-0.5, -0.2], [-0.7, 0.1]])
    w = np.array([[0.0, 0.0], [0.3, 0.4], [-0.5, 0.2]])
    return solved(rf.Problem(data, rf.Params(w, [[0.5, 0.2], [-0.4, 0.3], [-0.3, 0.4]])), rf.Flow(rtol=1e-4), 3.0)


@case
def several_outputs_and_a_neuron_at_w_0_that_leaves():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 3))
    x[:, 0] = np.abs(x[:, 0]) + 1.0
    y = rng.uniform(0.5, 3.0, (4, 1)) * np.ones(2)
    w, a = np.zeros((2, 3)), np.array([[1.0, 1.0], [-0.8, -0.8]])
    w[0, 0] = 0.05
    return solved(rf.Problem(rf.Data(x, y), rf.Params(w, a)), rf.Flow(rtol=1e-4), 6.0)


@case
def several_outputs_held_on_dependent_normals():
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    x = np.vstack([np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)]), [0.1, 0.0, 1.0]])
    a = np.array([[1.0, 1.0], [1.0, 0.9]])
    w = np.array([[0.0, 0.0, 1.0], [0.0, 0.1, 1.0]])
    w *= (np.linalg.norm(a, axis=1) / np.linalg.norm(w, axis=1))[:, None]
    y = np.array([-1.0, -1.0, -1.0, 1.0])
    problem = rf.Problem(rf.Data(x, np.column_stack([y, y])), rf.Params(w, a, log_scale=-1.0))
    return solved(problem, rf.Flow(rtol=1e-4), 12.0)


@case
def several_outputs_until_rest():
    return solved(random_problem(2, 2, "square"), rf.Flow(rtol=1e-4))


@case
def several_outputs_with_opposite_rows():
    rng = np.random.default_rng(5)
    base = rng.normal(size=(2, 2))
    x = np.vstack([base, -2.0 * base[:1], 0.5 * base[1:], np.zeros((1, 2))])
    init = rf.init.balanced(5, 2, log_scale=-1.0, seed=5, outputs=2)
    return solved(rf.Problem(rf.Data(x, rng.normal(size=(5, 2))), init), rf.Flow(rtol=1e-4), 6.0)


@several(square=(1, 2, "square"), softmax=(3, 3, "softmax"), leaky=(2, 2, "square", 4, -1.0, 0.3))
def windows_of_several_outputs(*draw):
    return forced("windows", outputs(*draw), rf.Flow(rtol=1e-3), 3.0)


@several(square=("square",), softmax=("softmax",))
def stiff_steps_of_several_outputs(loss):
    problem = outputs(4, 2, loss)
    x = problem.data.x * np.array([30.0, 0.3, 1.0])
    return solved(rf.Problem(rf.Data(x, problem.data.y), problem.init, loss=loss), rf.Flow(rtol=1e-4), 20.0)


@case
def orthogonal_inputs_from_tiny_weights():
    problem = rf.Problem(rf.Data(np.eye(3), np.arange(3)), rf.init.balanced(4, 3, -200.0, outputs=3), loss="softmax")
    return solved(problem, rf.Flow(rtol=1e-5), 3000.0)


@case
def several_outputs_at_late_times():
    sol = rf.solve(outputs(3, 2, "softmax", 3), rf.Flow(rtol=1e-4), log_t1=30.0)
    return seen(sol, log_t=[0.0, 3.0, 30.0])


@several(
    plain=("square", {}),
    softmax=("softmax", {}),
    batch=("softmax", {"batch": 2}),
    single=("square", {"dtype": "float32"}),
)
def descent_with_several_outputs(loss, options):
    return solved(outputs(2, 2, loss), rf.Descent(0.05, fast_forward=False, **options), 3.0)


@several(square=("square",), softmax=("softmax",))
def the_stepped_flow_with_several_outputs(loss):
    return solved(outputs(2, 2, loss), rf.SteppedFlow(rtol=1e-3), 2.0)


# A run and what is asked of it afterwards -----------------------------------------------------------------------------


@case
def two_points_to_their_limit():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(6, 2, log_scale=-200.0, seed=2))
    sol = rf.solve(problem, rf.Flow(rtol=RTOL))
    return seen(sol) | told(sol.phases())


def told(phases) -> dict[str, np.ndarray]:
    assert len(repr(phases).splitlines()) == 1 + len(phases)
    assert len(phases["growth"]) == sum(p.kind == "growth" for p in phases) and phases[0].loss > 0.0
    return {"phase": np.array([p.kind for p in phases]), "phase_t": np.array([p.start for p in phases])}


@several(
    two=(rf.data.two_points(), 4),
    five=(rf.data.five_points(), 5),
    early=(rf.data.five_points(), 4, "square", False),
    tailed=(rf.data.orthonormal(2), 4, "logistic"),
)
def the_limit_of_vanishing_scale(data, width, loss="square", follow=True):
    problem = rf.Problem(data, rf.init.balanced(width, data.d, seed=1), loss=loss)
    found = rf.limit(problem, follow=follow)
    return {
        "way": np.array(found.way),
        "neurons": np.array(repr(found.groups)),
        "slope": np.array([s.slope for s in found.saddles]),
        "exponent": found.exponent,
        "stray": found.stray,
        "squared_norm": np.array(found.squared_norm),
        "said": np.array(repr(found).splitlines()[0]),
        "tol": np.array(1e-5),  # slopes come from runs at rtol 1e-9 over log-scales of 1e4
    }


@several(
    flow=(rf.Flow(rtol=RTOL), {}),
    descent=(rf.Descent(0.05), {}),
    batches=(rf.Descent(0.05, batch=2), {}),
    stepped=(rf.SteppedFlow(rtol=1e-3), {}),
    times=(rf.Flow(rtol=RTOL), {"save": rf.Save(times=(0.0, 0.5, 1.5))}),
    iterations=(rf.Descent(0.05), {"save": rf.Save(times=(0.0, 0.5, 1.5))}),
    little_memory=(rf.Flow(rtol=RTOL), {"save": rf.Save(frames=8)}),
)
def a_run_saved_and_loaded(method, options):
    sol = rf.solve(spread(4, "square", 0.3, rf.init.gaussian), method, t1=2.0, **options)
    with tempfile.TemporaryDirectory() as folder:
        again = rf.load(sol.save(Path(folder) / "run"))
    labelled = sol.to_xarray()
    assert repr(again) == repr(sol) and repr(again.stats).startswith("Stats(")
    return seen(again) | {
        "t": sol.t if method.__class__ is rf.Descent else sol.t[[0, -1]],
        "loss": np.array([sol.loss[0], sol.loss_at(1.0), np.exp(labelled["log_loss"].values[-1])]),
        "sign": sol.sign[-1],
        "events": np.array([repr(sol.events), ",".join(sol.events.kind), f"{len(sol.events['on'])} on"]),
        # The times are another's to the tolerance only.
        "printed": np.array([line[14:] for line in str(sol.events).splitlines()[1:]] + [*sol.events.to_pandas()]),
        "initial": sol.initial_bits,
        "a": np.array([sol.at(1.0).a.shape, sol.at(log_t=[0.0, 0.5])[1].a.shape]),
    }


METHODS = (rf.Flow(rtol=1e-12), rf.Descent(1e-5, fast_forward=False), rf.SteppedFlow(rtol=1e-8))


@several(
    steps=({"limits": rf.Limits(steps=3)}, METHODS),
    events=({"limits": rf.Limits(events=1)}, METHODS[:1]),
    seconds=({"limits": rf.Limits(seconds=1e-9)}, METHODS),
)
def a_run_that_is_stopped(options, methods):
    problem = spread(4, "logistic", 0.0, rf.init.balanced)
    return {"outcomes": np.array([rf.solve(problem, m, t1=1e9, throw=False, **options).outcome.name for m in methods])}


@several(first=(1,), later=(6,))
def a_run_that_is_interrupted(reading):
    plain, time.perf_counter = time.perf_counter, Clock(at=reading, do=press_ctrl_c)  # bursts of single steps
    try:
        sol = rf.solve(spread(4, "logistic", 0.0, rf.init.balanced), METHODS[0], t1=1e9)
    finally:
        time.perf_counter = plain
    return {"outcome": np.array(sol.outcome.name), "frames": np.array(len(sol.t))}


@case
def the_phases_of_a_logistic_run():
    data = rf.data.orthonormal(2, labels=[1.0, -1.0])
    problem = rf.Problem(data, rf.init.balanced(6, 2, log_scale=-12.0, seed=3), loss="logistic")
    return told(rf.solve(problem, rf.Flow(rtol=1e-5), log_t1=9.0).phases()) | {"tol": np.array(1e-3)}


def refused(call, *arguments, **options) -> str:
    """What a call that must be refused says."""
    try:
        call(*arguments, **options)
    except (ValueError, TypeError, KeyError, OSError, rf.SolveError) as error:
        return str(error)
    raise AssertionError("it was not refused")


@case
def folders_that_hold_no_run():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        init = rf.init.gaussian(3, 3, log_scale=-1.0, seed=1, log_scale_a=-1.5)
        run = rf.solve(rf.Problem(spread(4, "square", 0.0, rf.init.balanced).data, init), t1=0.1).save(folder / "run")
        said = [refused(rf.load, folder / "none"), refused(rf.load(run).save, run)]
        (folder / "file").write_text("")
        said += [refused(rf.load, folder / "file"), refused(rf.load(run).save, folder / "file" / "run")]
        for part in ("empty", "cut.part"):
            (folder / part).mkdir()
            said.append(refused(rf.load, folder / part))
        meta = json.loads((run / "zarr.json").read_text())
        for change in ({}, {"reluflow": {"format": 99}}, {"manifest": {}}, {"stats": {}}):
            attributes = meta["attributes"] | change if change else {}
            (run / "zarr.json").write_text(json.dumps(meta | {"attributes": attributes}))
            said.append(refused(rf.load, run))
        (run / "zarr.json").write_text(json.dumps(meta)[:-20])
        said.append(refused(rf.load, run))
        (run / "zarr.json").write_text(json.dumps(meta))
        for chunk in (run / "data" / "x" / "c").rglob("*"):
            if chunk.is_file():
                chunk.write_bytes(chunk.read_bytes()[:-1])
        said.append(refused(rf.load, run))
        return {"said": np.array([s.replace(name, "") for s in said])}


@case
def what_is_refused():
    flow_of, tailed, many = downhill(0), downhill(1), flow.EXACT_MOST + 1
    crowd = rf.Problem(rf.Data(np.ones((many, 1)), np.ones(many)), rf.init.balanced(2, 1))
    return {
        "said": np.array(
            [
                refused(rf.solve, None),
                refused(rf.solve, flow_of, "flow"),
                refused(rf.solve, flow_of, t1=1.0, log_t1=0.0),
                refused(rf.solve, flow_of, t1=-1.0),
                refused(rf.solve, flow_of, log_t1=1e4),
                refused(rf.solve, flow_of, rf.Descent(0.1), log_t1=100.0),
                refused(rf.solve, flow_of, rf.Descent(0.1), t1=1e-3),
                refused(rf.solve, flow_of, rf.Descent(0.1, batch=1)),
                refused(rf.solve, tailed),
                refused(rf.solve, flow_of, t1=9.0, limits=rf.Limits(steps=1)),
                refused(rf.Save, times=[1.0, 0.5]),
                refused(rf.Save, memory="some"),
                refused(rf.Descent, 0.1, fast_forward="yes"),
                refused(rf.limit, None),
                refused(rf.limit, first_layer(1.0, 0)),
                refused(rf.limit, flow_of, log_scales=(-1.0, -2.0)),
                refused(rf.solve, rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[0.0]], [0.0]))),
                refused(rf.solve, flow_of, rf.SteppedFlow()),
                refused(rf.solve, crowd, t1=1.0),
                refused(rf.solve(flow_of, t1=1.0).at),
                refused(rf.solve(flow_of, t1=1.0).at, 2.0),
                refused(rf.solve(flow_of, log_t1=0.0).events.__getitem__, "of"),
            ]
        )
    }


@several(square=(3, "square", 0.0, rf.init.gaussian), logistic=(3, "logistic2", 0.3, rf.init.balanced))
def stepped_events(*draw):
    return solved(spread(*draw), rf.SteppedFlow(rtol=1e-3), 2.0)


@case
def stepped_events_of_the_first_layer():
    return solved(random_unbalanced(2, "first")[0], rf.SteppedFlow(rtol=1e-3), 2.0)


# Descent --------------------------------------------------------------------------------------------------------------


def downhill(seed):
    """Scales from e^-4 to e^-60, every loss, ReLU and leaky, balanced and not, general and orthogonal data."""
    rng = np.random.default_rng([seed, 93])
    n, d, width = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(3, 10))
    loss = ("square", "logistic", "logistic2", "exponential")[seed % 4]
    x = rng.normal(size=(n, d))
    if seed % 5 == 0:
        x = np.linalg.qr(rng.normal(size=(d, d)))[0][:n]
    y = rng.normal(size=len(x)) if loss == "square" else rng.choice([-1.0, 1.0], len(x))
    scale = (-4.0, -20.0, -60.0)[seed // 4 % 3]
    init = rf.init.balanced(width, d, log_scale=scale, seed=seed)
    if seed % 3 == 0:
        init = rf.init.gaussian(width, d, scale, seed, log_scale_a=scale - 1.0)
    reduction, activation = ("mean", "sum")[seed // 2 % 2], rf.LeakyReLU((0.0, 0.3)[seed // 3 % 2])
    return rf.Problem(rf.Data(x, y), init, loss=loss, reduction=reduction, activation=activation)


@several(**{str(seed): (seed,) for seed in (1, 2, 3, 8, 9, 10)})
def fast_forward(seed):
    return solved(downhill(seed), rf.Descent(0.05), 0.05 * (400 if seed < 4 else 900))


def first_layer(scale, seed):
    rng = np.random.default_rng([seed, 94])
    x = rng.normal(size=(5, 3)) if scale < 0.1 else np.linalg.qr(rng.normal(size=(3, 3)))[0]
    init = rf.Params(rng.normal(size=(8, 3)) * scale, rng.choice([-1.0, 1.0], 8) * scale)
    data = rf.Data(x, rng.choice([-1.0, 1.0], len(x)))
    return rf.Problem(data, init, loss="logistic", activation=rf.LeakyReLU(0.2 * (seed % 2)), train="first")


@several(small=(1e-12, 1), large=(0.3, 0))
def fast_forward_of_the_first_layer(scale, seed):
    return solved(first_layer(scale, seed), rf.Descent(0.02), 20.0)


@several(plain=(3, {}), batch=(3, {"batch": 2}), single=(8, {"dtype": "float32"}))
def stepping(seed, options):
    return solved(downhill(seed), rf.Descent(0.05, fast_forward=False, **options), 3.0)


@several(full=(8, {}), batch=(3, {"batch": 2}))
def stepping_by_matrix_products(seed, options):
    from reluflow.drive import descent

    descent.BLAS_ABOVE, kept = 0, descent.BLAS_ABOVE
    try:
        return solved(downhill(seed), rf.Descent(0.05, fast_forward=False, **options), 3.0)
    finally:
        descent.BLAS_ABOVE = kept


@case
def batches_drawn_an_epoch_at_a_time():
    from reluflow.drive import descent

    descent.BLOCK, descent.MARKS, kept = 1, 4, (descent.BLOCK, descent.MARKS)
    try:
        return solved(downhill(3), rf.Descent(0.05, batch=2, fast_forward=False), 3.0)
    finally:
        descent.BLOCK, descent.MARKS = kept


@several(stepped=(False,), forward=(True,))
def descent_that_overflows(forward):
    problem = rf.Problem(rf.Data([[3.0]], [1.0]), rf.Params([[2.0]], [2.0]), activation=rf.LeakyReLU(1.0))
    sol = rf.solve(problem, rf.Descent(5.0, fast_forward=forward), t1=5e4, throw=False)
    return {"outcome": np.array(sol.outcome.name), "finite": np.isfinite(sol.outputs).all()}


@several(stepped=(False,), forward=(True,))
def descent_to_rest(forward):
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2, log_scale=-2.0, seed=2))
    sol = rf.solve(problem, rf.Descent(0.03, fast_forward=forward), save=rf.Save(frames=9))
    return {"outcome": np.array(sol.outcome.name), "f": sol.outputs[-1], "tol": np.array(1e-9)}


# Parts that compiled kernels keep to themselves -----------------------------------------------------------------------


def a_box_problem_is_solved_whatever_its_matrix():
    """x in the box and G x - p = 0 or pushing against a bound: also where G is singular or pivots go round."""
    rng = np.random.default_rng(3)
    for trial in range(60):
        t = int(rng.integers(1, 7))
        e = rng.normal(size=(t, int(rng.integers(1, 7))))
        e[-1] = e[0] if trial % 3 == 0 else e[-1]
        e /= np.linalg.norm(e, axis=1)[:, None]
        G, p = e @ e.T, 3.0 * rng.normal(size=t)
        lower, upper = np.zeros(t), rng.uniform(0.0, 2.0, t)
        n = rng.uniform(0.0, 2.0, t)
        surfaces.box_qp(G, p, lower, upper, n)
        v = p - G @ n
        assert np.all((lower <= n) & (n <= upper))
        assert np.all(v[n > lower + 1e-9] > -1e-6) and np.all(v[n < upper - 1e-9] < 1e-6)


def a_crossing_of_a_frozen_phase_is_a_root():
    """P Z^2 - 2 target Z - M = 0 and the size reached, or inf where there is none."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        P, M, target = rng.normal(size=3)
        log_z = frozen.first_root(P, M, P * M, target)
        roots = np.roots([P, -2.0 * target, -M])
        real = roots[np.isreal(roots)].real
        later = real[real >= 1.0]
        assert log_z == np.inf if later.size == 0 else abs(np.exp(log_z) - later.min()) < 1e-7
    assert frozen.size_root(0.0, 1.0, 1.0, 1.0) == np.inf
    assert frozen.size_root(1.0, 1.0, 5.0, 0.0) == 0.0
    z = np.exp(frozen.size_root(0.5, 0.3, 0.2, 1.5))
    assert abs(0.5 * (0.25 * z**2 + 0.09 / z**2) + 0.2 - np.exp(1.5)) < 1e-12


def progress_may_interrupt():
    """Whoever is told of a run may end it, and gets what there is."""

    def stop(progress):
        assert progress.seconds > 0.0
        raise KeyboardInterrupt

    for method in METHODS:
        sol = rf.solve(spread(4, "logistic", 0.0, rf.init.balanced), method, t1=1e9, progress=stop)
        assert sol.outcome is rf.Outcome.INTERRUPTED and np.all(np.isfinite(sol.loss))


PARTS = (
    a_box_problem_is_solved_whatever_its_matrix,
    a_crossing_of_a_frozen_phase_is_a_root,
    progress_may_interrupt,
)


# Looking --------------------------------------------------------------------------------------------------------------


def one(results: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The quantities of one case, from all results as name/quantity."""
    return {key.removeprefix(f"{name}/"): value for key, value in results.items() if key.startswith(f"{name}/")}


def differences(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> list[str]:
    """Quantities in which two runs of a case differ by more than they may."""
    if found.keys() != expected.keys():
        return [f"{sorted(found.keys() ^ expected.keys())} in one of them only"]
    wrong, tol = [], expected.get("tol", np.array(0.0))
    for key, value in expected.items():
        got = found[key]
        if got.shape != value.shape:
            wrong.append(f"{key} has shape {got.shape}, not {value.shape}")
        elif value.dtype.kind != "f":
            if not np.array_equal(got, value):
                wrong.append(f"{key} is {got.tolist()}, not {value.tolist()}")
        elif not near(got, value, tol):
            wrong.append(f"{key} is off by {np.nanmax(np.abs(got - value)):.1e}, more than {tol:.1e}")
    return wrong


def near(got: np.ndarray, value: np.ndarray, tol: np.ndarray) -> bool:
    """Within `tol` of max(1, |value|); what is not finite must be the same."""
    same = (got == value) | (np.isnan(got) & np.isnan(value))
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(got - value) <= tol * np.maximum(1.0, np.abs(value)))))


def main(folder: Path | None, step: int = 1) -> None:
    """Runs every case (every `step`-th) as plain Python; of all cases, says which lines were reached."""
    np.seterr(all="ignore")  # as in compiled kernels
    for part in PARTS:
        part()
    results = {f"{name}/{key}": value for name, make in some(step).items() for key, value in make().items()}
    if folder is not None:
        np.savez(folder / "results.npz", **results)
    if step > 1:
        return
    watch.stop()
    if folder is None:
        watch.report(show_missing=True)
        return
    lines = {}
    for path in sorted(p for name in ENGINE for p in SOURCE.glob(name) if p.suffix == ".py"):
        name = path.relative_to(SOURCE).as_posix()
        if name in COMPILER:
            continue
        _, statements, _, missing, _ = watch.analysis2(str(path))
        lines[name] = {"lines": len(statements), "reached": len(statements) - len(missing), "missing": missing}
    (folder / "lines.json").write_text(json.dumps(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
