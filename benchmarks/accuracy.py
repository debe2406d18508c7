"""How right the engine is, and what that costs beside its rivals: `accuracy.md` and `docs/images/accuracy.png`.

    nice python benchmarks/accuracy.py

Error against rtol: 200 random problems, judged by the 25 digits of `tests/references`.

Cost against accuracy: two points at scale 1e-20 up to t = 80, judged by their closed form, and five points at
1e-4/sqrt(60) up to t = 600 (Figure 4 of Boursier et al.), judged by the reference. Errors are of outputs, relative to
max(1, |f|). One thread; processor seconds, the best of at least three runs after compilation (of one above 2 s).
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import platform
import sys
import time
from pathlib import Path

import numba
import numpy as np
import scipy
from scipy.integrate import solve_ivp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from reference_comparison import judge
from reference_comparison.test_toys import closed_form
from support import euler

import reluflow as rf

RTOLS = tuple(10.0**-k for k in range(4, 13))
TABLED = (1e-6, 1e-8, 1e-10)
GIVE_UP = 60.0  # processor seconds
QUANTITIES = {"outputs": "outputs", "times": "event times", "losses": "losses"}


class TooLong(Exception):
    pass


def two_points():
    """(problem, times, exact outputs): class by class a logistic curve, up to 1e-40."""
    import mpmath as mp

    data, init = rf.data.two_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-20), seed=0)
    times = np.linspace(0.0, 80.0, 17)[1:]
    with mp.workdps(30):
        _, half, rate = closed_form(data, init)
        exact = [[float(s / (1 + mp.exp(-2 * rate[s] * (t - half[s])))) for s in (-1, 1)] for t in times]
    return rf.Problem(data, init), times, np.array(exact)


def five_points():
    spec = judge.stored("five_points")[0]
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=spec["log_scale"], seed=0))
    return problem, np.array(spec["times"][:4]), np.array(spec["f"][:4], float)


def by_flow(problem, times, rtol):
    return rf.solve(problem, rf.Flow(rtol=rtol), t1=times[-1], save=rf.Save(times=times)).outputs


def by_descent(problem, times, step):
    return rf.solve(problem, rf.Descent(step=step), t1=times[-1], save=rf.Save(times=times)).outputs


def by_euler(problem, times, step):
    frames = len(times)
    return euler.outputs(problem, float(times[-1]), frames * round(times[-1] / step / frames), frames)[1:]


def by_scipy(problem, times, rtol):
    """DOP853 on (w, a) with literal masks; absolute tolerance 1e-3 rtol of the initial weights, or they are noise."""
    x, y, weight = np.array(problem.data.x), np.array(problem.data.y), problem.weight
    w0, a0 = problem.init.arrays()
    m, d = w0.shape
    began = time.process_time()

    def field(_, z):
        if time.process_time() - began > GIVE_UP:
            raise TooLong
        w, a = z[: m * d].reshape(m, d), z[m * d :]
        u = w @ x.T
        on = u > 0
        pull = (on * (weight * (y - a @ (on * u)))) @ x
        return np.concatenate([(a[:, None] * pull).ravel(), np.sum(pull * w, axis=1)])

    def outputs(z):
        w, a = z[: m * d].reshape(m, d), z[m * d :]
        return a @ np.maximum(w @ x.T, 0.0)

    atol = 1e-3 * rtol * np.min(np.abs(a0))
    start = np.concatenate([w0.ravel(), a0])
    found = solve_ivp(field, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=rtol, atol=atol)
    return np.array([outputs(z) for z in found.y.T])


METHODS = {
    "reluflow flow": by_flow,
    "descent (reluflow)": by_descent,
    "polar Euler (numba)": by_euler,
    "scipy DOP853": by_scipy,
}
SETTINGS = {
    "two points, scale 1e-20": {
        "reluflow flow": RTOLS[:-1],
        "descent (reluflow)": (1e-2, 3e-3, 1e-3, 1e-4),
        "polar Euler (numba)": (1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
        "scipy DOP853": (1e-3, 1e-5, 1e-7, 1e-9),
    },
    "five points, scale 1e-4": {
        "reluflow flow": RTOLS[:-1],
        "descent (reluflow)": (1e-2, 3e-3, 1e-3, 1e-4),
        "polar Euler (numba)": (1e-2, 3e-3, 1e-3, 1e-4),
        "scipy DOP853": (1e-4,),
    },
}


def measure(solver, problem, times, exact, setting):
    """(seconds, error) or None for a run that was given up."""
    best, spent = np.inf, time.process_time()
    for k in range(20):
        began = time.process_time()
        try:
            found = solver(problem, times, setting)
        except TooLong:
            return None
        best = min(best, time.process_time() - began)
        if best > 2.0 or (k >= 2 and time.process_time() - spent > 0.5):
            break
    return best, float(np.max(np.abs(found - exact) / np.maximum(1.0, np.abs(exact))))


def costs():
    """{problem: {method: [(setting, seconds, error) ...]}}, seconds None where a run was given up."""
    found: dict = {}
    for title, (problem, times, exact) in zip(SETTINGS, (two_points(), five_points()), strict=True):
        for name, settings in SETTINGS[title].items():
            if name != "scipy DOP853":
                METHODS[name](problem, times, settings[0])  # compilation
            rows = found.setdefault(title, {}).setdefault(name, [])
            for setting in settings:
                result = measure(METHODS[name], problem, times, exact, setting)
                rows.append((setting, *(result or (None, None))))
                print(title, name, setting, result, flush=True)
    return found


def errors():
    """{rtol: verdicts of the 200 problems}."""
    return {rtol: [judge.compare(spec, rtol) for spec in judge.stored("random_balanced")] for rtol in RTOLS}


def draw(verdicts, cost, path):
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    from reluflow.plot.palette import FAINT, INK, MINUS, PAPER, PLUS, THEORY, style

    colours = {"outputs": PLUS, "times": MINUS, "losses": "#3a9d7a"}
    rivals = {
        "reluflow flow": (PLUS, "o"),
        "descent (reluflow)": (MINUS, "s"),
        "polar Euler (numba)": (THEORY, "^"),
        "scipy DOP853": ("#6b5b95", "D"),
    }
    with style():
        fig, (left, *right) = plt.subplots(1, 3, figsize=(14.0, 5.0), dpi=160, layout="constrained")
        rtols = np.array(RTOLS)
        left.plot(rtols, 100 * rtols, color=INK, lw=1.2, ls=(0, (5, 3)))
        left.text(4e-9, 1.2e-6, "the promise: 100 rtol", fontsize=10)
        for key, label in QUANTITIES.items():
            found = [np.array([getattr(v, key) for v in verdicts[r]]) for r in RTOLS]
            found = [e[e > 0] for e in found]
            worst, median = [e.max() for e in found], [np.median(e) for e in found]
            left.plot(rtols, worst, color=colours[key], marker="o", ms=5.5, label=label)
            left.plot(rtols, median, color=colours[key], marker="o", ms=5, mfc=PAPER, lw=1.1)
        left.plot([], [], color=INK, marker="o", ms=5.5, label="worst of the 200")
        left.plot([], [], color=INK, marker="o", ms=5, mfc=PAPER, lw=1.1, label="median")
        left.set(xscale="log", yscale="log", xlabel="rtol asked for", ylabel="error, relative to max(1, size)")
        left.set_title("200 random problems against 25 digits")
        left.set_ylim(1e-16, 5e-2)
        left.xaxis.set_inverted(True)
        left.legend(loc="lower left", fontsize=9)
        for ax, (title, rows) in zip(right, cost.items(), strict=True):
            for name, points in rows.items():
                colour, marker = rivals[name]
                done = [(s, e) for _, s, e in points if s is not None]
                if done:
                    seconds, error = zip(*done, strict=True)
                    ax.plot(error, seconds, color=colour, marker=marker, ms=5.5, label=name)
                else:
                    ax.plot([], [], color=colour, marker=marker, ms=5.5, label=f"{name}: not done in {GIVE_UP:.0f} s")
            ax.set(xscale="log", yscale="log", xlabel="error of the outputs", ylabel="seconds, one core")
            ax.set_title(f"Cost: {title}")
            ax.xaxis.set_inverted(True)
            low, high = ax.get_ylim()
            ax.set_ylim(low, high * 8)  # room for the legend
            ax.legend(loc="upper right", fontsize=9)
        for ax in (left, *right):
            ax.grid(color=FAINT, alpha=0.18, lw=0.6)
            ax.xaxis.set_major_locator(LogLocator(numticks=8))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.tick_params(labelsize=9.5)
            ax.xaxis.label.set_size(10.5)
            ax.yaxis.label.set_size(10.5)
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path)


def write(verdicts, cost, path):
    full = {r: verdicts[r] for r in TABLED}
    held = {r: sum(v.holds for v in found) for r, found in verdicts.items()}
    lines = [
        "# Accuracy",
        "",
        "Made by `benchmarks/accuracy.py`; the picture is `docs/images/accuracy.png`.",
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"numba {numba.__version__}, reluflow {rf.__version__}.",
        "",
        "## Error against rtol",
        "",
        "200 random balanced problems (`tests/references/random_balanced.json`) against the independent reference.",
        "Outputs relative to max(1, |f|), losses to max(1, L), event times to max(1, t) (where there are any).",
        "",
        judge.table(full),
        "",
        "Problems that keep the promise (same events, outputs and times to 100 rtol, losses to what that allows): "
        + ", ".join(f"{k} of {len(verdicts[r])} at {r:.0e}" for r, k in held.items())
        + ".",
        "",
        "Worst in units of rtol, and the distance of that problem from a bifurcation (the reference's `margin`):",
        "",
        "| rtol | outputs | distance | event times | distance |",
        "| --- | --- | --- | --- | --- |",
    ]
    for r in RTOLS:
        f = max(verdicts[r], key=lambda v: v.outputs)
        t = max(verdicts[r], key=lambda v: v.times)
        lines.append(f"| {r:.0e} | {f.outputs / r:.2g} | {f.margin:.1e} | {t.times / r:.2g} | {t.margin:.1e} |")
    lines += ["", "## Cost against accuracy", "", __doc__.split("\n\n")[3].replace("\n", " ").strip(), ""]
    for title, rows in cost.items():
        lines += [
            f"### {title.capitalize()}",
            "",
            "| method | setting | seconds | error |",
            "| --- | --- | --- | --- |",
        ]
        for name, points in rows.items():
            kind = "rtol" if name in ("reluflow flow", "scipy DOP853") else "step"
            for setting, seconds, error in points:
                if seconds is None:
                    lines.append(f"| {name} | {kind} {setting:.0e} | not done in {GIVE_UP:.0f} | - |")
                else:
                    lines.append(f"| {name} | {kind} {setting:.0e} | {seconds:.3g} | {error:.1e} |")
        lines.append("")
    path.write_text("\n".join(lines))


def main() -> None:
    verdicts, cost = errors(), costs()
    write(verdicts, cost, ROOT / "benchmarks" / "accuracy.md")
    draw(verdicts, cost, ROOT / "docs" / "images" / "accuracy.png")


if __name__ == "__main__":
    main()
