"""The whole table of claims about speed, in one run: each row a ratio against a named peer, with the peer's version.

python -m benchmarks.table                      all rows, one thread, ten minutes to half an hour (`reluflow bench`)
python -m benchmarks.table --rows late --json   some rows, for a program
python -m benchmarks.table --short              every row cut down, to see that it works: its numbers mean nothing

Peers that would take minutes run a stated part of their iterations and are scaled up by it; a peer that is not
installed is a row that says so. Times are the best of a few runs after one to warm up (compile).
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import dataclasses
import json
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from benchmarks import _polar
from benchmarks.descent import STEP, arrays, figure4, jax_loop, torch_loop

import reluflow as rf

LOG10 = np.log(10.0)


@dataclass
class Row:
    """`ratio` is the peer's time over ours where the target is a `>`, and ours over the peer's where it is a `<`."""

    name: str
    question: str
    peer: str
    ours: float | None = None  # seconds, or what `question` names
    theirs: float | None = None
    ratio: float | None = None
    target: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.ratio is None or not self.target:
            return None
        bound = float(self.target[1:])
        return self.ratio > bound if self.target[0] == ">" else self.ratio < bound


def against(name, question, peer, ours, theirs, target, note=""):
    if theirs is None:
        return Row(name, question, peer, ours, target=target, note="skipped: the peer is not installed")
    ratio = theirs / ours if target[0] == ">" else ours / theirs
    return Row(name, question, peer, ours, theirs, ratio, target, note)


def best(call, rounds=5, enough=2.0):
    """Shortest wall time, after one run to warm up unless that took longer than `enough`; None for no call."""
    if call is None:
        return None
    found = []
    for turn in range(rounds + 1):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
        if turn and sum(found) > enough:
            break
    return min(found[1:])


def called(name):
    """A peer with its version."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (absent)"


def part(whole, share):
    return f"{share:,} of {whole:,} iterations run, scaled"


def figure2_problem():
    return rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-6), seed=0))


def half_times(sol, y):
    """When each output passes y_i / 2, by bisection."""
    found = []
    for i, label in enumerate(y):
        lo, hi = 0.0, float(sol.t[-1])
        for _ in range(50):
            mid = 0.5 * (lo + hi)
            lo, hi = (mid, hi) if sol.outputs_at(mid)[i] / label < 0.5 else (lo, mid)
        found.append(hi)
    return np.array(found)


# Rows -----------------------------------------------------------------------------------------------------------------


def figure2(short):
    problem, its = figure2_problem(), 15_000
    share = 200 if short else 3000
    y = problem.data.y
    truth = half_times(rf.solve(problem, rf.Flow(1e-12), t1=30.0), y)

    def off(method):
        return np.max(np.abs(half_times(rf.solve(problem, method, t1=30.0), y) - truth))

    theirs = best(torch_loop(problem, share), rounds=1)
    scaled = None if theirs is None else theirs * its / share
    # The loosest of these is still hundreds of times as accurate as the peer.
    for rtol in (1e-3, 1e-8):
        flow = rf.Flow(rtol)
        ours = best(lambda flow=flow: rf.solve(problem, flow, t1=30.0))
        what = f"Figure 2 of Boursier et al. to t = 30, rtol {rtol:g}"
        note = f"half-times off by {off(flow):.0e} (flow) and {off(rf.Descent(STEP)):.0e} (descent); {part(its, share)}"
        yield against("figure2", what, f"{called('torch')} loop", ours, scaled, ">1000", note)
    leap = best(lambda: rf.solve(problem, rf.Descent(STEP), t1=30.0))
    yield Row(
        "figure2", "Figure 2's 15,000 iterations by rf.Descent, fast-forwarded", "5 ms", leap, 5e-3, leap / 5e-3, "<1"
    )


