"""Bit-for-bit gate for changes that must not change results: `make gate`, or

    python tests/gates/bits.py               compare today's bits with those stored for this machine
    python tests/gates/bits.py coupled late  the same for the problems whose names contain one of these words
    python tests/gates/bits.py --freeze      store today's bits (all problems) for this machine

Some eighty problems, one or more for every regime, loss, activation and method, are solved through the public interface
alone, so that the gate outlives any change of the internals. For each, `bits.json` holds the SHA-256 of its frames, of
its state at odd times (dense evaluation from checkpoints), of its events and of its statistics, and a few plain numbers
from which a mismatch says how far apart the two runs are. Compilers contract a*b + c differently for different
processors: bits are stored for each processor and version of numba, numpy and scipy, and mean nothing elsewhere.

Windows and leaps may depend on where arrays lie in memory (finding E13). A problem that differs is therefore solved
again, up to `ATTEMPTS` times with other allocations in between; the stored bits must come back in one of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # Before numpy is imported. Results are those of the checkout this file lies in, whatever is installed.
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_name] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import reluflow as rf

STORED = Path(__file__).with_name("bits.json")
ATTEMPTS = 10
ODD = np.array([0.0, 0.0137, 0.1131, 0.3337, 0.5171, 0.7919, 0.9973, 1.0])  # of the end of a run
LIST_EVENTS = 40  # event times kept as plain numbers

CASES: dict[str, Callable[[], dict[str, list[np.ndarray]]]] = {}

Parts = dict[str, list[np.ndarray]]


# What is compared -----------------------------------------------------------------------------------------------------


def seen(sol, late: bool = False) -> Parts:
    """Everything a run says: frames, moments between them, events, counts that do not depend on the clock."""
    if late:
        at = dict(log_t=np.concatenate([[-3.0, 0.0], ODD[1:] * float(sol.log_t[-1])]))
    else:
        at = dict(t=ODD * float(sol.t[-1]))
    params = sol.at(**at)
    e, s = sol.events, sol.stats
    return {
        "frames": [sol.log_t, sol.log_loss, sol.outputs, sol.w, sol.a, sol.log_scale, sol.log_norm, sol.sign],
        "moments": [
            sol.outputs_at(**at), sol.log_loss_at(**at), sol.bits_at(**at), sol.sliding_at(**at),
            *(part for p in params for part in (p.w, p.a, *p.log_scales)),
        ],
        "final": [sol.final.w, sol.final.a, *sol.final.log_scales, sol.initial_bits],
        "events": [e.t, e.log_t, e.neuron, e.datum, np.array([str(k) for k in e.kind], "U16"), e.unique],
        "stats": [np.array([s.steps, s.rejected, s.events, s.slides, s.non_unique]),
                  np.array([s.energy_error, s.nearest_bifurcation]), np.array([sol.outcome.name], "U16")],
    }  # fmt: skip


def digest(arrays: list[np.ndarray]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64)  # how wide a count is stored is nobody's result
        found.update(f"{array.dtype.kind}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:32]


def summary(parts: Parts) -> dict:
    """A few plain numbers, to say how far apart two runs are."""
    moments = parts.get("moments", parts["frames"])
    outputs = np.ravel(moments[0])
    times = np.ravel(parts["events"][0])[:LIST_EVENTS] if "events" in parts else np.empty(0)
    counts = parts["stats"][0].tolist() if "stats" in parts else []
    return {
        "outputs": outputs[:: max(1, len(outputs) // 40)].tolist(),
        "log_loss": np.ravel(moments[1]).tolist()[:20] if len(moments) > 1 else [],
        "event_times": times.tolist(),
        "counts": counts,
    }


def solved(problem, method=None, t1=None, late=False, **options) -> Parts:
    return seen(rf.solve(problem, method or rf.Flow(rtol=1e-8), t1=t1, **options), late)


# Problems -------------------------------------------------------------------------------------------------------------


def case(name: str):
    def add(make):
        CASES[name] = make
        return make

    return add


def stepped(rtol: float):
    """The flow with estimated, not located, crossings, under its old name or its new one."""
    return rf.SteppedFlow(rtol=rtol) if hasattr(rf, "SteppedFlow") else rf.Flow(rtol=rtol, events="stepped")


def drawn(n, d, width, *, loss="square", log_scale=-1.0, seed=0, slope=0.0, init="balanced", labels=None, **more):
    """Gaussian data and weights; labels are signs where the loss wants them."""
    rng = np.random.default_rng([seed, 101])
    x = rng.normal(size=(n, d))
    y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], size=n)
    start = getattr(rf.init, init)(width, d, log_scale=log_scale, seed=seed)
    return rf.Problem(rf.Data(x, y if labels is None else labels), start, loss=loss,
                      activation=rf.LeakyReLU(slope), **more)  # fmt: skip


def with_bias(seed: int, n: int, width: int, log_scale: float, **more):
    """Points on a line and a column of ones: planar, stiff, with many crossings."""
    rng = np.random.default_rng([seed, 102])
    x = np.column_stack([np.sort(rng.uniform(-2.0, 2.0, n)), np.ones(n)])
    return rf.Problem(rf.Data(x, rng.uniform(-1.0, 1.0, n)), rf.init.balanced(width, 2, log_scale, seed), **more)


def two(log_scale, width=12, seed=0, **more):
    return rf.Problem(rf.data.two_points(), rf.init.balanced(width, 2, log_scale, seed), **more)


def five(log_scale, width=20, seed=0, **more):
    return rf.Problem(rf.data.five_points(), rf.init.balanced(width, 2, log_scale, seed), **more)


LOSSES = ("square", "logistic", "logistic2", "exponential")
SIGNS = rf.Data([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.5]], [1.0, -1.0, 1.0])

for _loss in LOSSES:
    case(f"coupled planar, {_loss}")(lambda loss=_loss: solved(drawn(6, 2, 14, loss=loss, seed=3), t1=25.0))
    case(f"coupled r>2, {_loss}, leaky")(
        lambda loss=_loss: solved(drawn(7, 4, 11, loss=loss, seed=4, slope=0.3, log_scale=-2.0), t1=20.0)
    )
    if _loss != "square":
        case(f"late clock, {_loss}, to t = 1e100")(
            lambda loss=_loss: solved(
                rf.Problem(SIGNS, rf.init.balanced(12, 2, -3.0, 2), loss=loss), late=True, log_t1=230.2585
            )
        )

CASES |= {
    "coupled, sum of losses, rtol 1e-11": lambda: solved(
        drawn(5, 3, 9, seed=8, reduction="sum"), rf.Flow(rtol=1e-11), 6.0
    ),
    "coupled, rtol 1e-3": lambda: solved(drawn(12, 3, 20, seed=9), rf.Flow(rtol=1e-3), 30.0),
    "coupled until convergence": lambda: solved(drawn(4, 3, 8, seed=2)),
    "coupled linear": lambda: solved(drawn(6, 3, 8, slope=1.0, seed=5), t1=15.0),
    "coupled, one input dimension": lambda: solved(drawn(5, 1, 6, seed=6), t1=15.0),
    "coupled r=6, many events": lambda: solved(drawn(25, 6, 30, seed=1, log_scale=-2.0), rf.Flow(1e-6), 30.0),
    "planar, many events": lambda: solved(with_bias(2, 20, 40, -2.0), rf.Flow(1e-6), 60.0),
    "stiff implicit steps": lambda: solved(with_bias(3, 6, 40, -1.0), t1=3e4),
    "stiff until convergence": lambda: solved(with_bias(1, 5, 40, -3.0)),
    "stiff, unbalanced": lambda: solved(drawn(6, 2, 30, seed=12, init="gaussian"), t1=5e3),
    "unbalanced, square": lambda: solved(drawn(6, 3, 10, seed=21, init="gaussian", log_scale=-0.5), t1=10.0),
    "unbalanced, logistic, leaky": lambda: solved(
        drawn(6, 3, 10, seed=22, init="gaussian", slope=0.2, loss="logistic"), t1=20.0
    ),
    "unbalanced, tiny layers of unlike scale": lambda: solved(
        rf.Problem(drawn(4, 3, 8, seed=6).data, rf.init.gaussian(8, 3, -40.0, 4, -38.5)), t1=120.0
    ),
    "first layer alone, square": lambda: solved(
        drawn(6, 3, 12, seed=31, init="fixed_output", log_scale=-2.0, train="first"), t1=8.0
    ),
    "first layer alone, exponential, late": lambda: solved(
        drawn(5, 3, 10, seed=32, init="fixed_output", loss="exponential", train="first"), late=True, log_t1=12.0
    ),
    "first layer alone, held at the origin": lambda: solved(
        rf.Problem(
            rf.Data([[1.0, 0.0], [-0.6, 0.9], [-0.5, -0.8], [0.3, 1.1]], -np.ones(4)),
            rf.Params([[0.1, 0.06], [0.5, -0.4], [-0.4, 0.4], [-0.3, -0.6]], [1.0, -1.0, -1.0, -1.0]),
            train="first",
        ),
        t1=8.0,
    ),
    "jumps at e^-1000, two points": lambda: solved(two(-1000.0)),
    "jumps at e^-100000, two points": lambda: solved(two(-100000.0)),
    "jumps at e^-1000, five points": lambda: solved(five(-1000.0), t1=12000.0),
    "jumps at e^-100000, five points": lambda: solved(five(-100000.0), t1=1.2e6),
    "jumps at e^-300, logistic, r>2": lambda: solved(
        drawn(6, 4, 12, loss="logistic", log_scale=-300.0, seed=7), rf.Flow(1e-7), late=True, log_t1=9.0
    ),
    "jumps at e^-30, six dimensions, leaky": lambda: solved(
        drawn(8, 6, 20, log_scale=-30.0, seed=13, slope=0.1), rf.Flow(1e-6), 200.0
    ),
    "a change of sign inside a jump": lambda: solved(
        rf.Problem(rf.Data([[1.0, 0.0]], [1.0]), rf.Params([[1.0, 0.5]], [-0.3], log_scale=-30.0)), t1=80.0
    ),
    "orthonormal, e^-200": lambda: solved(
        rf.Problem(rf.data.orthonormal(5, seed=2), rf.init.balanced(16, 5, -200.0, 3)), t1=3000.0
    ),
    "figure 4 of Boursier et al., width 60": lambda: solved(five(-16.0, 60), t1=600.0),
    "duplicates, opposite and zero rows": lambda: solved(duplicates(), t1=6.0),
    "mirror images": lambda: solved(mirrored(), t1=10.0),
    "start on surfaces, at w = 0 and at a = 0": lambda: solved(
        rf.Problem(
            rf.Data([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]], [1.0, -0.5, 0.7]),
            rf.Params(
                [[0.0, 1.0], [0.0, 0.0], [0.3, 0.4], [-1.0, -1.0]], [1.0, 0.5, 0.0, np.sqrt(2.0)], log_scale=-1.0
            ),
        ),
        t1=3.0,
    ),
    "windows, square": lambda: solved(windowed(-3.0), rf.Flow(1e-4), 6.0),
    "windows, square, rtol 1e-7": lambda: solved(windowed(-1.0), rf.Flow(1e-7), 1.0),
    "windows, logistic, leaky": lambda: solved(windowed(-2.0, loss="logistic", slope=0.2), rf.Flow(1e-4), 30.0),
    "windows, unbalanced, exponential": lambda: solved(
        windowed(-1.5, loss="exponential", init="gaussian"), rf.Flow(1e-4), 10.0
    ),
    "windows, planar, many data": lambda: solved(with_bias(7, 200, 260, -1.0), rf.Flow(1e-3), 4.0),
    "windows after jumps, e^-50": lambda: solved(windowed(-50.0), rf.Flow(1e-4), 80.0),
    "frames at given times": lambda: solved(
        drawn(6, 3, 10, seed=41), t1=9.0, save=rf.Save(times=(0.0, 0.7, 2.3, 5.5, 8.999))
    ),
    "eight frames of a long run": lambda: solved(drawn(6, 3, 10, seed=42), t1=40.0, save=rf.Save(frames=8)),
    "stepped flow, square": lambda: solved(drawn(30, 5, 12, seed=51), stepped(1e-4), 4.0),
    "stepped flow, logistic": lambda: solved(drawn(30, 5, 12, seed=52, loss="logistic"), stepped(1e-3), 8.0),
    "stepped flow, first layer": lambda: solved(
        drawn(20, 3, 12, seed=53, init="fixed_output", train="first"), stepped(1e-3), 3.0
    ),
    "descent with leaps, five points": lambda: solved(five(-6.0, 12), rf.Descent(0.01), 300.0),
    "descent with leaps, e^-200": lambda: solved(two(-200.0, 8), rf.Descent(0.01), 2000.0),
    "descent with leaps, until convergence": lambda: solved(two(-4.0, 8, 1), rf.Descent(0.01)),
    "descent with leaps, logistic, late": lambda: solved(
        rf.Problem(SIGNS, rf.init.balanced(5, 2, -3.0, 1), loss="logistic"), rf.Descent(0.05), 5e5
    ),
    "descent, every iteration": lambda: solved(five(-6.0, 12), rf.Descent(0.01, fast_forward=False), 100.0),
    "descent, every iteration, exponential": lambda: solved(
        drawn(6, 3, 9, loss="exponential", seed=61, init="gaussian"), rf.Descent(0.02, fast_forward=False), 60.0
    ),
    "descent, first layer, sigma'(0) = 1": lambda: solved(
        rf.Problem(
            drawn(6, 3, 9, loss="logistic2", seed=62).data, rf.init.fixed_output(10, 3, -1.0, 2), loss="logistic2",
            activation=rf.ReLU(at_zero=1.0), train="first",
        ),
        rf.Descent(0.02), 40.0,
    ),
    "descent, mini-batches": lambda: solved(drawn(30, 5, 10, seed=63), rf.Descent(0.01, batch=7, seed=3), 20.0),
    "descent, float32": lambda: solved(drawn(30, 5, 10, seed=64), rf.Descent(0.01, dtype="float32"), 10.0),
    "descent, float32, matrix products, mini-batches": lambda: solved(
        drawn(300, 20, 60, seed=65), rf.Descent(0.01, dtype="float32", batch=100), 3.0
    ),
    "descent, float64, matrix products": lambda: solved(
        drawn(200, 12, 60, seed=66, loss="logistic"), rf.Descent(0.02, fast_forward=False), 8.0
    ),
}  # fmt: skip


def duplicates():
    rng = np.random.default_rng([5, 103])
    base = rng.normal(size=(3, 3))
    x = np.vstack([base, base[:1], -2.0 * base[:1], 0.5 * base[1:2], np.zeros((1, 3)), -base[2:]])
    return rf.Problem(rf.Data(x, rng.normal(size=8)), rf.init.balanced(9, 3, -1.0, 5))


def mirrored():
    w = np.array([[0.3, 1.0], [-0.3, 1.0], [0.3, 1.0], [-0.3, 1.0]])
    init = rf.Params(w, np.linalg.norm(w, axis=1) * np.array([1.0, 1.0, -1.0, -1.0]), log_scale=-1.0)
    return rf.Problem(rf.Data([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, -1.0]), init)


def windowed(log_scale, loss="square", slope=0.0, init="balanced"):
    """width * data * rank = 108,000: the field is computed by matrix products, event detection in windows."""
    return drawn(40, 30, 90, loss=loss, log_scale=log_scale, seed=71, slope=slope, init=init)


def random(seed: int) -> Parts:
    """Small problems of every loss, slope, scale and reduction, balanced or not."""
    rng = np.random.default_rng([seed, 104])
    n, d, width = int(rng.integers(2, 12)), int(rng.integers(1, 6)), int(rng.integers(2, 16))
    log_scale = (0.0, -1.0, -4.0, -12.0, -40.0)[seed % 5]
    problem = drawn(
        n, d, width, loss=LOSSES[seed % 4], log_scale=log_scale, seed=1000 + seed, slope=(0.0, 0.0, 0.3)[seed % 3],
        init="gaussian" if seed % 7 == 3 else "balanced", reduction="sum" if seed % 6 == 5 else "mean",
    )  # fmt: skip
    size = problem.weight * np.linalg.norm(problem.data.x, 2) * np.sqrt(n)
    return solved(problem, rf.Flow(rtol=(1e-4, 1e-7, 1e-10)[seed % 3]), float((8.0 - 1.5 * log_scale) / size))


CASES |= {f"random problem {seed}": lambda seed=seed: random(seed) for seed in range(20)}


def limit_of(problem) -> Parts:
    found = rf.limit(problem)
    params = [] if found.params is None else [found.params.w, found.params.a]
    return {
        "frames": [np.array([s.slope for s in found.saddles]), np.array([s.loss for s in found.saddles]),
                   found.exponent, found.log_factor, *params],
    }  # fmt: skip


CASES |= {
    "limit, two points": lambda: limit_of(two(-1.0, 6, 1)),
    "limit, five points": lambda: limit_of(five(-1.0, 8, 1)),
    "limit, orthonormal": lambda: limit_of(
        rf.Problem(rf.data.orthonormal(4, seed=1), rf.init.balanced(8, 4, seed=2))
    ),
    "limit, logistic": lambda: limit_of(drawn(6, 3, 10, loss="logistic", seed=81)),
}  # fmt: skip


def many() -> Parts:
    problems = [drawn(8, 3, 6, seed=91), drawn(8, 3, 6, seed=92)]
    parts: Parts = {"frames": []}
    for method in (rf.Descent(0.02), rf.Descent(0.02, batch=4, seed=5), rf.Descent(0.02, dtype="float32")):
        found = rf.solve_many(problems, method, 4.0, device="cpu")
        parts["frames"] += [found[k].outputs for k in range(2)] + [found[k].log_loss for k in range(2)]
    return parts


CASES["solve_many on a processor, JAX"] = many


# Comparing ------------------------------------------------------------------------------------------------------------


def machine() -> str:
    """What bits may depend on besides the code: processor, compiler, libraries."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("numba", "llvmlite", "numpy", "scipy", "jax"))
    cpu = f"{platform.system()} {platform.machine()} {llvm.get_host_cpu_name()}"
    return f"{cpu} {hashlib.sha256(features.encode()).hexdigest()[:8]}, {libraries}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def measured(name: str) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parts = CASES[name]()
    return {"sha256": {key: digest(arrays) for key, arrays in parts.items()}, "numbers": summary(parts)}


