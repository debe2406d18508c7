r"""Networks of two inputs, as Figures 6 to 9 of [MMV24] show them.

Descent with step 2e-3 on both layers, h = 50, entries N(0, sigma^2), sigma = 1e-6, and the mean exponential loss: the
reading that fits every number of the text (early_alignment, section 4). S+ is where all of a neuron's active data are
the positive ones, S- the same for the negative, dead where none is active.
"""

from itertools import pairwise

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.papers._figures import solve
from reluflow.plot import look

STEP = 2e-3
CONES = ("other", "S+", "S-", "dead")


def problem(data, width: int, sigma: float, seed: int):
    init = rf.init.gaussian(width, data.d, log_scale=float(np.log(sigma)), seed=seed)
    return rf.Problem(data, init, loss="exponential", reduction="mean")


def cone(data, w) -> np.ndarray:
    """Index into CONES of every row of w (..., d); dead comes first where it coincides with another."""
    on = (w @ data.x.T) > 0
    plus, minus = np.all(on == (data.y > 0), -1), np.all(on == (data.y < 0), -1)
    return np.where(~on.any(-1), 3, np.where(plus, 1, np.where(minus, 2, 0)))


def run(data, *, width: int, sigma: float, seed: int, panels, last: int, frames: int = 301):
    """One run: its loss and stable rank, and all neurons at the panels."""
    import xarray as xr

    count = np.unique(np.r_[np.linspace(0, last, frames).astype(int), [int(k) for k in panels]])
    sol = solve(
        problem(data, width, sigma, seed),
        rf.Descent(step=STEP),
        t1=last * STEP,
        save=rf.Save(times=tuple(count * STEP)),
    )
    w = sol.w
    found = {
        "loss": ("iteration", sol.loss),
        "stable_rank": ("iteration", observe.stable_rank(sol).values),
        "cone": (("iteration", "neuron"), cone(data, w)),
        "sign": (("iteration", "neuron"), np.sign(sol.a)),
        "direction": (("iteration", "neuron", "axis"), w / np.linalg.norm(w, axis=-1, keepdims=True)),
        "log_norm": (("iteration", "neuron"), sol.log_norm),
        "aligned": (("iteration", "neuron"), observe.alignment(sol).values),
        "norm_change": ("iteration", observe.norm_change(sol).sum("neuron").values),
        "direction_change": ("iteration", observe.direction_rate(sol).sum("neuron").values),
        "x": (("datum", "axis"), data.x),
        "y": ("datum", data.y),
    }
    return xr.Dataset(found, coords={"iteration": count, "panel": [int(k) for k in panels]})


def outside(data, *, width: int, sigma: float, seeds: int, at) -> dict:
    """Over `seeds` runs, at iterations `at`: neurons with v > 0 neither in S+ nor dead, those in S+, the loss."""
    out: dict[str, list] = {"outside": [], "inside": [], "mean_loss": []}
    for seed in range(seeds):
        start = problem(data, width, sigma, seed)
        times = np.array(at) * STEP
        sol = solve(start, rf.Descent(step=STEP), t1=times[-1], save=rf.Save(times=tuple(times), frames=2))
        where, positive = cone(data, sol.w), sol.a > 0
        out["outside"].append(np.sum(positive & (where != 1) & (where != 3), axis=1))
        out["inside"].append(np.sum(positive & (where == 1), axis=1))
        out["mean_loss"].append(sol.loss)
    return {k: (("run", "moment"), np.array(v)) for k, v in out.items()}


def near(values, target: float) -> tuple[float, float]:
    """A mean over runs, and three standard errors of its difference from the handbook's mean of as many runs (60)."""
    spread = np.std(values, ddof=1)
    return float(np.mean(values)), 3.0 * spread * np.sqrt(1.0 / len(values) + 1.0 / 60.0)


# Drawing --------------------------------------------------------------------------------------------------------------


def cones(ax, ds, reach: float) -> None:
    """Shades S+ and S- (red, blue) and the dead cone (grey), by looking along every direction."""
    from matplotlib.patches import Wedge

    angle = np.linspace(0.0, 2 * np.pi, 1441)
    middle = 0.5 * (angle[1:] + angle[:-1])
    rays = np.column_stack([np.cos(middle), np.sin(middle)])

    class Rows:
        x, y = ds.x.values, ds.y.values

    kind = cone(Rows, rays)
    colour = {1: "#f7dcdd", 2: "#d9e7f6", 3: "#ece9e1"}
    edges = np.flatnonzero(np.r_[True, kind[1:] != kind[:-1], True])
    for lo, hi in pairwise(edges):
        if kind[lo] in colour:
            a, b = np.rad2deg(angle[lo]), np.rad2deg(angle[hi])
            ax.add_patch(Wedge((0, 0), 3 * reach, a, b, color=colour[kind[lo]], lw=0, zorder=0))
    present = [(1, "S+"), (2, "S−"), (3, "dead")]
    for k, name in present:
        if np.any(kind == k) and (k != 2 or np.any(ds.y.values < 0)):
            z = np.mean(np.exp(1j * middle[kind == k]))
            if abs(z) > 1e-6:
                z = z / abs(z) * 0.88 * reach
                ax.text(z.real, z.imag, name, ha="center", va="center", fontsize=7, color=look.FAINT)


def state(ax, ds, k: int, reach: float | None = None) -> None:
    """One moment: data, a ray for each neuron's direction, and a dot at the neuron itself."""
    one = ds.sel(iteration=int(k))
    reach = reach or 1.25 * float(np.linalg.norm(ds.x, axis=1).max())
    cones(ax, ds, reach)
    colours = look.sign_colours(one.sign)
    w = one.direction.values * np.exp(np.minimum(one.log_norm.values, 5.0))[:, None]
    for j in range(len(w)):
        tip = 0.62 * reach * one.direction.values[j]
        ax.plot([0, tip[0]], [0, tip[1]], color=colours[j], lw=0.6, alpha=0.55, zorder=1)
    ax.scatter(w[:, 0], w[:, 1], s=9, c=colours, lw=0, zorder=3, alpha=0.9)
    for y, marker, colour in ((1, "P", look.PLUS), (-1, "X", look.MINUS)):
        mine = ds.y.values == y
        ax.scatter(
            ds.x.values[mine, 0],
            ds.x.values[mine, 1],
            s=38,
            marker=marker,
            c=colour,
            edgecolors="white",
            lw=0.7,
            zorder=4,
        )
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    look.blank(ax)


def panels(ds, seen, reach=None):
    """A row of moments and the loss beside them; returns the figure and the axes of the loss."""
    fig = look.figure(look.PAGE, 2.1)
    axes = fig.subplots(1, ds.sizes["panel"] + 1)
    for k, ax in enumerate(axes[:-1]):
        state(ax, ds, int(ds.panel[k]), reach)
        ax.set_title(f"$\\bf{{{'abcdefgh'[k]}}}$  {seen[k]}\niteration {int(ds.panel[k]):,}", fontsize=7.5)
    last = axes[-1]
    last.plot(ds.iteration, ds.loss, color=look.INK)
    for k in ds.panel.values:
        last.axvline(k, color=look.FAINT, lw=0.5, ls=":")
    last.set(ylim=(0, 1.05), xlim=(0, float(ds.iteration[-1])))
    last.set_title(f"$\\bf{{{'abcdefgh'[ds.sizes['panel']]}}}$  loss\n ", fontsize=7.5)
    look.iterations(last.xaxis)
    return fig, last
