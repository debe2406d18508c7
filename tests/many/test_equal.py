"""Runs computed together are the runs computed one by one."""

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

pytest.importorskip("jax")

from reluflow import many as batched
from reluflow.many import solve_many

LOSSES = ("square", "logistic", "logistic2", "exponential")
# 400 iterations, each a few sums of at most 8 terms: 400 * 8 roundings of 1.1e-16, if all went the same way.
ROUNDING = 400 * 8 * np.finfo(float).eps


def problems(kind, runs=3, n=5, d=3, width=7, same_data=False):
    """Random problems of one shape; `kind` goes through losses, trained layers, reductions and slopes.

    JAX compiles every kind and shape once, which takes longer than the runs: tests use the same ones.
    """
    loss = LOSSES[kind % 4]
    found = []
    for seed in range(runs):
        rng = np.random.default_rng([0 if same_data else seed, kind, 91])
        y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], n)
        data = rf.Data(rng.normal(size=(n, d)) / np.sqrt(d), y)
        scale = -0.5 * np.log(width) - seed
        init = rf.init.gaussian(width, d, log_scale=scale, seed=seed, log_scale_a=-0.5 * np.log(width))
        activation = rf.LeakyReLU((0.0, 0.3, 1.0)[kind % 3])
        train, reduction = ("both", "first")[kind // 4 % 2], ("mean", "sum")[kind // 2 % 2]
        found.append(rf.Problem(data, init, loss=loss, reduction=reduction, activation=activation, train=train))
    return found


def alone(problem, method, t1):
    """The run by itself, every iteration taken."""
    return rf.solve(problem, replace(method, fast_forward=False), t1=t1)


def difference(params, other):
    """Largest difference of a weight, relative to the largest weight."""
    pairs = list(zip(params.arrays(), other.arrays()))
    return max(np.max(np.abs(p - q)) for p, q in pairs) / max(np.max(np.abs(q)) for _, q in pairs)


# Four of the eight meet every loss, both trained layers and both reductions; each takes a compilation.
@pytest.mark.parametrize("kind", [0, 1, 6, 7, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in (2, 3, 4, 5))])
def test_every_loss_activation_and_layer_is_the_descent_of_solve(kind):
    given, method = problems(kind), rf.Descent(0.02)
    many = solve_many(given, method, t1=8.0, save=rf.Save(frames=3), device="cpu")
    for run, problem in zip(many, given):
        one = alone(problem, method, 8.0)
        assert difference(run.final, one.final) < ROUNDING
        np.testing.assert_allclose(run.loss_at([0.0, 4.0, 8.0]), one.loss_at([0.0, 4.0, 8.0]), rtol=100 * ROUNDING)


def test_large_rows_go_through_matrix_products_and_agree():
    given = problems(1, n=30, d=20, width=11)
    many = solve_many(given, rf.Descent(0.02), t1=8.0, save=rf.Save(frames=2), device="cpu")
    for run, problem in zip(many, given):
        assert difference(run.final, alone(problem, rf.Descent(0.02), 8.0).final) < ROUNDING


@pytest.mark.parametrize("log_scale", [-5.0, -30.0, -1000.0, -100000.0])
def test_any_scale_is_ordinary_input(log_scale):
    given = [rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, log_scale, seed=s)) for s in range(3)]
    many = solve_many(given, rf.Descent(0.01), t1=2.0, save=rf.Save(frames=2), device="cpu")
    # 200 iterations. A neuron that is pulled backwards shrinks while errors across it grow, both at up to the rate |D|;
    # logarithms of the size of `log_scale` round in their last place.
    x, y = rf.data.two_points().x, rf.data.two_points().y
    rate = np.linalg.norm(np.abs(y) @ np.abs(x)) / len(y)
    eps = np.finfo(float).eps
    slack = 200 * 8 * eps * np.exp(2 * rate * 2.0) + 4 * eps * abs(log_scale)
    for run, problem in zip(many, given):
        one = alone(problem, rf.Descent(0.01), 2.0)
        np.testing.assert_allclose(run.log_norm[-1], one.log_norm[-1], rtol=0, atol=slack)
        unit = [s.w[-1] / np.linalg.norm(s.w[-1], axis=1, keepdims=True) for s in (run, one)]
        np.testing.assert_allclose(unit[0], unit[1], rtol=0, atol=slack)
        assert np.max(np.abs(run.log_norm[-1] - run.log_norm[0])) > 0.1