def apart(now: dict, stored: dict) -> str:
    """How far two summaries are apart, in words."""
    said = []
    for key, unit in (("outputs", "outputs"), ("log_loss", "log losses"), ("event_times", "event times")):
        a, b = np.array(now[key], float), np.array(stored[key], float)
        if a.shape != b.shape:
            said.append(f"{len(a)} {unit}, not {len(b)}")
            continue
        differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
        if np.any(differ):
            most = np.max(np.abs(a - b)[differ])
            ulps = np.max((np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b))))[differ])
            said.append(f"{np.sum(differ)} of {len(a)} {unit} by at most {most:.2g} ({ulps:.3g} ulp)")
    if now["counts"] != stored["counts"]:
        said.append(f"steps, rejected, events, slides, not unique {now['counts']}, not {stored['counts']}")
    return "; ".join(said) or "no plain number kept of it"


def disturb(rng: np.random.Generator) -> list[np.ndarray]:
    """Arrays of random sizes: the next solve finds its memory elsewhere."""
    return [np.empty(int(k)) for k in rng.integers(1, 20_000, size=40)]


def compared(name: str, stored: dict) -> tuple[bool, str]:
    """(whether the stored bits came back, a line about it)."""
    rng, kept = np.random.default_rng(0), []
    first = None
    for attempt in range(1, ATTEMPTS + 1):
        now = measured(name)
        if now["sha256"] == stored["sha256"]:
            return True, "" if attempt == 1 else f"  {name}: the stored bits at attempt {attempt} (memory layout, E13)"
        first = first or now
        kept = disturb(rng)
    del kept
    parts = [k for k in stored["sha256"] if first["sha256"].get(k) != stored["sha256"][k]]
    return False, f"  {name}: {', '.join(parts)} differ: {apart(first['numbers'], stored['numbers'])}"