def figure4_rows(short):
    its, share = 300_000, 200 if short else 3000
    for scale in (1e-4, 1e-6):
        problem, t = figure4(scale), np.linspace(0.0, 600.0, 9)
        truth = rf.solve(problem, rf.Flow(1e-12), t1=600.0).outputs_at(t)
        off = np.max(np.abs(rf.solve(problem, rf.Flow(1e-8), t1=600.0).outputs_at(t) - truth))
        ours = best(lambda p=problem: rf.solve(p, rf.Flow(1e-8), t1=600.0))
        theirs = best(torch_loop(problem, share), rounds=1)
        what = f"Figure 4 at {scale:g}/sqrt(60), outputs right to {off:.0e}"
        scaled = None if theirs is None else theirs * its / share
        yield against("figure4", what, f"{called('torch')} loop", ours, scaled, ">1000", part(its, share))
        count = 8 * 1000 if short else its
        wrong = np.max(np.abs(_polar.outputs(problem, 600.0, count) - truth))
        euler = best(lambda p=problem, k=count: _polar.outputs(p, 600.0, k), rounds=2)
        peer = f"polar Euler, {called('numba')}"
        # Both ways to equal accuracy: our tolerance loosened to its error, nothing scaled; its steps scaled to ours.
        loose, wide = next(
            (r, e)
            for r in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
            if (e := np.max(np.abs(rf.solve(problem, rf.Flow(r), t1=600.0).outputs_at(t) - truth))) <= max(wrong, off)
        )
        rough = best(lambda p=problem, r=loose: rf.solve(p, rf.Flow(r), t1=600.0))
        same = f"Figure 4 at {scale:g}/sqrt(60), rtol {loose:g}, outputs right to {wide:.0e}"
        note = f"{count:,} steps, right to {wrong:.0e}"
        yield against("figure4", same, peer, rough, euler, ">10", note)
        scaled = euler * max(1.0, wrong / off)
        note = f"{euler:.2g} s at {wrong:.0e} scaled at order 1: an extrapolation"
        yield against("figure4", what, f"{peer}, at equal accuracy", ours, scaled, ">10", note)


class TooLong(Exception):
    pass


def plain_field(problem, xp, give_up=np.inf):
    """w' = a D, a' = <D, w> on one flat vector, with literal masks; `xp` is numpy, torch or jax.numpy."""
    x, y, w, _ = arrays(problem)
    (m, d), n = w.shape, len(y)
    x, y = (xp.as_tensor(v) if hasattr(xp, "as_tensor") else xp.asarray(v) for v in (x, y))
    began = time.perf_counter()

    def field(_, z, *args):
        if time.perf_counter() - began > give_up:
            raise TooLong
        w, a = z[: m * d].reshape(m, d), z[m * d :]
        u = w @ x.T
        on = (u > 0) * 1.0
        pull = (on * ((y - a @ (on * u)) / n)) @ x
        parts = [(a[:, None] * pull).reshape(-1), (pull * w).sum(1)]
        return xp.concatenate(parts) if hasattr(xp, "concatenate") else xp.cat(parts)

    return field


def start(problem):
    _, _, w, a = arrays(problem)
    return np.concatenate([w.ravel(), a])


def scipy_run(problem, t1, rtol, give_up=np.inf):
    from scipy.integrate import solve_ivp

    z = start(problem)
    atol = 1e-3 * rtol * np.min(np.abs(z[z != 0]))
    return lambda: solve_ivp(plain_field(problem, np, give_up), (0.0, t1), z, method="DOP853", rtol=rtol, atol=atol)


def torchdiffeq_run(problem, t1, rtol):
    try:
        import torch
        from torchdiffeq import odeint
    except ImportError:
        return None
    torch.set_num_threads(1)
    z, field = torch.as_tensor(start(problem)), plain_field(problem, torch)
    t = torch.tensor([0.0, t1], dtype=torch.float64)
    return lambda: odeint(field, z, t, method="dopri5", rtol=rtol, atol=1e-3 * rtol * float(z.abs().min()))


def diffrax_run(problem, t1, rtol):
    try:
        import diffrax
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    z = jax.numpy.asarray(start(problem))
    term = diffrax.ODETerm(plain_field(problem, jax.numpy))
    control = diffrax.PIDController(rtol=rtol, atol=1e-3 * rtol * float(np.min(np.abs(start(problem)))))

    @jax.jit
    def run(z):
        options = dict(stepsize_controller=control, max_steps=1_000_000)
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, t1, None, z, **options).ys

    return lambda: jax.block_until_ready(run(z))