def test_single_precision_is_the_single_precision_of_solve():
    given, method = problems(1, n=30, d=20, width=11), rf.Descent(0.02, dtype="float32")
    many = solve_many(given, method, t1=8.0, save=rf.Save(frames=2), device="cpu")
    single = ROUNDING / np.finfo(float).eps * float(np.finfo(np.float32).eps)
    for run, problem in zip(many, given):
        one, exact = (alone(problem, rf.Descent(0.02, dtype=t), 8.0).final for t in ("float32", "float64"))
        assert difference(run.final, one) < single / 10
        assert difference(run.final, exact) > 1e-9  # it is single precision


def test_steps_ends_and_seeds_may_differ():
    given = problems(0, runs=3)
    methods, ends = [rf.Descent(0.02), rf.Descent(0.005), rf.Descent(0.0125)], [8.0, 2.0, 4.0]
    many = solve_many(given, methods, t1=ends, save=rf.Save(frames=5), device="cpu")
    for run, problem, method, t1 in zip(many, given, methods, ends):
        one = alone(problem, method, t1)
        assert run.t[-1] == one.t[-1]
        assert difference(run.final, one.final) < ROUNDING
    np.testing.assert_allclose(many.t[:, -1], ends)


@pytest.mark.parametrize("same_data", [True, False])
def test_mini_batches_are_those_of_solve(same_data, monkeypatch):
    # 23 rows in batches of 5: the fifth of an epoch has 3. Few orders at a time, so that runs ask for more of them.
    monkeypatch.setattr(batched._runner, "ORDERS", 150)
    given = problems(1, runs=3, n=23, same_data=same_data)
    methods = [rf.Descent(0.02, batch=5, seed=s) for s in (0, 1, 0)]
    many = solve_many(given, methods, t1=8.0, save=rf.Save(frames=4), device="cpu")
    for run, problem, method in zip(many, given, methods):
        assert difference(run.final, alone(problem, method, 8.0).final) < ROUNDING


def test_a_batch_seed_changes_the_run(monkeypatch):
    monkeypatch.setattr(batched._runner, "ORDERS", 150)
    given = problems(1, runs=1, n=23, same_data=True) * 3
    methods = [rf.Descent(0.02, batch=5, seed=s) for s in (0, 1, 0)]
    ends = solve_many(given, methods, t1=8.0, save=rf.Save(frames=2), device="cpu")
    assert difference(ends[0].final, ends[1].final) > 1e-6
    assert difference(ends[0].final, ends[2].final) == 0.0


def test_a_run_of_many_is_a_solution_dense_in_time():
    given = [rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, -6.0, seed=s)) for s in range(3)]
    many = solve_many(given, rf.Descent(0.002), t1=40.0, save=rf.Save(frames=21), device="cpu")
    one = alone(given[1], rf.Descent(0.002), 40.0)
    assert len(many) == 3 and many[1].t.shape == (21,) and many.w.shape == (3, 21, 12, 2)
    np.testing.assert_allclose(many[1].outputs_at([3.3, 17.001]), one.outputs_at([3.3, 17.001]), atol=1e-10)
    assert [p.kind for p in many[1].phases()] == [p.kind for p in one.phases()]
    np.testing.assert_allclose(many.loss[1], many[1].loss, rtol=0, atol=1e-14)
    np.testing.assert_allclose(many.outputs[1], many[1].outputs, rtol=0, atol=1e-14)


def test_first_bits_and_events_give_the_bits_of_every_frame():
    given = [rf.Problem(rf.data.five_points(), rf.init.balanced(12, 2, -1.0, seed=s)) for s in range(2)]
    run = solve_many(given, rf.Descent(0.02), t1=20.0, save=rf.Save(frames=5), device="cpu")[1]
    bits = run.initial_bits.copy()
    assert len(run.events["on"]) + len(run.events["off"]) > 0
    for t in run.t:
        now = run.events[run.events.t == t]
        bits[now.neuron[now.kind == "on"], now.datum[now.kind == "on"]] = 1.0
        bits[now.neuron[now.kind == "off"], now.datum[now.kind == "off"]] = 0.0
        np.testing.assert_array_equal(bits, run.bits_at(t))


def test_frames_come_at_the_times_asked_for():
    given = problems(0)
    many = solve_many(given, rf.Descent(0.02), t1=8.0, save=rf.Save(times=(1.0, 2.5)), device="cpu")
    np.testing.assert_allclose(many.t, [[1.0, 2.5]] * 3)
    np.testing.assert_allclose(many[0].t, [1.0, 2.5])
    assert many[0].at(8.0).width == 7


