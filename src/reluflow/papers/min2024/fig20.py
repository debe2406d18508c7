"""Figure 20 of [MMV24]: with relu'(0) = a > 0 no solution exists; what Euler steps do instead (Appendix E.3)."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {"quick": dict(a=0.5, steps=[0.2, 0.1, 0.05]), "full": dict(a=0.5, steps=[0.2, 0.1, 0.05])}
STATED = {"paper": ("what the constant curve",)}


def compute(*, a, steps):
    """x = (1, 0), y = -1, w = (0, 1), v = 1: the first coordinate of w over 20 Euler steps, for each step size."""
    import xarray as xr

    data, init = rf.Data(np.array([[1.0, 0.0]]), -np.ones(1)), rf.Params(np.array([[0.0, 1.0]]), np.ones(1))
    count = np.arange(21)
    rows = []
    for at, step in [(a, s) for s in steps] + [(0.0, steps[0])]:
        problem = rf.Problem(data, init, loss="exponential", reduction="sum", activation=rf.ReLU(at_zero=at))
        sol = solve(problem, rf.Descent(step=step), t1=20 * step)
        rows.append([p.arrays()[0][0, 0] for p in sol.at(count * step)])
    found = {"w": (("step", "iteration"), np.array(rows[:-1])), "still": ("iteration", np.array(rows[-1]))}
    return xr.Dataset(found, coords={"step": list(steps), "iteration": count}, attrs={"a": float(a)})


def facts(ds) -> list[Claim]:
    """One step into the dead cone, none after; the jump is a times the step and goes to 0 with it; a constant curve
    would miss the integral equation by t a. With relu'(0) = 0 nothing moves. Slack: rounding of one product."""
    moves = (np.diff(ds.w.values, axis=1) != 0).sum(axis=1)
    jump = np.abs(ds.w.values[:, -1]) / (ds.attrs["a"] * ds.step.values)
    return [
        Claim("relu'(0) = 0: largest |w_1|, the constant solution", float(np.abs(ds.still).max()), "=", 0.0),
        Claim("relu'(0) = a: steps that move the neuron, most", int(moves.max()), "=", 1),
        Claim("and least", int(moves.min()), "=", 1),
        Claim(
            "the jump over a times the step, largest deviation from 1", float(np.abs(jump - 1).max()), "<=", 0.0, 1e-14
        ),
        Claim("what the constant curve misses the integral equation by at t = 1", ds.attrs["a"], ">", 0.0),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.2)
    left, right = fig.subplots(1, 2, width_ratios=[0.8, 1.2])
    left.axvspan(-0.35, 0.0, color="#ece9e1", lw=0)
    left.axvline(0, color=look.FAINT, lw=0.8)
    left.annotate("", (1, 0), (0, 0), arrowprops=dict(arrowstyle="->", color=look.MINUS, lw=1.2))
    look.beside(left, 0.6, 0, "x, y = −1", look.MINUS, dx=0, dy=8)
    left.annotate("", (0, 1), (0, 0), arrowprops=dict(arrowstyle="->", color=look.INK, lw=1.2))
    look.beside(left, 0, 1.05, "w(0)", look.INK, dx=3, dy=3)
    for s, colour in zip(ds.step.values, look.sequence(ds.sizes["step"] + 1)[1:], strict=True):
        left.plot([float(ds.w.sel(step=s)[-1])], [1.0], "o", color=colour, ms=4)
    look.beside(left, -0.33, 0.25, "dead", look.FAINT, dx=0)
    left.set(xlim=(-0.35, 1.1), ylim=(-0.15, 1.25))
    look.blank(left)
    look.letter(left, "a", "one step, then nothing")
    for s, colour in zip(ds.step.values, look.sequence(ds.sizes["step"] + 1)[1:], strict=True):
        t = ds.iteration.values * s
        right.plot(t, ds.w.sel(step=s), "-o", color=colour, ms=2.5, lw=1)
        look.beside(right, 1.0, float(ds.w.sel(step=s)[-1]), f"step {s:g}", colour, dx=3)
    right.plot([0, 1], [0, -ds.attrs["a"]], "--", color=look.THEORY, lw=1)
    look.beside(right, 0.26, -0.13, "what a constant curve would owe: −a t", look.THEORY, dx=4, fontsize=7)
    right.set(xlim=(0, 1), ylim=(-0.14, 0.012), xlabel="time", ylabel="first coordinate of w")
    look.letter(right, "b", "Euler steps")
    return fig


def caption(ds) -> str:
    return f"""One datum x = (1, 0) with y = -1 and a neuron that starts on its boundary, w = (0, 1), v = 1, with
    relu'(0) = {ds.attrs["a"]:g}. An Euler step moves the neuron into the dead cone, where nothing moves it any more:
    one jump of size a times the step, whatever the step (a, b). As the step goes to 0 the iterates tend to a curve
    that is constant and no solution: it would have to have moved by -a t (gold). With relu'(0) = 0 the constant curve
    is one. The paper's figure is a drawing; this is computed."""