def solvers(short):
    problem, t1 = figure2_problem(), 3.0 if short else 30.0
    ours = best(lambda: rf.solve(problem, rf.Flow(1e-8), t1=t1))
    peers = {
        f"{called('scipy')} DOP853": (scipy_run, ">80"),
        f"{called('torchdiffeq')} dopri5": (torchdiffeq_run, ">600"),
        f"{called('diffrax')} Tsit5, compiled": (diffrax_run, ">8"),
    }
    for name, (make, target) in peers.items():
        yield against("solvers", "Figure 2, rtol 1e-8", name, ours, best(make(problem, t1, 1e-8), rounds=2), target)


def finishes(short):
    give_up, problem = 2.0 if short else 60.0, figure4()
    ours = best(lambda: rf.solve(problem, rf.Flow(1e-8), t1=600.0))
    note = "it finished"
    began = time.perf_counter()
    try:
        scipy_run(problem, 600.0, 1e-8, give_up)()
    except TooLong:
        note = f"given up after {give_up:g} s: the ratio is a lower bound"
    spent = time.perf_counter() - began
    yield against("finishes", "Figure 4, rtol 1e-8", f"{called('scipy')} DOP853", ours, spent, ">1", note)


def figure6(short):
    from reluflow.papers.boursier2022._teacher import data

    rows, drawn = data(n=75, d=150, torch_seed=4, seed=0)
    init = rf.init.balanced(200, 150, log_scale=float(np.log(1e-20 / np.sqrt(200 * 150))), seed=0)
    problem, its, share = rf.Problem(rows, init), 200_000, 50 if short else 2000
    t1 = 20.0 if short else its * STEP
    ours = best(lambda: rf.solve(problem, rf.Flow(1e-6), t1=t1), rounds=1)
    # The loop's cost does not depend on the weights, and 1e-20 is nothing to float64: no subnormal numbers arise.
    theirs = best(torch_loop(problem, share), rounds=1)
    scaled = None if theirs is None else theirs * its / share
    what = f"Figure 6 to t = {t1:g}, rtol 1e-6 ({drawn})"
    yield against("figure6", what, f"{called('torch')} loop", ours, scaled, ">60", part(its, share))


def scale(short):
    problems = [rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=s, seed=0)) for s in (-14.0, -1e5)]
    near, far = (best(lambda p=p: rf.solve(p, rf.Flow(1e-8))) for p in problems)
    yield against("scale", "two points until rest at e^-100000", "itself at e^-14", far, near, "<2")