def test_a_run_that_overflows_says_so_and_leaves_the_others_alone():
    given = problems(0, runs=3)
    methods = [rf.Descent(0.02), rf.Descent(500.0), rf.Descent(0.02)]
    many = solve_many(given, methods, t1=[8.0, 500.0 * 400, 8.0], save=rf.Save(frames=5), device="cpu")
    assert [o.name for o in many.outcome] == ["REACHED", "NOT_FINITE", "REACHED"]
    assert np.isnan(many.log_loss[1, -1]) and many[1].outcome is rf.Outcome.NOT_FINITE
    assert difference(many[2].final, alone(given[2], rf.Descent(0.02), 8.0).final) < ROUNDING


def test_runs_that_do_not_fit_take_turns_and_come_out_the_same():
    given = problems(0)
    setting = dict(t1=8.0, save=rf.Save(frames=3), device="cpu")
    whole = solve_many(given, rf.Descent(0.02), **setting)
    heard = []
    parts = solve_many(given, rf.Descent(0.02), memory="4 KiB", progress=heard.append, **setting)
    np.testing.assert_allclose(parts.outputs, whole.outputs, rtol=0, atol=ROUNDING)
    assert heard[-1].fraction == 1.0 and all(a.steps < b.steps for a, b in pairwise(heard))


def test_the_last_bits_do_not_depend_on_how_fast_it_goes(monkeypatch):
    given = [rf.Problem(rf.data.five_points(), rf.init.balanced(12, 2, -3.0, seed=s)) for s in range(2)]
    found = []
    for seconds in (1e-9, 100.0):  # bursts as short and as long as they get
        monkeypatch.setattr(batched._runner, "BURST_SECONDS", seconds)
        found.append(solve_many(given, rf.Descent(0.05), t1=100.0, save=rf.Save(frames=3), device="cpu"))
    np.testing.assert_array_equal(found[0].w, found[1].w)
    np.testing.assert_array_equal(found[0].log_scale, found[1].log_scale)
    assert np.any(found[0].log_scale != -3.0)  # there were rescalings


def test_the_users_own_precision_in_jax_stays():
    import jax

    before = jax.config.jax_enable_x64
    solve_many(problems(0), rf.Descent(0.02), t1=0.1, device="cpu")
    assert jax.config.jax_enable_x64 == before


def test_misuse_is_one_sentence():
    two = [problems(0, runs=1)[0], problems(0, runs=1, width=8)[0]]
    with pytest.raises(ValueError, match="All problems must have the same width, got 7 and 8"):
        solve_many(two, rf.Descent(0.02), t1=1.0)
    with pytest.raises(TypeError, match=r"one rf\.Descent.*flows run one by one"):
        solve_many(two[:1], rf.Flow(), t1=1.0)
    with pytest.raises(ValueError, match="`t1` must be given for many runs"):
        solve_many(two[:1], rf.Descent(0.02))
    with pytest.raises(ValueError, match="`device` must be"):
        solve_many(two[:1], rf.Descent(0.02), t1=1.0, device="abacus")
    with pytest.raises(ValueError, match="All methods must have the same `batch`"):
        solve_many(problems(0, runs=2), [rf.Descent(0.02), rf.Descent(0.02, batch=2)], t1=1.0)


def test_numpy_scipy_numba_and_jax_are_enough():
    code = """
import sys
class Wall:
    names = {"xarray", "zarr", "dask", "distributed", "clarabel", "pydantic", "typer", "rich", "matplotlib",
             "starlette", "uvicorn", "torch", "pandas"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Wall())
import jax
import numpy as np
import reluflow as rf
from reluflow.many import solve_many, mnist_protocol
problem = rf.Problem(rf.data.five_points(), rf.init.balanced(4, 2, -5.0))
data = rf.Data(np.eye(4), [0.0, 1.0, 2.0, 9.0])
with jax.disable_jit():  # compiling takes longer, and imports nothing more
    many = solve_many([problem], rf.Descent(0.01), t1=0.1, save=rf.Save(frames=2), device="cpu")
    found = mnist_protocol("P2", width=3, std=0.1, seeds=[0], epochs=1, data=(data, data))
assert many[0].loss[-1] < many[0].loss[0]
assert found["loss"].shape == (1, 1, 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_jax_never_draws():
    for file in Path(batched.__file__).parent.glob("*.py"):
        assert "jax.random" not in file.read_text() and "import random" not in file.read_text(), file


@pytest.mark.parametrize("device", [7, "tpu:9", ["cpu"]])
def test_a_device_that_is_none_is_refused_in_a_sentence(device):
    text = '`device` must be "cpu", "gpu", "gpu:1" or None, got '
    with pytest.raises(ValueError, match=re.escape(f"{text}{device!r}: JAX found ")):
        solve_many(problems(1), rf.Descent(0.02), t1=0.1, device=device)