def written(everything: dict) -> str:
    """JSON with one problem a line."""
    machines = [
        f"{json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}"
        for name, rows in everything.items()
    ]
    return "{\n" + ",\n".join(machines) + "\n}\n"


def main(arguments: list[str]) -> int:
    began, here = time.perf_counter(), machine()
    everything = json.loads(STORED.read_text()) if STORED.exists() else {}
    if _version("jax") == "none":
        del CASES["solve_many on a processor, JAX"]
    if "--freeze" in arguments:
        everything[here] = {name: measured(name) for name in CASES}
        STORED.write_text(written(everything))
        print(f"Stored the bits of {len(CASES)} problems for {here}.")
        return 0
    if here not in everything:
        print(f"No bits are stored for this machine ({here}), only for: {'; '.join(everything) or 'none'}.")
        print("Check out a commit known to be right, run `python tests/gates/bits.py --freeze`, then come back.")
        return 2
    names = [n for n in CASES if not arguments or any(word in n for word in arguments)]
    good = 0
    for name in names:
        if name not in everything[here]:
            print(f"  {name}: no bits stored", flush=True)
            continue
        same, line = compared(name, everything[here][name])
        good += same
        if line:
            print(line, flush=True)
    print(f"{good} of {len(names)} problems have the stored bits ({time.perf_counter() - began:.0f} s, {here}).")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
