"""Many descents at once: seed-steps per second on a device, against one core of the processor in the same run.

python -m benchmarks.many --device gpu                 five points at batch 16,384, and MNIST-size descent
python -m benchmarks.many five --device gpu            only the first (also: mnist)
python -m benchmarks.many figures --device gpu --out DIR   Kou et al., Figures 2-5 at full size, P1 and P2, as NPZ files

Without MNIST at $RELUFLOW_DATA/mnist/ rates are taken on random rows of the same shape, and said to be. `--quick` is a
trial of everything in a minute on a processor.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.drive.descent import NEVER, Machine
from reluflow.many import mnist_protocol, p1_problem, solve_many
from reluflow.many._mnist import _p1, _p2
from reluflow.many._runner import pick

STEP = 2e-3
FIGURES = {
    "fig2": dict(slope=0.0, width=[1000], std=[1e-5, 5e-5, 1e-4, 5e-4, 1e-3]),
    "fig3": dict(slope=0.1, width=[1000], std=[1e-5, 5e-5, 1e-4, 5e-4, 1e-3]),
    "fig4": dict(slope=0.0, width=[10, 50, 100, 500, 1000], std=[1e-5]),
    "fig5": dict(slope=0.1, width=[10, 50, 100, 500, 1000], std=[1e-5]),
}


def timed(do):
    began = time.perf_counter()
    found = do()
    return time.perf_counter() - began, found


def say(what, rate, ours=None):
    ratio = "" if ours is None else f"   {rate / ours:10.4g} x one core"
    print(f"  {what:<72}{rate:14.5g} seed-steps/s{ratio}", flush=True)


def five(options):
    runs, iterations = (64, 500) if options.quick else (16_384, 20_000)
    data = rf.data.five_points()
    scales = np.log(np.array([1e-4, 1e-6]) / np.sqrt(60))
    problems = [rf.Problem(data, rf.init.balanced(60, 2, scales[k % 2], seed=k // 2)) for k in range(runs)]
    print(f"five points, m = 60, batch {runs}, {iterations} iterations of step {STEP:g}")
    t1, save = STEP * iterations, rf.Save(frames=2)
    stepped = rf.Descent(STEP, fast_forward=False)
    rf.solve(problems[0], rf.Descent(STEP), t1=t1)
    rf.solve(problems[0], stepped, t1=t1)
    alone = [timed(lambda p=p: rf.solve(p, stepped, t1=t1)) for p in problems[:8]]
    leapt = [timed(lambda p=p: rf.solve(p, rf.Descent(STEP), t1=t1))[0] for p in problems[:8]]
    core = iterations / np.median([spent for spent, _ in alone])
    say("rf.solve, one core, float64, every iteration taken", core)
    say("rf.solve, one core, float64, fast-forwarded", iterations / np.median(leapt), core)
    for dtype in ("float64", "float32"):
        method = rf.Descent(STEP, dtype=dtype)
        run = lambda method=method: solve_many(problems, method, t1=t1, save=save, device=options.device)
        cold, _ = timed(run)
        warm, many = timed(run)
        off = max(np.max(np.abs(many.outputs[k, -1] - sol.outputs[-1])) for k, (_, sol) in enumerate(alone))
        say(f"solve_many, {dtype} (outputs off by {off:.1e}; first call {cold:.3g} s)", runs * iterations / warm, core)


def shaped(protocol, quick):
    """(train, test, what they are), MNIST if it is there."""
    size = dict(size=2000) if quick else {}
    choice = dict(digits="all") if protocol == "P2" else dict(parity=True)
    try:
        return rf.data.mnist(**choice, **size), rf.data.mnist(**choice, split="test", **size), "MNIST"
    except FileNotFoundError:
        rng = np.random.default_rng([0, 1])
        n = 2000 if quick else 60_000
        x = rng.uniform(size=(n, 784)) * (rng.uniform(size=(n, 784)) < 0.2)
        y = rng.integers(0, 10, n)
        train = rf.Data(x, y if protocol == "P2" else 1.0 - 2.0 * (y % 2))
        return train, train.subset(np.arange(n // 6)), "random rows of MNIST's shape"


def one_core(problem, method, iterations):
    """Mini-batch iterations per second of the CPU kernel alone."""
    machine = Machine(problem, method)
    machine.run.next_checkpoint = NEVER
    machine.burst(3)
    return iterations / timed(lambda: machine.burst(iterations))[0]


def mnist(options):
    runs, steps, m = (4, 40, 100) if options.quick else (25, 938, 1000)
    few = max(10, steps // 20)
    for protocol, start in (("P1", _p1), ("P2", _p2)):
        train, _, what = shaped(protocol, options.quick)
        neurons = 2 * m if protocol == "P1" else m
        print(f"{protocol}, {what}, n = {train.n}, {neurons} neurons, batch 64, {runs} runs, {steps} iterations")
        for dtype in ("float32", "float64"):
            methods = [rf.Descent(0.1, batch=64, seed=k, dtype=dtype) for k in range(runs)]
            if protocol == "P1":
                core, name = one_core(p1_problem(train, m, 1e-4, 0), methods[0], few), "rf.Descent, one core"
            else:
                runner = start(train, m, [(1e-4, 0)], 0.0, methods[:1], pick("cpu"))
                core, name = warmed(runner, few)[1], "the same code, one run, JAX on this processor"
            say(f"{name}, {dtype}", core)
            runner = start(train, m, [(1e-4, k) for k in range(runs)], 0.0, methods, pick(options.device))
            cold, rate = warmed(runner, steps)
            say(f"many, {dtype} (first 20 iterations {cold:.3g} s)", runs * rate, core)


def warmed(runner, steps):
    """(seconds of the first 20 iterations, iterations per second once bursts have found their length)."""
    cold, _ = timed(lambda: runner.advance(20))
    runner.advance(20 + steps)
    return cold, steps / timed(lambda: runner.advance(20 + 2 * steps))[0]


def figures(options):
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    common = dict(seeds=range(5), epochs=1 if options.quick else 10, device=options.device)
    for protocol in ("P1", "P2"):
        train, test, what = shaped(protocol, options.quick)
        for name in options.figure or FIGURES:
            widths, slope, std = (FIGURES[name][key] for key in ("width", "slope", "std"))
            for width in [w // 20 or 1 for w in widths] if options.quick else widths:
                run = partial(mnist_protocol, protocol, width=width, std=std, slope=slope, data=(train, test), **common)
                spent, found = timed(run)
                file = folder / f"kou2023_{name}_{protocol}_m{width}.npz"
                np.savez(file, **found, slope=slope, width=width, data=what, seconds=spent)
                error, rank = found["test_error"][..., -1].mean(axis=1), found["stable_rank"][..., -1, -1].mean(axis=1)
                print(f"  {file.name}: {spent:.1f} s, test error {np.round(error, 4)}, rank {np.round(rank, 3)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="five, mnist, figures; the first two if none")
    parser.add_argument("--device", help='"cpu", "gpu", "gpu:1"; what JAX prefers if left out')
    parser.add_argument("--out", default="kou2023_runs", help="folder for the figures' files")
    parser.add_argument("--figure", action="append", choices=FIGURES, help="only this figure (may be repeated)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    options = parser.parse_args()
    import jax

    print(f"numpy {np.__version__}, jax {jax.__version__} on {pick(options.device).device_kind}")
    for part in options.parts or ("five", "mnist"):
        {"five": five, "mnist": mnist, "figures": figures}[part](options)