def late_problem(loss, n=8, width=40):
    data = rf.Data(np.eye(n), np.tile([1.0, -1.0], n // 2))
    return rf.Problem(data, rf.init.balanced(width, n, log_scale=-30.0, seed=0), loss=loss)


def late(short):
    for loss in ("exponential", "logistic"):
        problem, found, tried = late_problem(loss), [], []
        for power in (3, 100):
            run = lambda p=problem, s=power: rf.solve(p, log_t1=s * LOG10)
            found.append(best(run, rounds=1 if short else 5))
            stats = run().stats
            tried.append(stats.steps + stats.rejected)
        note = f"{tried[1]} steps over {tried[0]}"
        yield against("late", f"orthonormal, {loss}, to t = 1e100", "itself to 1e3", found[1], found[0], "<5", note)


def descent(short):
    problem, its = figure4(), 3000 if short else 300_000
    stepped = {"fast_forward": False} if "fast_forward" in {f.name for f in dataclasses.fields(rf.Descent)} else {}
    ours = best(lambda: rf.solve(problem, rf.Descent(STEP, **stepped), t1=its * STEP), rounds=3) / its
    jax_its, torch_its = (500, 100) if short else (20_000, 1000)
    jax, torch = best(jax_loop(problem, jax_its)), best(torch_loop(problem, torch_its))
    jax, torch = (None if v is None else v / k for v, k in ((jax, jax_its), (torch, torch_its)))
    what = "descent, m = 60, n = 5, per iteration, stepped"
    yield against("descent", what, f"{called('jax')} compiled loop", ours, jax, ">4")
    yield against("descent", what, f"{called('torch')} loop", ours, torch, ">150")
    if stepped:
        leapt = best(lambda: rf.solve(problem, rf.Descent(STEP), t1=its * STEP), rounds=3) / its
        what = "the same, fast-forwarded"
        yield against("descent", what, f"{called('jax')} compiled loop", leapt, jax, ">10")


def mnist_data(short, **options):
    try:
        return rf.data.mnist(pair=(0, 1), size=500 if short else None, **options)
    except (FileNotFoundError, ValueError):
        return None


def descent_mnist(short):
    from reluflow.drive.descent import Machine

    data = mnist_data(short)
    what = "descent, MNIST 0/1, h = 50, per iteration"
    if data is None:
        yield Row("descent_mnist", what, "bare matrix products", target="<1.1", note="skipped: MNIST is not here")
        return
    problem = rf.Problem(data, rf.init.balanced(50, data.d, log_scale=-6.0, seed=0), loss="logistic")
    k = 10
    for name in ("float64", "float32"):
        x, _, w, _ = arrays(problem, np.dtype(name))
        wt, u, D = np.ascontiguousarray(w.T), np.empty((data.n, 50), name), np.empty((data.d, 50), name)
        machine = Machine(problem, rf.Descent(0.1, dtype=name))
        machine.run.next_checkpoint = 2**62

        def products(x=x, wt=wt, u=u, D=D):
            for _ in range(k):
                np.dot(x, wt, out=u)
                np.dot(x.T, u, out=D)

        ours, bare = (best(run, 6, 20.0) / k for run in (lambda m=machine: m.burst(k), products))
        peer = f"its bare matrix products, {called('numpy')}"
        yield against("descent_mnist", f"{what}, {name}, n = {data.n}", peer, ours, bare, "<1.1")
        jax = best(jax_loop(problem, k, 0.1, np.dtype(name)), 6, 20.0)
        jax = None if jax is None else jax / k
        yield against("descent_mnist", f"the same, {name}", f"{called('jax')} compiled loop", ours, jax, ">0.8")


def flow_mnist(short):
    data = mnist_data(short, centre=True)
    what = "flow, MNIST 0/1 centred, h = 50, mean exponential, from 1e-6 to t = 30, stepped at rtol 1e-4"
    if data is None:
        yield Row("flow_mnist", what, "rf.Descent, step 2e-3", note="skipped: MNIST is not here")
        return
    init = rf.init.gaussian(50, data.d, log_scale=np.log(1e-6), seed=0)
    problem, its, t1 = rf.Problem(data, init, loss="exponential"), 15_000, 30.0
    sol = rf.solve(problem, rf.SteppedFlow(1e-4), t1=t1, save=rf.Save(memory="512 MiB"))
    share = 500 if short else 5000
    steps = rf.solve(problem, rf.Descent(STEP), t1=share * STEP, save=rf.Save(frames=60, memory="512 MiB"))
    apart = np.max(np.abs(sol.loss_at(steps.t) - steps.loss))
    note = f"{sol.stats.steps} steps, final loss {sol.loss[-1]:.3g}; losses apart by {apart:.1e} up to t = "
    note += f"{steps.t[-1]:g}, where it is {steps.loss[-1]:.3g}; {part(its, share)}"
    theirs = steps.stats.seconds * its / share
    yield against("flow_mnist", f"{what}, n = {data.n}", "rf.Descent, step 2e-3", sol.stats.seconds, theirs, ">1", note)


FIRST = """
import reluflow as rf
rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-14.0, seed=0)))
"""


def start_up(short):
    ask = best(lambda: subprocess.run([sys.executable, "-m", "reluflow", "--help"], capture_output=True, check=True))
    yield Row("start", "`reluflow --help`", "0.3 s", ask, 0.3, ask / 0.3, "<1")
    first = best(lambda: subprocess.run([sys.executable, "-c", FIRST], check=True), rounds=3, enough=20.0)
    yield Row("start", "first result of a new process, kernels compiled before", "2.5 s", first, 2.5, first / 2.5, "<1")


def growth(short):
    """Exponents p of cost ~ size^p (log scale and log t: cost ~ |log|^p), fitted to the median of three draws."""

    def flow(n=10, d=5, width=30, log_scale=-5.0, seed=0):
        data = rf.data.random_points(n, d, seed=seed)
        return rf.Problem(data, rf.init.balanced(width, d, log_scale=log_scale, seed=seed)), dict(t1=20.0)

    def tail(log_t, seed=0):
        return late_problem("exponential"), dict(log_t1=log_t)

    def points(log_scale, seed=0):
        return rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=seed)), {}

    cases = {
        "n": ([5, 10, 20], lambda v, k: flow(n=v, seed=k)),
        "d": ([5, 10, 20], lambda v, k: flow(d=v, seed=k)),
        "width": ([15, 30, 60], lambda v, k: flow(width=v, seed=k)),
        "log scale": ([-14.0, -1400.0, -1e5], points),
        "log t": ([7.0, 70.0, 700.0], tail),
    }
    for name, (sizes, make) in cases.items():
        sizes = sizes[:2] if short else sizes
        spent = []
        for size in sizes:
            draws = [make(size, k) for k in range(1 if short else 3)]
            spent.append(np.median([best(lambda p=p, o=o: rf.solve(p, **o), 3) for p, o in draws]))
        power = np.polyfit(np.log(np.abs(sizes)), np.log(spent), 1)[0]
        told = ", ".join(f"{s:g}: {v:.2g} s" for s, v in zip(sizes, spent, strict=True))
        yield Row("growth", f"cost of a flow grows like {name} to the power", "itself", ratio=float(power), note=told)


