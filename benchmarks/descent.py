"""Descent per iteration, and Figure 4 by flow and by descent, against named peers; one thread, best of a few runs.

python -m benchmarks.descent            all of it, about two minutes
python -m benchmarks.descent small      m = 60, n = 5 only (also: forward, mnist, figure4)
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import sys
import time

import numpy as np
from benchmarks import _polar

import reluflow as rf
from reluflow.drive.descent import Machine

STEP = 2e-3


def race(runs, rounds=3):
    """Shortest wall time of each of `runs` (name -> call), one after the other in every round, after one to warm up."""
    found = {}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            spent = time.perf_counter() - began
            found[name] = spent if turn < 2 else min(found[name], spent)
    return found


def say(what, seconds, ours=None, unit=1e6, name="us"):
    ratio = "" if ours is None else f"   {seconds / ours:10.3g} x ours"
    print(f"  {what:<58}{seconds * unit:12.4g} {name}{ratio}", flush=True)


def figure4(scale=1e-4):
    init = rf.init.balanced(60, 2, log_scale=np.log(scale / np.sqrt(60)), seed=0)
    return rf.Problem(rf.data.five_points(), init)


def arrays(problem, dtype=np.float64):
    w, a = problem.init.arrays()
    return np.array(problem.data.x, dtype), np.array(problem.data.y, dtype), w.astype(dtype), a.astype(dtype)


def torch_loop(problem, iterations, step=STEP, dtype=np.float64):
    """The loop as the papers ran it: forward, backward, a step; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x, y, w, a = (torch.tensor(v) for v in arrays(problem, dtype))
    w.requires_grad_()
    a.requires_grad_()

    def run():
        for _ in range(iterations):
            f = torch.relu(x @ w.T) @ a
            if problem.loss == "square":
                loss = 0.5 * torch.mean((f - y) ** 2)
            else:
                loss = torch.mean(torch.nn.functional.softplus(-y * f))
            loss.backward()
            with torch.no_grad():
                for p in (w, a):
                    p -= step * p.grad
                    p.grad = None

    return run