ROWS = {
    "figure2": figure2,
    "figure4": figure4_rows,
    "solvers": solvers,
    "finishes": finishes,
    "figure6": figure6,
    "scale": scale,
    "late": late,
    "descent": descent,
    "descent_mnist": descent_mnist,
    "flow_mnist": flow_mnist,
    "start": start_up,
    "growth": growth,
}


def machine() -> dict:
    """What this was run on, in words and numbers."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        model = next((s.split(":")[1].strip() for s in info.read_text().splitlines() if "model name" in s), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": int(os.environ["OPENBLAS_NUM_THREADS"]),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("reluflow", "numpy", "scipy", "numba")},
        # OpenBLAS takes the kernels of another processor when told to, which changes its speed by up to a half.
        "OpenBLAS for": os.environ.get("OPENBLAS_CORETYPE", "this processor"),
    }


def text(value):
    return "-" if value is None else f"{value:.3g}"


def line(row: Row) -> str:
    verdict = {True: "met", False: "**missed**", None: "-"}[row.met]
    cells = [row.name, row.question, text(row.ours), row.peer, text(row.theirs), text(row.ratio), row.target or "-"]
    return "| " + " | ".join([*cells, verdict, row.note]) + " |"


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", metavar="NAME", help=f"which of {', '.join(ROWS)}")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a Markdown table")
    parser.add_argument("--short", action="store_true", help="cut every row down, to see that it works")
    options = parser.parse_args(arguments)
    for name in options.rows or []:
        if name not in ROWS:
            print(f"error `{name}` is not a row: choose from {', '.join(ROWS)}.", file=sys.stderr)
            return 2
    on, found = machine(), []
    if not options.json:
        print(", ".join(f"{k} {v}" for k, v in on.items()))
        if options.short:
            print("cut short: these numbers mean nothing")
        print("\n| row | question | ours, s | peer | peer, s | ratio | target | | note |\n" + "| --- " * 9 + "|")
    for name in options.rows or ROWS:
        for row in ROWS[name](options.short):
            found.append(row)
            if not options.json:
                print(line(row), flush=True)
    if options.json:
        rows = [dataclasses.asdict(r) | {"met": None if r.met is None else bool(r.met)} for r in found]
        print(json.dumps({"machine": on, "short": options.short, "rows": rows}, indent=1, default=float))
    return 0


if __name__ == "__main__":
    sys.exit(main())