def jax_loop(problem, iterations, step=STEP, dtype=np.float64):
    """A compiled loop with the gradient written out; None without jax."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    x, y, w, a = (jnp.asarray(v) for v in arrays(problem, dtype))
    n = len(y)

    @jax.jit
    def loop(w, a):
        def body(_, state):
            w, a = state
            u = x @ w.T
            on = (u > 0).astype(x.dtype)
            f = (on * u) @ a
            g = (y - f) / n if problem.loss == "square" else y / (1 + jnp.exp(y * f)) / n
            D = (on * g[:, None]).T @ x
            return w + step * a[:, None] * D, a + step * jnp.sum(w * D, axis=1)

        return jax.lax.fori_loop(0, iterations, body, (w, a))

    return lambda: jax.block_until_ready(loop(w, a))


def present(runs):
    return {name: run for name, run in runs.items() if run is not None}


def versions():
    found = [f"numpy {np.__version__}"]
    for name in ("numba", "torch", "jax"):
        try:
            found.append(f"{name} {__import__(name).__version__}")
        except ImportError:
            found.append(f"no {name}")
    return ", ".join(found)


def small():
    print("descent, m = 60, n = 5, step 2e-3, per iteration")
    problem = figure4()
    quiet = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-30.0, seed=0))
    stepped = rf.Descent(STEP, fast_forward=False)
    runs = {
        "rf.Descent on Figure 4's five points, all of rf.solve": lambda: rf.solve(problem, stepped, t1=600.0),
        "rf.Descent on Figure 2's two points (no chatter)": lambda: rf.solve(quiet, stepped, t1=100.0),
        "JAX compiled loop, five points": jax_loop(problem, 20_000),
        "PyTorch loop, five points": torch_loop(problem, 1000),
    }
    counts = dict(zip(runs, (300_000, 50_000, 20_000, 1000)))
    found = {name: spent / counts[name] for name, spent in race(present(runs), 5).items()}
    ours = next(iter(found.values()))
    for name, spent in found.items():
        say(name, spent, ours)


def kou(m=20, n=8):
    """Orthonormal data, logistic, fixed heads +-1/m."""
    rng = np.random.default_rng(0)
    init = rf.Params(1e-2 * rng.normal(size=(2 * m, n)), np.repeat([1.0 / m, -1.0 / m], m))
    data = rf.Data(np.eye(n), np.repeat([1.0, -1.0], n // 2))
    return rf.Problem(data, init, loss="logistic", train="first", activation=rf.ReLU(at_zero=1.0))


def forward():
    """Fast-forwarded descent, all of rf.solve, against the compiled JAX loop that steps."""
    init = rf.init.balanced(60, 2, log_scale=np.log(1e-6 / np.sqrt(60)), seed=0)
    figure2 = rf.Problem(rf.data.two_points(), init)
    deep = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-300.0, seed=0))
    for what, problem, count in (
        ("Figure 2, two points, 1e-6/sqrt(60)", figure2, 15_000),
        ("the same to t = 60", figure2, 30_000),
        ("two points, e^-300", deep, 300_000),
        ("Figure 4, five points, 1e-4/sqrt(60): chatters", figure4(), 300_000),
    ):
        print(f"fast-forwarded: {what}, m = 60, {count:,} iterations")
        runs = {
            "rf.Descent, fast-forwarded": lambda p=problem, k=count: rf.solve(p, rf.Descent(STEP), t1=k * STEP),
            "rf.Descent, stepped": lambda p=problem, k=count: rf.solve(
                p, rf.Descent(STEP, fast_forward=False), t1=k * STEP
            ),
            "JAX compiled loop (extrapolated from 15,000)": jax_loop(problem, 15_000),
        }
        found = race(present(runs), 5)
        ours = found["rf.Descent, fast-forwarded"]
        for name, spent in found.items():
            say(name, spent * (count / 15_000 if "JAX" in name else 1), ours, 1e3, "ms")
    late = kou()
    print("fast-forwarded: Kou et al., orthonormal n = 8, m = 20, step 1")
    runs = {
        "rf.Descent, 1e12 iterations": lambda: rf.solve(late, rf.Descent(1.0), t1=1e12),
        "rf.Descent, stepped, 1e5 iterations": lambda: rf.solve(late, rf.Descent(1.0, fast_forward=False), t1=1e5),
    }
    found = race(runs, 3)
    for name, spent in found.items():
        say(name, spent, found["rf.Descent, 1e12 iterations"], 1e3, "ms")


def mnist():
    print("descent, MNIST 0/1, h = 50, full batch, logistic, per iteration")
    try:
        data = rf.data.mnist(pair=(0, 1))
    except (FileNotFoundError, ValueError) as error:
        print(f"  skipped: {error}")
        return
    problem = rf.Problem(data, rf.init.balanced(50, data.d, log_scale=-6.0, seed=0), loss="logistic")
    k, step = 10, 0.1
    for dtype in (np.float64, np.float32):
        name = np.dtype(dtype).name
        x, _, w, _ = arrays(problem, dtype)
        u, D, v, E = (np.empty(shape, dtype) for shape in ((data.n, 50), (data.d, 50), (50, data.n), (50, data.d)))
        wt = np.ascontiguousarray(w.T)
        machine = Machine(problem, rf.Descent(step, dtype=name, fast_forward=False))
        machine.run.next_checkpoint = 2**62

        def products(x=x, wt=wt, u=u, D=D):
            for _ in range(k):
                np.dot(x, wt, out=u)
                np.dot(x.T, u, out=D)

        def other_way(x=x, w=w, v=v, E=E):
            for _ in range(k):
                np.dot(w, x.T, out=v)
                np.dot(v, x, out=E)

        runs = {
            "bare matrix products, neurons as columns": products,
            "bare matrix products, neurons as rows": other_way,
            "rf.Descent": lambda machine=machine: machine.burst(k),
            "JAX compiled loop": jax_loop(problem, k, step, dtype),
            "PyTorch loop": torch_loop(problem, k, step, dtype),
        }
        found = race(present(runs), 6)
        bare = min(spent for what, spent in found.items() if "bare" in what)
        ratio = found["rf.Descent"] / bare
        print(f"  {name}, n = {data.n}, d = {data.d}: rf.Descent takes {ratio:.3g} x its bare products")
        for what, spent in found.items():
            say(what, spent / k, found["rf.Descent"] / k, 1e3, "ms")


def figure4_race():
    for scale in (1e-4, 1e-6):
        problem = figure4(scale)
        print(f"Figure 4, five points to t = 600, scale {scale:g}/sqrt(60)")
        t = np.linspace(0.0, 600.0, 9)
        truth = rf.solve(problem, rf.Flow(1e-12), t1=600.0).outputs_at(t)
        off = np.max(np.abs(rf.solve(problem, rf.Flow(1e-8), t1=600.0).outputs_at(t) - truth))
        errors = {n: np.max(np.abs(_polar.outputs(problem, 600.0, n) - truth)) for n in (300_000, 600_000)}
        rough = np.max(np.abs(rf.solve(problem, rf.Flow(1e-5), t1=600.0).outputs_at(t) - truth))
        ours = f"rf.Flow(1e-8), outputs right to {off:.1e}"
        runs = {
            ours: lambda problem=problem: rf.solve(problem, rf.Flow(1e-8), t1=600.0),
            f"rf.Flow(1e-5), outputs right to {rough:.1e}": lambda problem=problem: rf.solve(
                problem, rf.Flow(1e-5), t1=600.0
            ),
            "rf.Descent, 300,000 iterations": lambda problem=problem: rf.solve(
                problem, rf.Descent(STEP, fast_forward=False), t1=600.0
            ),
            f"polar Euler, 300,000 steps, right to {errors[300_000]:.1e}": lambda problem=problem: _polar.outputs(
                problem, 600.0, 300_000
            ),
            "PyTorch loop, 300,000 iterations (extrapolated from 1,000)": torch_loop(problem, 1000),
        }
        found = race(present(runs), 4)
        euler = next(spent for name, spent in found.items() if "polar" in name)
        equal = euler * errors[300_000] / max(off, 1e-16)
        for name, spent in found.items():
            say(name, spent * (300 if "PyTorch" in name else 1), found[ours], 1.0, "s")
        print(f"  polar Euler's error at 600,000 steps is {errors[600_000]:.1e}")
        say("polar Euler at equal accuracy (extrapolated at order 1)", equal, found[ours], 1.0, "s")


if __name__ == "__main__":
    print(versions())
    parts = {"small": small, "forward": forward, "mnist": mnist, "figure4": figure4_race}
    for part in sys.argv[1:] or parts:
        parts[part]()
